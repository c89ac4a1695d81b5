package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/queue"
	"github.com/landing-diffusion/landing/queue/server"
)

// Where a queue is, for those who do not want to say it each time.
const (
	queueEnv       = "LANDING_QUEUE"
	credentialsEnv = "LANDING_QUEUE_CREDENTIALS"
)

// queueFlags are those that say where a queue is.
func queueFlags(cmd *cobra.Command, o *queue.Options) {
	f := cmd.Flags()
	f.StringVar(&o.URL, "queue", os.Getenv(queueEnv), "address of the queue, or of servers of a cluster by commas "+
		"(default: $"+queueEnv+", or "+queue.DefaultURL+")")
	f.StringVar(&o.Credentials, "credentials", os.Getenv(credentialsEnv), "file with NATS credentials (.creds) or "+
		"the seed of an nkey (default: $"+credentialsEnv+")")
	f.StringVar(&o.CA, "tls-ca", "", "file with certificates of authorities that the queue's is checked by")
	f.StringVar(&o.Cert, "tls-cert", "", "file with a certificate of your own, where the queue asks for one")
	f.StringVar(&o.Key, "tls-key", "", "file with its key")
	for _, name := range []string{"queue", "credentials"} { // what the environment says is no default of the program
		f.Lookup(name).DefValue = ""
	}
}

// openQueue connects to a queue and tells when it is away.
func (a *app) openQueue(cmd *cobra.Command, o queue.Options) (*queue.Queue, error) {
	o.Say = func(line string) { a.say("note: %s", line) }
	return queue.Open(cmd.Context(), o)
}

// queueFault tells the exit code of errors of a queue; 0 of others.
func queueFault(err error) int {
	is := func(targets ...any) bool {
		return slices.ContainsFunc(targets, func(target any) bool { return errors.As(err, target) })
	}
	switch {
	case is(new(*queue.URLError), new(*server.OpenError)):
		return exitUsage
	case is(new(*queue.CredentialsError), new(*queue.AuthError), new(*queue.SetupError), new(*queue.UnknownJobError),
		new(*queue.VersionError), new(*queue.DamagedError), new(*queue.MissingError), new(*queue.FolderError),
		new(*queue.EntryError), new(*queue.SizeError), new(*server.ConfigError), new(*changedError)):
		return exitConfig
	case is(new(*queue.DownError), new(*queue.FullError), new(*queue.HungError), new(*queue.UnendedError),
		new(*server.BusyError), new(*server.StoreError), new(*givenUpError)):
		return exitFailure
	}
	return 0
}

func (a *app) queue() *cobra.Command {
	var o server.Options
	var ackWait time.Duration
	var most string
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "Run a queue of units of work for an office: a NATS server with JetStream",
		Long: `queue runs the server that landing submit and landing work speak to: NATS with JetStream, in this
process, its store in a folder. It listens on this machine alone. For other machines, --listen names
an address and --key a file with a key that they need: it is made if it is not there, and copied to
them by you. What travels is in the clear unless --tls-cert and --tls-key are given.

Who has a NATS cluster needs none of this: --queue names its servers.
kill -9 and a new start lose nothing; a second server on the same store is refused. A disk that is full
ends it: a new start goes on, and so do workers and those who wait, who call again for ten minutes.`,
		Example: "  landing queue\n  landing queue --listen 10.0.0.5:4222 --key office.nk --store /srv/queue",
		Args:    args(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if most != "" {
				if o.MaxStore, err = parseBytes(most); err != nil {
					return &usageError{fmt.Errorf("--max-store: %w", err)}
				}
			}
			if ackWait != 0 && (ackWait < time.Second || ackWait > time.Hour) {
				return &usageError{fmt.Errorf("--silence is %v; expected 1s to 1h", ackWait)}
			}
			if ackWait != 0 && o.Config != "" {
				return &usageError{errors.New("--silence is set by a client of the queue, whose credentials --config " +
					"does not tell; expected one of the two flags")}
			}
			o.Say = func(line string) { a.say("server: %s", line) }
			s, err := server.Start(o)
			if err != nil {
				return err
			}
			defer s.Stop()
			if s.Made {
				a.say("note: %s holds a new key; who has it may use the queue: copy it to workers, readable by them "+
					"alone", o.Key)
			}
			if ackWait != 0 {
				if err := setSilence(cmd, s, o.Key, ackWait); err != nil {
					return err
				}
			}
			url := s.URL()
			result := servedQueue{url, s.StoreDir(), os.Getpid()}
			with := ""
			if o.Key != "" {
				with = " --credentials " + text.Shell(o.Key)
			}
			if err := a.result(result, func(w io.Writer) {
				fmt.Fprintf(w, "queue at %s, store %s; ends with Ctrl-C\nworkers:  landing work --queue %s%s\n", url,
					s.StoreDir(), url, with)
			}); err != nil {
				return err
			}
			select {
			case <-cmd.Context().Done():
				return nil
			case err := <-s.Broken:
				return err
			}
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", "", "host:port (default "+server.DefaultListen+"; port 0: a free one)")
	f.StringVar(&o.Store, "store", "", "folder of the store, new or of an earlier queue (default "+
		server.DefaultStore+")")
	f.StringVar(&most, "max-store", "", "bytes that the store may take, as in 20GB (default: as the disk allows)")
	f.StringVar(&o.Key, "key", "", "file with the key that clients need; made if it is not there")
	f.StringVar(&o.Cert, "tls-cert", "", "file with the server's certificate: TLS")
	f.StringVar(&o.CertKey, "tls-key", "", "file with its key")
	f.StringVar(&o.ClientCA, "client-ca", "", "file with authorities by whom clients' certificates are checked; "+
		"clients need one then")
	f.StringVar(&o.Config, "config", "", "configuration file of NATS, for all else")
	f.DurationVar(&ackWait, "silence", 0, "after which a unit of this version is given to another worker (default 30s)")
	return cmd
}

// setSilence sets after which silence units are given again, from within the server's process.
func setSilence(cmd *cobra.Command, s *server.Server, key string, ackWait time.Duration) error {
	q, err := queue.Open(cmd.Context(), queue.Options{InProcess: s, Credentials: key, AckWait: ackWait})
	if err != nil {
		return err
	}
	defer q.Close()
	return q.SetAckWait(cmd.Context())
}

// What queue prints.
type servedQueue struct {
	URL   string `json:"url"`
	Store string `json:"store"`
	PID   int    `json:"pid"`
}

// parseBytes reads a number of bytes, as in 20GB.
func parseBytes(s string) (int64, error) {
	var n float64
	var unit string
	if _, err := fmt.Sscanf(s+" ", "%g%s", &n, &unit); err != nil {
		if _, err := fmt.Sscanf(s, "%g", &n); err != nil {
			return 0, fmt.Errorf("%q is no number of bytes; expected one as in 20GB", s)
		}
	}
	scale, ok := map[string]float64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]
	if !ok || !(n > 0) || n*scale > 1<<60 {
		return 0, fmt.Errorf("%q is no number of bytes; expected one as in 20GB", s)
	}
	return int64(n * scale), nil
}

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/study/engine"
	"github.com/landing-diffusion/landing/study/inventory"
	"github.com/landing-diffusion/landing/study/serve"
)

func serveVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "serve RUN...",
		Short: "Answer requests for samples of runs over HTTP",
		Long: `serve draws samples for programs over HTTP, in JSON or NPY. Sample number i of a seed is the one that
landing generate writes, whatever other requests there are. /docs documents the interface.

A run is served under the name of its folder, or under NAME of NAME=FOLDER. It is read once, when the
service begins. On SIGTERM /readyz turns to 503; after --grace the service takes no more requests and finishes
those that it is working on. A second signal ends it at once. Nothing is written
into run folders.

A public address needs callers that are known by tokens or by certificates. --tokens FILE has lines of a name,
a token and optionally when it expires. Certificates take --tls-cert, --tls-key and --client-ca.`,
		Example: "  landing serve runs/volcano-001\n" +
			"  curl -s localhost:8080/v1/runs/volcano-001/samples -H 'Content-Type: application/json' " +
			"-d '{\"n\": 3}'\n" +
			"  landing serve flood=runs/flood-002 --listen :8443 --tokens tokens.txt --tls-cert c.pem --tls-key k.pem",
	}, &serving{app: a}, func(ctx context.Context, _ *app, o *serving, _ []string) (answer, error) {
		return answer{}, o.run(ctx) // which prints the address before it serves
	})
}

func (o *serving) flags(f *pflag.FlagSet) {
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "address and port; port 0 takes a free one")
	f.StringVar(&o.tokens, "tokens", "", "file of bearer tokens: lines NAME TOKEN [EXPIRES]")
	f.StringVar(&o.cert, "tls-cert", "", "certificate of the service, PEM")
	f.StringVar(&o.key, "tls-key", "", "its key, PEM")
	f.StringVar(&o.clients, "client-ca", "", "certificates that sign those of callers, PEM: others are refused")
	f.IntVar(&o.limits.Queue, "queue", 256, "requests that may be drawn or wait; others get status 429")
	f.Int64Var(&o.limits.Numbers, "max-numbers", 4_000_000, "numbers of all samples of a request")
	f.Int64Var(&o.limits.Body, "max-body", 8<<20, "bytes of a body")
	f.IntVar(&o.limits.Connections, "max-connections", 1024, "connections that are open at a time")
	f.DurationVar(&o.limits.Deadline, "deadline", 10*time.Minute, "the longest that a request may take")
	f.DurationVar(&o.limits.Drain, "drain", 30*time.Second, "time for requests at work when the service is to end")
	f.DurationVar(&o.limits.Grace, "grace", 3*time.Second, "time on SIGTERM in which /readyz says 503 and requests "+
		"are still taken (from a terminal: 0)")
}

// check looks at the flags, and at the names of runs.
func (o *serving) check(given func(flag string) bool, args []string) (err error) {
	if !given("grace") && term.IsTerminal(int(os.Stdin.Fd())) { // Ctrl-C: nobody sends requests elsewhere
		o.limits.Grace = 0
	}
	for _, arg := range args {
		r, err := servedRunOf(arg)
		if err != nil {
			return err
		}
		for _, other := range o.runs {
			if other.name == r.name {
				return usage("%s and %s would both be %q; give one a name as NAME=%[2]s", other.dir, r.dir, r.name)
			}
		}
		o.runs = append(o.runs, r)
	}
	l := o.limits
	return bounds(positive("queue", l.Queue), positive("max-numbers", l.Numbers), positive("max-body", l.Body),
		positive("max-connections", l.Connections), positive("deadline", l.Deadline), positive("drain", l.Drain),
		bound{"grace", l.Grace >= 0, l.Grace, "0 or more"})
}

// answering is how many threads there are besides those that draw, so that answers do not wait for them: beside 64
// callers of one sample each /healthz took half as long with 4 as with 1 (docs/benchmarks.md).
const answering = 4

// serving is a call of serve.
type serving struct {
	*app
	listen, tokens, cert, key, clients string
	limits                             serve.Limits
	runs                               []servedRun
	engine                             *engine.Engine
}

// serviceAt says where a service listens, once it does.
type serviceAt struct {
	Address string `json:"address"`
}

// servedRun is a run that is to be served.
type servedRun struct{ name, dir string }

// runName matches names that a path holds as they are.
var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// servedRunOf reads an argument, NAME=FOLDER or a folder.
func servedRunOf(arg string) (servedRun, error) {
	name, dir, given := strings.Cut(arg, "=")
	if _, err := os.Stat(arg); !given || err == nil { // a folder may have = in its name
		abs, err := filepath.Abs(arg)
		if err != nil {
			return servedRun{}, err
		}
		name, dir = filepath.Base(abs), arg
	}
	if !runName.MatchString(name) {
		return servedRun{}, usage("%q cannot be a run's name, of letters, digits, '.', '_' and '-'; give one as "+
			"NAME=%s", name, dir)
	}
	return servedRun{name, dir}, nil
}

func (o *serving) run(ctx context.Context) error {
	tokens, err := o.readTokens()
	if err != nil {
		return err
	}
	secure, err := o.secure()
	if err != nil {
		return err
	}
	local, err := o.local()
	if err != nil {
		return err
	}
	if !local && tokens == nil && o.clients == "" {
		return usage("--listen is %s, which others reach; expected --tokens or --client-ca, or an "+
			"address of this machine alone, as 127.0.0.1:8080", o.listen)
	}
	if !local && tokens != nil && secure == nil {
		o.out.say("warning: tokens travel unencrypted to %s; --tls-cert and --tls-key encrypt", o.listen)
	}
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return usage("--listen is %s; expected a free port: %w", o.listen, err)
	}
	defer l.Close()
	workers := cmp.Or(o.workers, runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), workers+answering))
	o.engine = engine.New(workers)
	log := slog.New(slog.DiscardHandler)
	if !o.out.quiet {
		log = slog.New(slog.NewJSONHandler(o.out.stderr, nil))
	}
	s := serve.New(o.engine, serve.Options{Limits: o.limits, Load: o.load, Standing: o.standing, Tokens: tokens,
		Local: local, Version: run.Version(), Log: log})
	scheme := "http"
	if secure != nil {
		scheme = "https"
	}
	at := fmt.Sprintf("%s://%s", scheme, l.Addr())
	if err := o.out.result(serviceAt{at}, func(w io.Writer) { fmt.Fprintf(w, "%s\n", at) }); err != nil {
		return err
	}
	return s.Serve(ctx, l, secure)
}

// load reads the runs.
func (o *serving) load(ctx context.Context) ([]*engine.Run, error) {
	var out []*engine.Run
	for _, s := range o.runs {
		// Calls of a domain share a pool of one worker: answers are written side by side.
		r, err := experiment.OpenToDraw(ctx, s.dir, "", parallel.New(1), nil)
		if err != nil {
			return nil, err
		}
		if r.Warning != "" {
			o.out.say("note: %s: %s", s.name, r.Warning)
		}
		r.Pool = o.workersPool()
		ready, err := o.engine.Ready(ctx, s.name, r)
		if err != nil {
			return nil, err
		}
		out = append(out, ready)
	}
	return out, nil
}

// standing says how a run is, and warns of one whose samples are not good.
func (o *serving) standing(r *engine.Run) serve.Standing {
	e := inventory.Of(r.Folder.Dir)
	out := serve.Standing{State: string(e.State)}
	if d := e.Distance; d != nil && d.Grade != "" {
		out.Grade, out.Verdict, out.Wrong = string(d.Grade), d.Verdict, d.Wrong
	}
	epoch := r.Trained.State.Epoch
	out.Cautions = e.Cautions(epoch)
	if out.Grade == "" && epoch > 0 {
		o.out.say("note: %s: there is no verdict on its samples: landing report judges them", r.Name)
	}
	for _, says := range slices.Concat(out.Wrong, out.Cautions) {
		o.out.say("warning: %s: %s", r.Name, says)
	}
	return out
}

// maxTokens bounds a file of tokens and one of certificates, in bytes.
const maxTokens = 1 << 20

// readTokens reads the tokens; nil if there is to be no file of them.
func (o *serving) readTokens() ([]serve.Token, error) {
	if o.tokens == "" {
		return nil, nil
	}
	text, err := input.Read(o.tokens, maxTokens)
	if err != nil {
		return nil, err
	}
	tokens, err := serve.ParseTokens(text)
	if err != nil {
		return nil, fault.Errorf(fault.Data, o.tokens, "%v", err)
	}
	if info, err := os.Stat(o.tokens); err == nil && info.Mode().Perm()&0o077 != 0 {
		o.out.say("warning: %s can be read by others than its owner (mode %v)", o.tokens, info.Mode().Perm())
	}
	return tokens, nil
}

// secure returns how connections are encrypted; nil if they are not to be.
func (o *serving) secure() (*tls.Config, error) {
	if (o.cert == "") != (o.key == "") || o.clients != "" && o.cert == "" {
		return nil, usage("expected --tls-cert and --tls-key together, and with --client-ca")
	}
	if o.cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		if errors.As(err, new(*fs.PathError)) {
			return nil, err
		}
		return nil, fault.Errorf(fault.Data, o.cert, "%v", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if o.clients != "" {
		text, err := input.Read(o.clients, maxTokens)
		if err != nil {
			return nil, err
		}
		c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !c.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fault.Errorf(fault.Data, o.clients, "it holds no certificate in PEM")
		}
	}
	return c, nil
}

// local reports whether the address to listen on is reached from this machine alone.
func (o *serving) local() (bool, error) {
	host, port, err := net.SplitHostPort(o.listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if host == "localhost" {
		host = "127.0.0.1"
		o.listen = net.JoinHostPort(host, port)
	}
	at, unknown := netip.ParseAddr(host)
	if err != nil || host != "" && unknown != nil {
		return false, badFlag("listen", o.listen, "ADDRESS:PORT with the number of an address, as 127.0.0.1:8080, or "+
			"localhost")
	}
	return at.IsLoopback(), nil
}

// Package queue hands units of work (package work) to workers on any number of machines, and gathers what they made.
// It rests on NATS JetStream: a server of the user's own, or the one of package queue/server.
//
//	submit ─► units stream ─► worker ─► files by content ─► record of the unit ─► collect
//	             │ acknowledged when the record stands, given again when a worker falls silent
//
// A unit is given at least once. Nothing is double for all that: its record has the unit's own key, the first one that
// is written stands, and a second worker finds it there. Nothing is lost: a unit leaves the stream only when its record
// stands, and who waits for a submission puts units back that the server has lost. A unit that fails, or whose workers
// fall silent, as often as it may be tried, ends in a record that says why.
//
// The package does not know what a unit does (Doer), nor what becomes of results: who submits does.
package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// DefaultURL is where the server of landing queue listens.
const DefaultURL = "nats://127.0.0.1:4222"

// Options say where a queue is and how it is spoken to. The zero value is the server on this machine.
type Options struct {
	URL         string        // of one or more servers of a cluster, by commas, without secrets; "": DefaultURL
	Credentials string        // a file: NATS credentials (.creds), or the seed of an nkey
	CA          string        // a file: certificates of authorities that the server's is checked by; "": the system's
	Cert, Key   string        // files: a certificate of the client's own, for servers that ask for one
	Away        time.Duration // how long a call waits for a server that went away; 0: 10 minutes
	AckWait     time.Duration // after which silence a unit is given to another worker; 0: as it is, 30 s on a new queue
	Replicas    int           // copies that a cluster keeps of what a new queue stores; 0: 1

	Say func(line string) // hears that the server went away and is back; may be nil

	InProcess nats.InProcessConnProvider // a server in this process, in place of URL
}

const (
	defaultAway    = 10 * time.Minute
	defaultAckWait = 30 * time.Second
	callTime       = 10 * time.Second // of one try of one call
)

// Names of what a queue keeps on its server.
const (
	unitsStream   = "landing-units"
	unitSubject   = "landing.unit." // + build + bits + id of the unit
	jobsBucket    = "landing-jobs"
	endedBucket   = "landing-ended"   // records of units that ended, by id
	triesBucket   = "landing-tries"   // how often a unit was begun
	workersBucket = "landing-workers" // who is there, refreshed by each
	objectsBucket = "landing-objects" // files by content
)

// maxPending bounds the units that wait: submissions beyond it wait themselves.
const maxPending = 1_000_000

// A Queue is a connection to a queue.
type Queue struct {
	Options
	conn                        *nats.Conn
	js                          jetstream.JetStream
	units                       jetstream.Stream
	jobs, ended, tries, workers jetstream.KeyValue
	objects                     jetstream.ObjectStore
	told                        atomic.Int64 // when it was last said that the queue does not answer
}

// Open connects to a queue, and makes what a new one needs on its server. Errors are *URLError, *CredentialsError,
// *DownError, *AuthError and *SetupError.
func Open(ctx context.Context, o Options) (*Queue, error) {
	opts, err := o.connect()
	if err != nil {
		return nil, err
	}
	q := &Queue{Options: o}
	if q.URL == "" {
		q.URL = DefaultURL
	}
	if q.Away == 0 {
		q.Away = defaultAway
	}
	if q.conn, err = dial(ctx, func() (*nats.Conn, error) { return nats.Connect(q.URL, opts...) }); err != nil {
		return nil, o.refused(q.URL, err)
	}
	if q.js, err = jetstream.New(q.conn, jetstream.WithDefaultTimeout(callTime)); err == nil {
		err = q.jetStream(ctx)
	}
	if err == nil {
		err = q.ensure(ctx)
	}
	if err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

// dialTries is how often somebody tries to connect to a server that is there and too busy to answer as it should.
const dialTries = 5

// dial connects, and tries again where the server is there: one that a thousand workers call at once, on a busy
// machine, may take so long to answer that it asks first whether the caller is still there, which ends the call.
func dial(ctx context.Context, connect func() (*nats.Conn, error)) (c *nats.Conn, err error) {
	for try := range dialTries {
		c, err = connect()
		if err == nil || !errors.Is(err, nats.ErrTimeout) && !strings.Contains(err.Error(), "expected 'PONG'") {
			return c, err
		}
		pause := 200 * time.Millisecond << try
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
	return nil, err
}

// readyTime is how long a server that takes connections may go without JetStream: it may have just started.
const readyTime = 3 * time.Second

// jetStream returns a *SetupError of a server without JetStream.
func (q *Queue) jetStream(ctx context.Context) error {
	until := time.Now().Add(min(readyTime, q.Away/2))
	return q.retry(ctx, func(ctx context.Context) error {
		_, err := q.js.AccountInfo(ctx)
		switch {
		case !errors.Is(err, jetstream.ErrJetStreamNotEnabled) &&
			!errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
			return err
		case time.Now().Before(until):
			return nats.ErrNoResponders // for the moment
		}
		return &SetupError{err}
	})
}

// Close ends the connection.
func (q *Queue) Close() { q.conn.Close() }

// connect returns the options of NATS. What a file holds is in no error.
func (o *Options) connect() ([]nats.Option, error) {
	say := func(string) {}
	if o.Say != nil {
		say = o.Say
	}
	opts := []nats.Option{nats.Name("landing"), nats.Timeout(callTime), nats.MaxReconnects(-1),
		nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectJitter(300*time.Millisecond, time.Second),
		nats.PingInterval(20 * time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // calls tell what they need to
		nats.DisconnectErrHandler(func(c *nats.Conn, err error) {
			if !c.IsClosed() && err != nil {
				say("the queue is away; trying again")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { say("the queue is back") })}
	if o.InProcess != nil {
		opts = append(opts, nats.InProcessServer(o.InProcess))
	} else if err := CheckURL(o.URL); err != nil {
		return nil, err
	}
	if o.Credentials != "" {
		with, err := credentials(o.Credentials)
		if err != nil {
			return nil, err
		}
		opts = append(opts, with)
	}
	if o.CA != "" {
		if _, err := os.Stat(o.CA); err != nil {
			return nil, &CredentialsError{o.CA, err.Error()}
		}
		opts = append(opts, nats.RootCAs(o.CA))
	}
	if (o.Cert == "") != (o.Key == "") {
		return nil, &CredentialsError{o.Cert + o.Key, "expected a certificate and its key, two files"}
	}
	if o.Cert != "" {
		for _, path := range []string{o.Cert, o.Key} {
			if _, err := os.Stat(path); err != nil {
				return nil, &CredentialsError{path, err.Error()}
			}
		}
		opts = append(opts, nats.ClientCert(o.Cert, o.Key))
	}
	return opts, nil
}

// CheckURL returns a *URLError unless text is a list of servers without secrets: they would be in lists of processes
// and in logs. Empty text is DefaultURL.
func CheckURL(text string) error {
	if text == "" {
		return nil
	}
	for _, one := range strings.Split(text, ",") {
		one = strings.TrimSpace(one)
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		u, err := url.Parse(one)
		switch {
		case err != nil: // whose text may hold a password
			return &URLError{"", "cannot be read as the address of a server"}
		case u.User != nil:
			u.User = nil
			return &URLError{u.String(), "was given with a user's name or a secret, which others could see; " +
				"expected them in a file (credentials, or the seed of an nkey)"}
		case u.Hostname() == "":
			return &URLError{one, "names no machine"}
		case u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "ws" && u.Scheme != "wss":
			return &URLError{one, fmt.Sprintf("has the scheme %q; expected nats, tls, ws or wss", u.Scheme)}
		}
	}
	return nil
}

// maxCredentials bounds a file of credentials in bytes.
const maxCredentials = 1 << 16

// credentials returns the option for a file of credentials: a JWT with its seed, or a seed alone.
func credentials(path string) (nats.Option, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &CredentialsError{path, err.Error()}
	}
	if !info.Mode().IsRegular() || info.Size() > maxCredentials {
		return nil, &CredentialsError{path, "is no file of credentials"}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &CredentialsError{path, err.Error()}
	}
	if strings.Contains(string(data), "NATS USER JWT") {
		return nats.UserCredentials(path), nil
	}
	opt, err := nats.NkeyOptionFromSeed(path)
	if err != nil {
		return nil, &CredentialsError{path, "holds neither NATS credentials (.creds) nor the seed of an nkey"}
	}
	return opt, nil
}

// ensure makes what the queue needs on its server, and takes what is there as it is. Each call is tried by itself: of a
// thousand workers that come at once, each gets on.
func (q *Queue) ensure(ctx context.Context) error {
	replicas := max(1, q.Replicas)
	try := func(f func(ctx context.Context) error) error {
		return setup(q.retry(ctx, f))
	}
	err := try(func(ctx context.Context) (err error) {
		q.units, err = q.js.Stream(ctx, unitsStream)
		if !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
		q.units, err = q.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: unitsStream, Subjects: []string{unitSubject + ">"}, Description: "units of work of landing",
			Retention: jetstream.WorkQueuePolicy, // a unit leaves when it is acknowledged
			MaxMsgs:   maxPending, Discard: jetstream.DiscardNew, Replicas: replicas,
			// a unit waits once, whoever submits it again, however late
			MaxMsgsPerSubject: 1, DiscardNewPerSubject: true, Duplicates: time.Hour,
			AllowDirect: true,
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, b := range []struct {
		kv     *jetstream.KeyValue
		config jetstream.KeyValueConfig
	}{
		{&q.jobs, jetstream.KeyValueConfig{Bucket: jobsBucket, Description: "submissions of landing"}},
		{&q.ended, jetstream.KeyValueConfig{Bucket: endedBucket, Description: "units that ended"}},
		{&q.tries, jetstream.KeyValueConfig{Bucket: triesBucket, Description: "tries of units"}},
		{&q.workers, jetstream.KeyValueConfig{Bucket: workersBucket, Description: "workers that are there",
			TTL: workerGone}},
	} {
		err := try(func(ctx context.Context) (err error) {
			*b.kv, err = q.js.KeyValue(ctx, b.config.Bucket)
			if !errors.Is(err, jetstream.ErrBucketNotFound) {
				return err
			}
			b.config.Replicas = replicas
			*b.kv, err = q.js.CreateOrUpdateKeyValue(ctx, b.config)
			return err
		})
		if err != nil {
			return err
		}
	}
	return try(func(ctx context.Context) (err error) {
		q.objects, err = q.js.ObjectStore(ctx, objectsBucket)
		if !errors.Is(err, jetstream.ErrBucketNotFound) {
			return err
		}
		q.objects, err = q.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: objectsBucket,
			Description: "files of landing by SHA-256", Replicas: replicas})
		return err
	})
}

// consumer returns the consumer of units for a build and a kind of bits: who takes from it never sees another's.
func (q *Queue) consumer(ctx context.Context, of class) (jetstream.Consumer, error) {
	c, err := q.units.Consumer(ctx, of.name())
	if err == nil && (q.AckWait == 0 || c.CachedInfo().Config.AckWait == q.AckWait) {
		return c, nil
	}
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, err
	}
	config := jetstream.ConsumerConfig{
		Durable: of.name(), FilterSubject: of.subject("*"), AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: defaultAckWait, MaxDeliver: -1, // tries are counted by workers, who know a unit that came back
		MaxAckPending: 1 << 16, MaxWaiting: 1 << 14,
		Metadata: map[string]string{"landing-build": of.Build, "landing-bits": of.Bits},
	}
	if err == nil {
		config = c.CachedInfo().Config
	}
	if q.AckWait != 0 {
		config.AckWait = q.AckWait
	}
	return q.units.CreateOrUpdateConsumer(ctx, config)
}

// SetAckWait sets AckWait of the units of this build that wait, and of those that are handed over later.
func (q *Queue) SetAckWait(ctx context.Context) error {
	for _, of := range []class{{Build: Build()}, {Build(), Bits()}} {
		if _, err := q.consumerOf(ctx, of); err != nil {
			return err
		}
	}
	return nil
}

// retry calls f until it succeeds or fails for another reason than that the server is not there for the moment, at
// most as long as Away. f's context bounds one try. Errors are those of ctx, *DownError and f's.
func (q *Queue) retry(ctx context.Context, f func(ctx context.Context) error) error {
	return q.retryFor(ctx, callTime, f)
}

// silentTime is how long a call is tried again without a word, and how long between words.
const silentTime = 15 * time.Second

// tell says now and then, whatever calls are under way, that the queue does not answer.
func (q *Queue) tell(err error) {
	last, now := q.told.Load(), time.Now().UnixNano()
	if q.Say != nil && now-last > int64(silentTime) && q.told.CompareAndSwap(last, now) {
		q.Say(fmt.Sprintf("the queue does not answer (%v); trying for up to %v", err, q.Away))
	}
}

// retryFor is retry, of tries that may take so long each.
func (q *Queue) retryFor(ctx context.Context, each time.Duration, f func(ctx context.Context) error) error {
	begun, pause := time.Now(), 20*time.Millisecond
	for {
		once, cancel := context.WithTimeout(ctx, each)
		err := f(once)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !transient(err):
			return named(err)
		case time.Since(begun) > q.Away:
			return &DownError{q.URL, err}
		case time.Since(begun) > silentTime:
			q.tell(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause/2 + rand.N(pause)): // callers that fail together do not come back together
		}
		pause = min(2*pause, 2*time.Second)
	}
}

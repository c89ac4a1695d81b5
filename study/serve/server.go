// Package serve answers requests for samples of trained runs over HTTP: JSON, binary NPY, an OpenAPI
// description, and a page to draw samples by hand.
//
// What a request may cause is bounded before it costs anything: its size, its rate, how long it may take, and how
// many wait. No path of a request reaches the file system: runs are looked up by name among those that are in
// memory, and pages are in the binary. The package opens no file.
package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/landing-diffusion/landing/study/engine"
)

// Limits are what requests may cost. Zeros are the defaults.
type Limits struct {
	Body        int64         // bytes of a body; 0: 8 MiB
	Numbers     int64         // of all samples of a request; 0: 4 million
	Held        int64         // in memory for all requests; 0: 64 million
	Queue       int           // requests that are drawn or wait; 0: 256
	Connections int           // open at a time; 0: 1024
	Deadline    time.Duration // the longest that a request may take; 0: 10 minutes
	Header      time.Duration // in which headers must arrive; 0: 5 s
	Arrival     time.Duration // in which a body must; 0: 10 s
	Patience    time.Duration // with a reader who takes nothing; 0: 30 s
	Drain       time.Duration // for requests at work when the service begins to stop; 0: 30 s
	Grace       time.Duration // time after that in which it reports not ready, and still takes requests; 0: none
}

func (l *Limits) settle() {
	l.Body = cmp.Or(l.Body, 8<<20)
	l.Numbers = cmp.Or(l.Numbers, 4_000_000)
	l.Held = cmp.Or(l.Held, 64_000_000)
	l.Queue = cmp.Or(l.Queue, 256)
	l.Connections = cmp.Or(l.Connections, 1024)
	l.Deadline = cmp.Or(l.Deadline, 10*time.Minute)
	l.Header = cmp.Or(l.Header, 5*time.Second)
	l.Arrival = cmp.Or(l.Arrival, 10*time.Second)
	l.Patience = cmp.Or(l.Patience, 30*time.Second)
	l.Drain = cmp.Or(l.Drain, 30*time.Second)
}

// Options of a Server.
type Options struct {
	Limits
	// Load reads the runs that are served, when the service begins; its error ends the service.
	Load func(ctx context.Context) ([]*engine.Run, error)
	// Standing returns the state and the verdict of a run from Load; nil: answers do not have them.
	Standing func(*engine.Run) Standing

	Tokens  []Token      // who may ask; nil: everybody who reaches the service
	Local   bool         // the service is reached from this machine alone: then Host must name it
	Version string       // of the program
	Log     *slog.Logger // a line each request; nil: none
}

// A Server answers requests. Its methods may be called at any time from any goroutine.
type Server struct {
	engine *engine.Engine
	opt    Options
	mux    http.Handler

	runs     atomic.Pointer[loaded]
	leaving  atomic.Bool // it stops soon, and /readyz reports this
	draining atomic.Bool // and takes no more requests

	places  *semaphore.Weighted // requests that are drawn or wait
	room    *semaphore.Weighted // numbers that they hold in memory, but for
	bodies  sized               // those of bodies that are read
	waiting atomic.Int64        // places that are taken
	desk    *semaphore.Weighted // requests for samples that are read, and short answers that are sent
	origin  *http.CrossOriginProtection

	watches sync.Map // *watched of the runs that were shown, by *engine.Run
}

// loaded are the runs that are served, by name.
type loaded struct {
	names []string
	runs  []*engine.Run
	info  []RunInfo
}

// A sized is a semaphore that knows how much it shares out.
type sized struct {
	*semaphore.Weighted
	size int64
}

// New makes a server that draws with an engine.
func New(e *engine.Engine, o Options) *Server {
	o.settle()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	read := o.Held / 8 * 3
	s := &Server{engine: e, opt: o, places: semaphore.NewWeighted(int64(o.Queue)),
		room: semaphore.NewWeighted(o.Held - read), bodies: sized{semaphore.NewWeighted(read), read},
		desk: semaphore.NewWeighted(int64(max(1, e.Workers()/2))), origin: http.NewCrossOriginProtection()}
	s.mux = s.routes()
	return s
}

// load reads the runs.
func (s *Server) load(ctx context.Context) error {
	all := &loaded{}
	var err error
	if all.runs, err = s.opt.Load(ctx); err != nil {
		return err
	}
	slices.SortFunc(all.runs, func(a, b *engine.Run) int { return strings.Compare(a.Name, b.Name) })
	for _, r := range all.runs {
		all.names, all.info = append(all.names, r.Name), append(all.info, s.info(r))
	}
	s.runs.Store(all)
	s.opt.Log.Info("runs", "names", all.names)
	return nil
}

// Serve answers on l until ctx is done, and then lets requests end that are at work. Runs are read while it
// answers that it is not ready. Connections are encrypted with secure, if it is not nil. The error is that of the
// first reading, or of the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener, secure *tls.Config) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: s.opt.Header, IdleTimeout: idle, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return work },
		ErrorLog:    slog.NewLogLogger(s.opt.Log.Handler(), slog.LevelDebug), TLSConfig: secure,
	}
	l = netutil.LimitListener(l, s.opt.Connections)
	group, ending := errgroup.WithContext(ctx)
	group.Go(func() error { return s.load(ending) })
	group.Go(func() (err error) {
		if secure != nil {
			err = server.ServeTLS(l, "", "")
		} else {
			err = server.Serve(l)
		}
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	})
	group.Go(func() error {
		<-ending.Done()
		s.leaving.Store(true)
		s.opt.Log.Info("ending", "requests", s.waiting.Load(), "grace", s.opt.Grace.String())
		if ctx.Err() != nil && s.runs.Load() != nil {
			time.Sleep(s.opt.Grace)
		}
		s.draining.Store(true)
		grace, done := context.WithTimeout(work, s.opt.Drain)
		defer done()
		if server.Shutdown(grace) != nil { // requests that are still at work are given up
			stop()
			last, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer done()
			if server.Shutdown(last) != nil {
				server.Close()
			}
		}
		return nil
	})
	err := group.Wait()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// idle is how long a connection may wait for its next request, while others may wait for its place.
const idle = 30 * time.Second

// requestHeader has the number of a request, which the log has too.
const requestHeader = "Landing-Request"

// answering is one request, while it is answered.
type answering struct {
	s   *Server
	w   http.ResponseWriter
	r   *http.Request
	id  string
	who string // a caller, for the log

	status int
	bytes  int64
	told   []any // more for the log
}

// Header, WriteHeader, Write and Unwrap make an answering the http.ResponseWriter of its request.
func (a *answering) Header() http.Header { return a.w.Header() }

func (a *answering) WriteHeader(status int) {
	a.status = cmp.Or(a.status, status)
	a.w.WriteHeader(status)
}

func (a *answering) Write(b []byte) (int, error) {
	a.status = cmp.Or(a.status, http.StatusOK)
	n, err := a.w.Write(b)
	a.bytes += int64(n)
	return n, err
}

func (a *answering) Unwrap() http.ResponseWriter { return a.w }

// piece is how many bytes a reader must take within the patience of the service.
const piece = 64 << 10

// send writes an answer in pieces, and waits for a reader who takes none no longer than the service has patience. The
// error is a *fault.
func (a *answering) send(b []byte) error {
	defer a.rest()
	for part := range slices.Chunk(b, piece) {
		a.hurry()
		_, err := a.Write(part)
		if err == nil {
			err = http.NewResponseController(a.w).Flush()
		}
		if err != nil {
			return gone.fault("the answer could not be sent: %v", err)
		}
	}
	return nil
}

// timedOut reports whether an error is that of a connection whose time was over.
func timedOut(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// hurry gives the reader time for another piece.
func (a *answering) hurry() {
	_ = http.NewResponseController(a.w).SetWriteDeadline(time.Now().Add(a.s.opt.Patience)) // a test's writer has none
}

// rest ends that time, while there is nothing to read: HTTP/2 cuts an answer whose time is over then, too.
func (a *answering) rest() { _ = http.NewResponseController(a.w).SetWriteDeadline(time.Time{}) }

// answer sends a whole answer.
func (a *answering) answer(media string, b []byte) error {
	if len(b) <= piece { // which a connection takes at once
		defer a.s.takeDesk(a.r.Context())()
	}
	a.Header().Set("Content-Type", media)
	a.Header().Set("Content-Length", strconv.Itoa(len(b)))
	a.WriteHeader(http.StatusOK)
	return a.send(b)
}

// writeJSON answers with an object.
func (a *answering) writeJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.answer(typeJSON, append(b, '\n'))
}

// fail ends a request with an error: it is refused. An answer that has begun ends with a line that says what went
// wrong, if it is one of lines. Another breaks off, so that nobody takes it for whole.
func (a *answering) fail(err error) {
	f := a.s.faultOf(a, err)
	a.told = append(a.told, "fault", f.kind.Code, "detail", f.detail)
	a.hurry()
	switch {
	case a.status == 0:
		f.write(a, a.id)
	case a.Header().Get("Content-Type") == typeLines:
		fmt.Fprintf(a, `{"problem":%s}`+"\n", f.problem(a.id)) // whoever does not read it has left
	default:
		panic(http.ErrAbortHandler)
	}
}

// ServeHTTP implements http.Handler: what all requests have in common.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	a := &answering{s: s, w: w, r: r, id: rand.Text(), who: caller(r)}
	h := w.Header()
	h.Set(requestHeader, a.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if r.ContentLength != 0 { // without a body a read ends when the caller leaves, however late that is
		_ = http.NewResponseController(w).SetReadDeadline(start.Add(s.opt.Arrival)) // a test's writer has none
	}
	a.hurry()
	defer func() {
		v := recover()
		if v != nil && v != http.ErrAbortHandler {
			s.opt.Log.Error("panic", "request", a.id, "value", fmt.Sprint(v), "stack", string(debug.Stack()))
			if v = http.ErrAbortHandler; a.status == 0 {
				v = nil
				a.fail(broken.fault("the request has met a fault of the program"))
			}
		}
		a.hurry() // the end of the answer
		took := time.Since(start)
		s.log(a, took, v != nil)
		if v != nil {
			panic(v)
		}
	}()
	if err := s.guard(a); err != nil {
		a.fail(err)
		return
	}
	s.mux.ServeHTTP(a, a.r)
}

// log writes the line of a request.
func (s *Server) log(a *answering, took time.Duration, cut bool) {
	level := slog.LevelInfo
	switch {
	case a.status == broken.Status:
		level = slog.LevelError
	case a.status > broken.Status:
		level = slog.LevelWarn
	}
	more := append([]any{"request", a.id, "caller", a.who, "method", a.r.Method, "path", a.r.URL.Path, "status",
		a.status, "bytes", a.bytes, "ms", float64(took.Microseconds()) / 1000}, a.told...)
	if cut {
		more = append(more, "cut", true)
	}
	s.opt.Log.Log(context.Background(), level, "request", more...)
}

// caller names the address that a request comes from.
func caller(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "unknown"
	}
	return at.Addr().WithZone("").String()
}

// open are the paths that need no token: they tell nothing of runs.
func open(path string) bool {
	return path == "/healthz" || path == "/readyz" || path == "/" || strings.HasPrefix(path, "/docs") ||
		strings.HasPrefix(path, "/openapi") || strings.HasPrefix(path, "/page/")
}

// guard refuses requests before anything is done for them.
func (s *Server) guard(a *answering) error {
	r := a.r
	if r.ContentLength > s.opt.Body {
		f := tooLarge.fault("the body has %d bytes; expected at most %d", r.ContentLength, s.opt.Body)
		f.quit = true
		return f
	}
	if r.Body != nil {
		r.Body = http.MaxBytesReader(a, r.Body, s.opt.Body)
	}
	if s.opt.Local && s.opt.Tokens == nil && !thisMachine(r.Host) {
		return misdirected.fault("Host is %q; expected localhost or the address that the service listens on", r.Host)
	}
	if err := s.origin.Check(r); err != nil {
		return foreign.fault("%v", err)
	}
	switch {
	case open(r.URL.Path):
	case len(s.opt.Tokens) > 0:
		name, err := holder(s.opt.Tokens, r, time.Now())
		if err != nil {
			return err
		}
		a.who = name
	case r.TLS != nil && len(r.TLS.PeerCertificates) > 0:
		a.who = cmp.Or(r.TLS.PeerCertificates[0].Subject.CommonName, a.who)
	}
	return nil
}

// thisMachine reports whether a Host header names this machine as it names itself.
func thisMachine(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	at, err := netip.ParseAddr(host)
	return err == nil && at.IsLoopback()
}

// served returns the runs. The error is a *fault: they are not read yet, or the service ends.
func (s *Server) served() (*loaded, error) {
	all := s.runs.Load()
	if all != nil && !s.draining.Load() {
		return all, nil
	}
	f := unready.fault("runs are being read")
	if s.draining.Load() {
		f = s.stopping()
	}
	f.retry = 5 * time.Second
	return nil, f
}

// stopping is the fault of a service that stops.
func (s *Server) stopping() *fault {
	f := unready.fault("the service is about to end")
	f.quit, f.retry = true, 5*time.Second
	return f
}

// find returns the number of a run among those that are served. The error is a *fault.
func (s *Server) find(name string) (int, *loaded, error) {
	all, err := s.served()
	if err != nil {
		return 0, nil, err
	}
	i, ok := slices.BinarySearch(all.names, name)
	if !ok {
		err = unknownRun.fault("there is no run %q; there are %s", name, strings.Join(all.names, ", "))
	}
	return i, all, err
}

// freely is how many bytes of a body take no room in memory that is shared out.
const freely = 64 << 10

// read returns the body of a request, and what gives its room in memory back: a number for each byte, for the bytes and
// what is made of them. A long body waits for room before it is read. The error is a *fault.
func (s *Server) read(a *answering) (body []byte, release func(), err error) {
	body, err = io.ReadAll(io.LimitReader(a.r.Body, freely))
	if err != nil || len(body) < freely {
		body, err = s.arrived(a, body, err)
		return body, func() {}, err
	}
	size := min(cmp.Or(max(a.r.ContentLength, 0), s.opt.Body), s.bodies.size)
	ctx, cancel := context.WithTimeout(a.r.Context(), s.opt.Patience)
	defer cancel()
	if s.bodies.Acquire(ctx, size) != nil {
		f := full("the bodies of other requests fill the memory")
		f.quit = true
		return nil, func() {}, f
	}
	_ = http.NewResponseController(a.w).SetReadDeadline(time.Now().Add(s.opt.Arrival))
	body = append(make([]byte, 0, size), body...)
	for n := 0; err == nil; body = body[:len(body)+n] {
		if len(body) == cap(body) {
			body = slices.Grow(body, bytes.MinRead)
		}
		n, err = a.r.Body.Read(body[len(body):cap(body)])
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	body, err = s.arrived(a, body, err)
	return body, func() { s.bodies.Release(size) }, err
}

// arrived says what an error of reading a body means.
func (s *Server) arrived(a *answering, body []byte, err error) ([]byte, error) {
	var large *http.MaxBytesError
	var f *fault
	switch {
	case err == nil:
		// from here on a read ends when the caller leaves
		_ = http.NewResponseController(a.w).SetReadDeadline(time.Time{})
		return body, nil
	case errors.As(err, &large):
		return nil, tooLarge.fault("the body has more than %d bytes", large.Limit)
	case timedOut(err):
		f = slowBody.fault("it took longer than %v", s.opt.Arrival)
	default:
		f = badRequest.fault("the body broke off: %v", err)
	}
	f.quit = true
	return nil, f
}

// takeDesk waits for a place at the desk, and returns what gives the place back. Requests that are drawn together end
// together: were all answered at once, a question for health would wait behind them for a processor. A slow reader
// keeps the others waiting no longer than mostWait.
func (s *Server) takeDesk(ctx context.Context) (rise func()) {
	ctx, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	if s.desk.Acquire(ctx, 1) != nil {
		return func() {}
	}
	return func() { s.desk.Release(1) }
}

const mostWait = 20 * time.Millisecond

// full is the fault of a request that there is no room for.
func full(format string, v ...any) *fault {
	f := queueFull.fault(format, v...)
	f.retry = time.Second
	return f
}

// queued does what takes a place in the queue.
func (s *Server) queued(do func() error) error {
	if !s.places.TryAcquire(1) {
		return full("%d requests are drawn or wait", s.opt.Queue)
	}
	defer s.places.Release(1)
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	return do()
}

// drawing calls a function that holds `held` numbers in memory, with a deadline.
func (s *Server) drawing(a *answering, held int, most time.Duration, do func() error) error {
	if !s.room.TryAcquire(int64(held)) {
		return full("answers to other requests fill the memory")
	}
	defer s.room.Release(int64(held))
	ctx, cancel := context.WithTimeout(a.r.Context(), most)
	defer cancel()
	a.r = a.r.WithContext(ctx)
	a.rest()
	return do()
}

// faultOf says what a request is refused with that ended in an error.
func (s *Server) faultOf(a *answering, err error) *fault {
	var f *fault
	var internal *engine.PanicError
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(a.r.Context().Err(), context.DeadlineExceeded):
		return tooLate.fault("the samples were not drawn in time")
	case errors.Is(err, context.Canceled) && s.draining.Load():
		f := unready.fault("the service has ended before the samples were drawn")
		f.retry, f.quit = 5*time.Second, true
		return f
	case errors.Is(err, context.Canceled):
		return gone.fault("the caller has left: %v", err)
	case errors.As(err, &internal):
		s.opt.Log.Error("panic", "request", a.id, "value", fmt.Sprint(internal.Value), "stack",
			string(internal.Stack))
	default:
		s.opt.Log.Error("drawing", "request", a.id, "error", err.Error())
	}
	return broken.fault("the drawing has met a fault of the program, which the log tells with request %s", a.id)
}

// A Token lets its holder ask for samples.
type Token struct {
	Name    string    // in the log
	Expires time.Time // zero: never
	sum     [sha256.Size]byte
}

// shortestToken keeps tokens from being guessed: 16 characters of base64 are 96 bits.
const shortestToken = 16

// ParseTokens reads tokens: lines of a name, the token and perhaps the time when it expires (RFC 3339), apart by
// spaces; # begins a comment line. Errors name the line, and hold no token.
func ParseTokens(text []byte) ([]Token, error) {
	var out []Token
	for i, line := range strings.Split(string(text), "\n") {
		fail := func(format string, v ...any) ([]Token, error) {
			return nil, fmt.Errorf("line %d: "+format, append([]any{i + 1}, v...)...)
		}
		words := strings.Fields(line)
		switch {
		case len(words) == 0, strings.HasPrefix(words[0], "#"):
			continue
		case len(words) < 2, len(words) > 3:
			return fail("expected NAME TOKEN, and perhaps when it expires, as 2027-01-31T00:00:00Z")
		case len(words[1]) < shortestToken:
			return fail("the token of %q has %d characters; expected at least %d", words[0], len(words[1]),
				shortestToken)
		case strings.ContainsFunc(words[1], func(r rune) bool { return r <= ' ' || r > '~' }):
			return fail("the token of %q has a character that no header holds", words[0])
		}
		t := Token{Name: words[0], sum: sha256.Sum256([]byte(words[1]))}
		if len(words) == 3 {
			var err error
			if t.Expires, err = time.Parse(time.RFC3339, words[2]); err != nil {
				return fail("%q is no time; expected one as 2027-01-31T00:00:00Z", words[2])
			}
		}
		for _, other := range out {
			if other.sum == t.sum {
				return fail("the token of %q is that of %q", t.Name, other.Name)
			}
		}
		out = append(out, t)
	}
	if out == nil {
		return nil, fmt.Errorf("line %d: the file holds no token", bytes.Count(text, []byte("\n"))+1)
	}
	return out, nil
}

// holder returns whose token a request shows. Every token is compared, each in constant time.
func holder(tokens []Token, r *http.Request, now time.Time) (string, error) {
	shown := r.Header.Values("Authorization")
	if len(shown) != 1 {
		return "", unauthorized.fault("expected one header Authorization: Bearer TOKEN")
	}
	scheme, token, ok := strings.Cut(shown[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", unauthorized.fault("expected Authorization: Bearer TOKEN")
	}
	sum, at := sha256.Sum256([]byte(strings.TrimSpace(token))), -1
	for i := range tokens {
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], tokens[i].sum[:]), i, at)
	}
	switch {
	case at < 0:
		return "", unauthorized.fault("the token is not known")
	case !tokens[at].Expires.IsZero() && !now.Before(tokens[at].Expires):
		return "", unauthorized.fault("the token of %q expired at %s", tokens[at].Name,
			tokens[at].Expires.Format(time.RFC3339))
	}
	return tokens[at].Name, nil
}

package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/study/engine"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/trained"
)

// Folders of runs that the tests share, trained once.
var shared struct {
	dir        string
	demo, disc sync.Once
}

func TestMain(m *testing.M) {
	code := 1
	defer func() { os.Exit(code) }()
	dir, err := os.MkdirTemp("", "landing-serve")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	shared.dir = dir
	code = m.Run()
}

// kept returns a folder that make makes once.
func kept(t *testing.T, once *sync.Once, name string, make func() string) string {
	t.Helper()
	dir := filepath.Join(shared.dir, name)
	once.Do(func() {
		testkit.OK(t, os.CopyFS(dir, os.DirFS(make())))
	})
	return dir
}

func demo(t *testing.T) string {
	return kept(t, &shared.demo, "demo", func() string { return trained.Run(t, trained.Demo) })
}

// disc has a condition (r, c). Its data goes with the test that made it.
func disc(t *testing.T) string {
	return kept(t, &shared.disc, "disc", func() string { return trained.Conditional(t) })
}

// A service is one that runs in a test.
type service struct {
	*Server
	at    string // address
	t     *testing.T
	end   context.CancelFunc
	ended chan error
}

// loader reads runs of folders by name.
func loader(e *engine.Engine, dirs map[string]string) func(context.Context) ([]*engine.Run, error) {
	return func(ctx context.Context) ([]*engine.Run, error) {
		var out []*engine.Run
		for name, dir := range dirs {
			r, err := experiment.OpenToDraw(ctx, dir, "", parallel.New(1), nil)
			if err != nil {
				return nil, err
			}
			ready, err := e.Ready(ctx, name, r)
			if err != nil {
				return nil, err
			}
			out = append(out, ready)
		}
		return out, nil
	}
}

// start serves folders until the test ends.
func start(t *testing.T, dirs map[string]string, o Options) *service {
	t.Helper()
	return startWith(t, dirs, o, nil)
}

// startWith is start of a service that may encrypt.
func startWith(t *testing.T, dirs map[string]string, o Options, secure *tls.Config) *service {
	t.Helper()
	e := engine.New(2)
	if o.Load == nil {
		o.Load = loader(e, dirs)
	}
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))
	ctx, end := context.WithCancel(context.Background())
	s := &service{Server: New(e, o), at: l.Addr().String(), t: t, end: end, ended: make(chan error, 1)}
	go func() { s.ended <- s.Serve(ctx, l, secure) }()
	t.Cleanup(func() {
		end()
		if err, open := <-s.ended; open && err != nil {
			t.Error(err)
		}
	})
	s.wait(func() bool { return s.runs.Load() != nil })
	return s
}

// wait waits for what is to come true soon.
func (s *service) wait(until func() bool) {
	s.t.Helper()
	for try := 0; !until(); try++ {
		if time.Sleep(2 * time.Millisecond); try == 60_000 {
			s.t.Fatal("it did not come true in two minutes")
		}
	}
}

// ask sends a request: headers by name and value.
func (s *service) ask(method, path, body string, headers ...string) (*http.Response, []byte) {
	s.t.Helper()
	r := testkit.Must(http.NewRequest(method, "http://"+s.at+path, strings.NewReader(body)))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := testkit.Must(http.DefaultTransport.RoundTrip(r))
	defer w.Body.Close()
	b := testkit.Must(io.ReadAll(w.Body))
	return w, b
}

const asJSON, asNPY = "application/json", "application/x-npy"

func (s *service) samples(run, body string, accept ...string) (*http.Response, []byte) {
	s.t.Helper()
	headers := []string{"Content-Type", asJSON}
	for _, a := range accept {
		headers = append(headers, "Accept", a)
	}
	return s.ask("POST", "/v1/runs/"+run+"/samples", body, headers...)
}

// wantFault checks that an answer is a fault of a kind, in the form of RFC 9457.
func wantFault(t *testing.T, what string, w *http.Response, body []byte, k kind) {
	t.Helper()
	var p problem
	err := json.Unmarshal(body, &p)
	if err != nil || w.StatusCode != k.Status || w.Header.Get("Content-Type") != typeProblem || p.Status != k.Status ||
		p.Type != "/docs#"+k.Code || p.Title != k.Title || p.Detail == "" {
		t.Errorf("%s: status %d, %s; expected %d %s (%v)\n%.300s", what, w.StatusCode, w.Header.Get("Content-Type"),
			k.Status, k.Code, err, body)
	}
	if (k == queueFull || k == unready) == (w.Header.Get("Retry-After") == "") {
		t.Errorf("%s: Retry-After is %q", what, w.Header.Get("Retry-After"))
	}
}

// generated is what landing generate writes.
func generated(t *testing.T, dir string, n int, first, seed uint64, given []float64) []byte {
	t.Helper()
	pool := testkit.Pool(t, 2)
	r := testkit.Must(experiment.OpenToDraw(t.Context(), dir, "", pool, nil))
	network := testkit.Must(r.Trained(""))
	prior := testkit.Must(r.Prior(t.Context(), nil))
	if given != nil {
		prior = prior.Under(given, n)
		n *= len(given) / len(r.Condition.Names)
	}
	s := testkit.Must(r.Generate(t.Context(), network, prior, n, first, seed, nil))
	var b bytes.Buffer
	testkit.OK(t, r.Domain.Writer(".npy")(&b, arrayfile.RowsOf(s.Good(), s.Dim)))
	return b.Bytes()
}

// numbersOf returns the numbers of NPY arrays, one after the other.
func numbersOf(t *testing.T, b []byte) (all []float64) {
	t.Helper()
	for in := bytes.NewReader(b); in.Len() > 0; {
		a := testkit.Must(arrayfile.DecodeNPY(in))
		all = append(all, a.Float64...)
	}
	return all
}

// Samples are those of landing generate, byte for byte, in each format, of runs with and without a condition,
// while others ask too; and nothing is written into the folders.
func TestSamplesAreThoseOfGenerate(t *testing.T) {
	demo, disc := demo(t), disc(t)
	before := tree(t, demo, disc)
	s := start(t, map[string]string{"demo": demo, "disc": disc}, Options{})
	given := []float64{1.2, 0.5, 1.9, 1.5}
	const condition = `,"condition":[{"r":1.2,"c":0.5},{"c":1.5,"r":1.9}]`
	var group sync.WaitGroup
	for _, c := range []struct {
		run, dir, with string
		given          []float64
		n              int
		seed, first    uint64
	}{
		{"demo", demo, "", nil, 1, 1, 0}, {"demo", demo, "", nil, 150, 9, 1000}, {"demo", demo, "", nil, 300, 1, 5},
		{"disc", disc, condition, given, 70, 3, 0},
		{"disc", disc, `,"condition":[[1.2,0.5],[1.9,1.5]]`, given, 2, 1, 7},
	} {
		want := generated(t, c.dir, c.n, c.first, c.seed, c.given)
		numbers := numbersOf(t, want)
		body := fmt.Sprintf(`{"n":%d,"seed":%d,"first":%d%s}`, c.n, c.seed, c.first, c.with)
		group.Go(func() {
			w, b := s.samples(c.run, body, asNPY)
			if w.StatusCode != 200 || !bytes.Equal(b, want) || w.Header.Get("Landing-Failed") != "0" {
				t.Errorf("%s of %s: %d, not the bytes of generate", body, c.run, w.StatusCode)
			}
		})
		group.Go(func() {
			var got Samples
			w, b := s.samples(c.run, body)
			if err := json.Unmarshal(b, &got); err != nil || !slices.Equal(slices.Concat(got.Samples...), numbers) ||
				got.Run != c.run || got.Seed != c.seed || got.First != c.first || len(got.Samples) != got.N ||
				got.Failed == nil || !(got.Violation < 1e-9) || w.Header.Get("Content-Type") != asJSON {
				t.Errorf("%s of %s in JSON: %v\n%.300s", body, c.run, err, b)
			}
		})
	}
	group.Wait()

	if w, b := s.samples("demo", `{"n":2,"format":"csv"}`); w.StatusCode != 200 || bytes.Count(b, []byte("\n")) != 3 ||
		!strings.HasPrefix(w.Header.Get("Content-Type"), "text/csv") {
		t.Errorf("a file: %d %q %s", w.StatusCode, w.Header.Get("Content-Type"), b)
	}
	if w, b := s.samples("disc", `{"n":1,"condition":{"r":5,"c":0.5}}`); w.StatusCode != 200 ||
		!strings.Contains(string(b), "outside the training rows") {
		t.Errorf("a condition that training has not seen: %d %s", w.StatusCode, b)
	}
	testkit.Equal(t, tree(t, demo, disc), before, "run folders have changed")
}

// tree lists files with size and time.
func tree(t *testing.T, dirs ...string) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range dirs {
		testkit.OK(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
			return err
		}))
	}
	return b.String()
}

// What cannot be is refused with the right status, in words, and costs nothing.
func TestRefusals(t *testing.T) {
	s := start(t, map[string]string{"demo": demo(t), "disc": disc(t)},
		Options{Local: true, Limits: Limits{Body: 1000, Numbers: 3000}})
	const samples = "/v1/runs/demo/samples"
	testkit.Cases(t, func(input string) string {
		path, body, _ := strings.Cut(input, " ")
		w, b := s.ask("POST", path, testkit.Must(strconv.Unquote(body)), "Content-Type", asJSON)
		var p problem
		testkit.OK(t, json.Unmarshal(b, &p))
		code := strings.TrimPrefix(p.Type, "/docs#")
		wantFault(t, input, w, b, kind{Code: code, Status: w.StatusCode, Title: p.Title})
		return fmt.Sprintf("%d %s: %s", w.StatusCode, p.Title, p.Detail)
	})
	for _, c := range []struct {
		path, body, media string
		want              kind
	}{
		{samples, `{"n":1` + strings.Repeat(" ", 1000) + "}", asJSON, tooLarge},
		{samples, strings.Repeat("[", 990), asJSON, badJSON},
		{samples, "n=1", "application/x-www-form-urlencoded", unsupported}, {samples, `{"n":1}`, "", unsupported},
		{"/v1/runs/disc/samples", "\x93NUMPY", asNPY, unsupported},
	} {
		w, b := s.ask("POST", c.path, c.body, "Content-Type", c.media)
		wantFault(t, c.body+" "+c.media, w, b, c.want)
	}
	if w, _ := s.ask("POST", "/healthz", ""); w.StatusCode != 405 || w.Header.Get("Allow") == "" {
		t.Errorf("another method: %d, allowed %q", w.StatusCode, w.Header.Get("Allow"))
	}
	if w, _ := s.ask("POST", "/v1/run/demo", ""); w.StatusCode != 404 {
		t.Errorf("another path: %d", w.StatusCode)
	}
	_, b := s.samples("demo", `{"n":3,"given":{"inequality":[{"name":"half","expr":"x[2] >= 0"}]}}`)
	var v Samples
	if err := json.Unmarshal(b, &v); err != nil || len(v.Samples) != 3 || v.Samples[0][2] < 0 || v.Given == nil {
		t.Errorf("samples under constraints: %s", b)
	}
	w, b := s.samples("demo", `{"n":1}`, "image/png")
	wantFault(t, "a picture", w, b, unacceptable)
	w, b = s.ask("POST", samples, `{"n":1}`, "Content-Type", asJSON, "Content-Encoding", "gzip")
	wantFault(t, "a coding", w, b, unsupported)
	w, b = s.ask("POST", samples, `{"n":1}`, "Content-Type", asJSON, "Sec-Fetch-Site", "cross-site")
	wantFault(t, "another site", w, b, foreign)
	w, b = s.ask("POST", samples, `{"n":1}`, "Content-Type", asJSON, "Origin", "https://evil.example")
	wantFault(t, "another origin", w, b, foreign)
	r, _ := http.NewRequest("GET", "http://"+s.at+"/v1/runs", nil)
	r.Host = "evil.example" // a name that its owner has made this address
	if w, err := http.DefaultTransport.RoundTrip(r); err != nil {
		t.Error(err)
	} else {
		b, _ := io.ReadAll(w.Body)
		w.Body.Close()
		wantFault(t, "another host", w, b, misdirected)
	}
	testkit.Equal(t, s.waiting.Load(), 0, "requests that wait, of those that were refused")
	if w, _ := s.samples("demo", `{"n":1000,"seed":18446744073709551615,"first":18446744073709550615}`); w.StatusCode !=
		200 {
		t.Errorf("what just fits is refused with %d", w.StatusCode)
	}
}

// raw sends bytes as they are and returns the first answer and whether the connection was closed behind it.
func (s *service) raw(text string) (status int, body string, closed bool) {
	s.t.Helper()
	c := testkit.Must(net.Dial("tcp", s.at))
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	testkit.Must(io.WriteString(c, text))
	in := bufio.NewReader(c)
	w, err := http.ReadResponse(in, nil)
	if err != nil {
		return 0, "", !timedOut(err)
	}
	b, err := io.ReadAll(w.Body)
	if err != nil { // package net/http does not wait until the caller has read why it closes a connection
		return w.StatusCode, string(b), true
	}
	_, err = in.ReadByte()
	return w.StatusCode, string(b), err != nil && !timedOut(err)
}

// Callers who are slow to say what they want, or to take it, keep nobody else waiting and are sent away.
func TestSlowCallers(t *testing.T) {
	s := start(t, map[string]string{"demo": demo(t)}, Options{Limits: Limits{
		Header: time.Second, Arrival: time.Second, Patience: time.Second}})
	var group sync.WaitGroup
	for i := range 20 {
		text := "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-" // a header that never ends
		want := 0
		if i%2 == 0 {
			text = "POST /v1/runs/demo/samples HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
				"Content-Length: 9\r\n\r\n{"
			want = 408
		}
		group.Go(func() {
			if status, body, closed := s.raw(text); status != want && !(want == 0 && status == 400) || !closed {
				t.Errorf("%q: status %d, closed %v\n%s", text, status, closed, body)
			}
		})
	}
	if w, _ := s.ask("GET", "/healthz", ""); w.StatusCode != 200 {
		t.Errorf("beside them: %d", w.StatusCode)
	}
	group.Wait()
	// A reader who takes nothing.
	c := testkit.Must(net.Dial("tcp", s.at))
	defer c.Close()
	c.(*net.TCPConn).SetReadBuffer(4 << 10)
	const body = `{"n":200000}`
	fmt.Fprintf(c, "POST /v1/runs/demo/samples HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", len(body), body)
	s.wait(func() bool { return s.waiting.Load() == 1 })
	s.wait(func() bool { return s.waiting.Load() == 0 })
}

// hold opens a request that stays until its caller leaves.
func (s *service) hold() (leave func()) {
	s.t.Helper()
	before := s.waiting.Load()
	ctx, leave := context.WithCancel(s.t.Context())
	r := testkit.Must(http.NewRequestWithContext(ctx, "POST", "http://"+s.at+"/v1/runs/demo/samples",
		strings.NewReader(`{"n":1000000}`)))
	r.Header.Set("Content-Type", asJSON)
	go func() {
		if w, err := http.DefaultTransport.RoundTrip(r); err == nil {
			w.Body.Close()
		}
	}()
	s.wait(func() bool { return s.waiting.Load() > before })
	return leave
}

// The service refuses requests beyond its places with a time to retry; a caller who leaves makes room.
func TestQueueIsBounded(t *testing.T) {
	s := start(t, map[string]string{"demo": demo(t)}, Options{Limits: Limits{Queue: 2}})
	first, second := s.hold(), s.hold()
	w, b := s.samples("demo", `{"n":1}`)
	wantFault(t, "a third", w, b, queueFull)
	if w, _ := s.ask("GET", "/healthz", ""); w.StatusCode != 200 {
		t.Errorf("health: %d", w.StatusCode)
	}
	first()
	s.wait(func() bool { return s.waiting.Load() == 1 })
	if w, b := s.samples("demo", `{"n":1}`); w.StatusCode != 200 {
		t.Errorf("with room again: %d %s", w.StatusCode, b)
	}
	second()
	s.wait(func() bool { return s.waiting.Load() == 0 })
	if !s.room.TryAcquire(s.opt.Held - s.bodies.size - 10) {
		t.Error("no room is left")
	}
	w, b = s.samples("demo", `{"n":4}`)
	wantFault(t, "no memory", w, b, queueFull)
}

// A deadline ends the work.
func TestDeadline(t *testing.T) {
	s := start(t, map[string]string{"demo": demo(t)}, Options{})
	w, b := s.samples("demo", `{"n":1000000,"deadline_ms":1}`)
	wantFault(t, "1 ms", w, b, tooLate)
	s.wait(func() bool { return s.waiting.Load() == 0 })
}

// Long bodies wait for room in memory, one after the other, and those that get none in time are refused; short ones
// pass. What is made of a body is never more than a number for each of its bytes.
func TestLongBodies(t *testing.T) {
	s := start(t, map[string]string{"disc": disc(t)}, Options{Limits: Limits{Held: 4 << 20, Patience: 200 *
		time.Millisecond, Numbers: 100}})
	rows := func(row string, n int) string {
		return `{"n":1,"condition":[` + strings.Repeat(row+",", n) + row + "]}"
	}
	long := rows(`{"r":1,"c":1}`, 1<<16)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			if w, b := s.samples("disc", long); w.StatusCode != 422 && w.StatusCode != 429 {
				t.Errorf("a long body: %d %s", w.StatusCode, b)
			}
		})
	}
	group.Wait()
	end := testkit.Must(net.Dial("tcp", s.at)) // takes all the room, and never sends the rest
	defer end.Close()
	fmt.Fprintf(end, "POST /v1/runs/disc/samples HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", 2<<20, strings.Repeat(" ", 1<<20))
	s.wait(func() bool { free := s.bodies.TryAcquire(s.bodies.size); return !free || release(s.bodies) })
	w, b := s.samples("disc", long)
	wantFault(t, "a long body beside it", w, b, queueFull)
	if w, b := s.samples("disc", `{"n":1,"condition":{"r":1.2,"c":0.5}}`); w.StatusCode != 200 {
		t.Errorf("a short body beside it: %d %s", w.StatusCode, b)
	}
	for _, row := range []string{"[[", "[]", "{}", `{"a":1}`, "1", `""`, "null", "[1,1]"} {
		var g Conditions
		body := rows(row, 1000)
		if err := json.Unmarshal([]byte(body[len(`{"n":1,"condition":`):len(body)-1]), &g); len(g.rows) > len(body) {
			t.Errorf("%s: %d numbers of %d bytes, %v", row, len(g.rows), len(body), err)
		}
	}
}

// release gives all room back, and is false.
func release(s sized) bool {
	s.Release(s.size)
	return false
}

// When the service stops, it finishes the requests at work, begins nothing new, and nothing waits for ever.
func TestDrain(t *testing.T) {
	s := start(t, map[string]string{"demo": demo(t)}, Options{})
	held := s.hold()
	kept := testkit.Must(net.Dial("tcp", s.at))
	defer kept.Close()
	s.end()
	s.wait(s.draining.Load)
	s.wait(func() bool {
		c, err := net.Dial("tcp", s.at)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	select {
	case err := <-s.ended:
		t.Fatalf("it ended before its last request (%v)", err)
	case <-time.After(50 * time.Millisecond):
	}
	held()
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	close(s.ended)

	// Before that it says for a while that it is not ready, and takes requests.
	s = start(t, map[string]string{"demo": demo(t)}, Options{Limits: Limits{Grace: 300 * time.Millisecond}})
	if _, b := s.ask("GET", "/readyz", ""); string(b) != "{\"ready\":true}\n" {
		t.Errorf("/readyz tells %s", b)
	}
	s.end()
	s.wait(s.leaving.Load)
	w, b := s.ask("GET", "/readyz", "")
	wantFault(t, "in the grace period", w, b, unready)
	if w, b := s.samples("demo", `{"n":1}`); w.StatusCode != 200 {
		t.Errorf("a request in the grace period: %d %s", w.StatusCode, b)
	}
	testkit.OK(t, <-s.ended)
	close(s.ended)

	s = start(t, map[string]string{"demo": demo(t)}, Options{Limits: Limits{
		Drain: 50 * time.Millisecond}})
	held = s.hold()
	defer held()
	s.end()
	select {
	case err := <-s.ended:
		testkit.OK(t, err)
	case <-time.After(2 * time.Minute):
		t.Fatal("a request that does not end keeps the service")
	}
	close(s.ended)
	r := New(s.engine, s.opt)
	r.draining.Store(true)
	var f *fault
	if _, _, err := r.find("demo"); !errors.As(err, &f) || f.kind != unready {
		t.Errorf("a request to a service that ends: %v", err)
	}
}

// Callers show a token that is known and has not expired; what tells nothing of runs needs none.
func TestTokens(t *testing.T) {
	const good, old = "0123456789abcdef", "fedcba9876543210"
	tokens := testkit.Must(ParseTokens([]byte("# callers\nada " + good + "\n\nbob " + old + " 2020-01-01T00:00:00Z\n")))
	var log syncBuffer
	s := start(t, map[string]string{"demo": demo(t)}, Options{Tokens: tokens, Log: log.logger()})
	for _, c := range []struct {
		what   string
		shown  []string
		status int
	}{
		{"none", nil, 401}, {"a wrong one", []string{"Bearer 0123456789abcdeg"}, 401},
		{"a part", []string{"Bearer 0123456789abcde"}, 401}, {"a longer one", []string{"Bearer " + good + "0"}, 401},
		{"an old one", []string{"Bearer " + old}, 401}, {"a password", []string{"Basic " + good}, 401},
		{"an empty one", []string{"Bearer "}, 401}, {"two", []string{"Bearer " + good, "Bearer " + good}, 401},
		{"a good one", []string{"Bearer " + good}, 200},
		{"a good one in small letters", []string{"bearer " + good}, 200},
	} {
		for _, path := range []string{"/v1/runs", "/v1/runs/demo"} {
			var headers []string
			for _, v := range c.shown {
				headers = append(headers, "Authorization", v)
			}
			w, b := s.ask("GET", path, "", headers...)
			testkit.Equal(t, w.StatusCode, c.status, "%s at %s", c.what, path)
			if c.status == 401 {
				wantFault(t, c.what, w, b, unauthorized)
				if w.Header.Get("WWW-Authenticate") == "" {
					t.Error("WWW-Authenticate is missing")
				}
			}
		}
	}
	if w, b := s.ask("GET", "/v1/runs", "", "Authorization", "Bearer "+old); !strings.Contains(string(b),
		`the token of \"bob\" expired at 2020-01-01`) {
		t.Errorf("%d %s", w.StatusCode, b)
	}
	for _, path := range []string{"/healthz", "/readyz", "/docs", "/openapi.json"} {
		if w, _ := s.ask("GET", path, ""); w.StatusCode != 200 {
			t.Errorf("%s without a token: %d", path, w.StatusCode)
		}
	}
	if text := log.String(); strings.Contains(text, good) || strings.Contains(text, old) ||
		!strings.Contains(text, `"caller":"ada"`) {
		t.Errorf("the log:\n%s", text)
	}
	r, _ := http.NewRequest("GET", "/", nil) // a token is good until the moment at which it expires
	r.Header.Set("Authorization", "Bearer "+old)
	for _, c := range []struct {
		before time.Duration
		good   bool
	}{{time.Nanosecond, true}, {0, false}} {
		if _, f := holder(tokens, r, tokens[1].Expires.Add(-c.before)); (f == nil) != c.good {
			t.Errorf("%v before it expires: %v", c.before, f)
		}
	}
	for text, says := range map[string]string{
		"":                                "line 1: the file holds no token",
		"ada\n":                           "line 1: expected NAME TOKEN",
		"a b c d\n":                       "line 1: expected NAME TOKEN",
		"\nada short\n":                   `line 2: the token of "ada" has 5 characters; expected at least 16`,
		"ada " + good + " tomorrow":       `line 1: "tomorrow" is no time`,
		"a " + good + "\nb " + good:       `line 2: the token of "b" is that of "a"`,
		"ada 0123456789abcde\xff\n":       "no header holds",
		"ada " + good + " 2027-01-01 x\n": "expected NAME TOKEN",
	} {
		testkit.Refused(t, testkit.Err(ParseTokens([]byte(text))), says, text)
	}
}

// Runs are in memory: what becomes of their folders changes no byte.
func TestFoldersMayGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	testkit.OK(t, os.CopyFS(dir, os.DirFS(demo(t))))
	s := start(t, map[string]string{"demo": dir}, Options{})
	_, want := s.samples("demo", `{"n":20,"seed":3}`, asNPY)
	testkit.OK(t, os.RemoveAll(dir))
	if w, got := s.samples("demo", `{"n":20,"seed":3}`, asNPY); w.StatusCode != 200 || !bytes.Equal(got, want) {
		t.Errorf("without its folder: %d, other bytes", w.StatusCode)
	}
}

// Before the runs are read the service lives, is not ready, and says so; if they cannot be read it ends.
func TestNotReady(t *testing.T) {
	go1 := make(chan error)
	s := New(engine.New(1), Options{Load: func(context.Context) ([]*engine.Run, error) {
		return nil, <-go1
	}})
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))
	ended := make(chan error)
	go func() { ended <- s.Serve(t.Context(), l, nil) }()
	v := &service{Server: s, at: l.Addr().String(), t: t}
	if w, _ := v.ask("GET", "/healthz", ""); w.StatusCode != 200 {
		t.Errorf("health: %d", w.StatusCode)
	}
	for _, path := range []string{"/readyz", "/v1/runs", "/v1/runs/demo"} {
		w, b := v.ask("GET", path, "")
		wantFault(t, path, w, b, unready)
	}
	bad := errors.New("bad")
	go1 <- bad
	if err := <-ended; err != bad {
		t.Errorf("it ended with %v", err)
	}
}

// More failed samples than the run allows are a refusal; fewer are listed by their numbers.
func TestFailedSamples(t *testing.T) {
	dir := disc(t)
	s := start(t, map[string]string{"disc": dir}, Options{})
	// No point of the line 0.1 r from the centre is in a disc of a radius below 0.
	w, b := s.samples("disc", `{"n":3,"condition":{"r":-1,"c":1}}`)
	wantFault(t, "a condition without points", w, b, failedSamples)
	s.runs.Load().runs[0].Problem.Generate.MaxFailed = 1
	_, b = s.samples("disc", `{"n":3,"condition":{"r":-1,"c":1}}`)
	testkit.Contains(t, string(b), `"failed":[0,1,2]`, "in JSON")
	w, _ = s.samples("disc", `{"n":3,"first":7,"condition":{"r":-1,"c":1}}`, typeNPY)
	if n, all := w.Header.Get("Landing-Failed"), w.Header.Get("Landing-Failed-Samples"); n != "3" || all != "7,8,9" {
		t.Errorf("of three failed samples from 7 on %s are told, %q", n, all)
	}
}

// The answer has the worst violation of all its parts, and the number of the first sample that is off the set.
func TestViolationOfParts(t *testing.T) {
	s := start(t, map[string]string{"demo": demo(t)}, Options{})
	g := &gatherer{run: s.runs.Load().runs[0], Answer: Answer{First: 1000}}
	for k, far := range []float64{1e-12, 0.1, 0.3, 0.2} {
		x := []float64{1, 0, 0, 0, 1 + far, 0, 0, 0, 1}
		lost := []bool{k == 1, false, false}
		g.take(64*k, &judge.Samples{X: x, Lost: lost, Dim: 3})
	}
	if a := g.Answer; math.Abs(float64(a.Violation)-0.3) > 1e-9 || a.Component != "radius" ||
		!slices.Equal(a.Failed, []uint64{1064}) {
		t.Errorf("violation %v of %q, want 0.3; failed %v, want 1064", a.Violation, a.Component, a.Failed)
	}
	if w := g.Warnings; len(w) != 1 || !strings.Contains(w[0], "sample 1065 violates") {
		t.Errorf("warnings %q; expected one, of sample 1065", w)
	}
}

// The package opens no file: it does not know how.
func TestNoFiles(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f := testkit.Must(parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly))
		for _, i := range f.Imports {
			switch path, _ := strconv.Unquote(i.Path.Value); path {
			case "os", "io/fs", "path/filepath", "os/exec", "io/ioutil", "syscall",
				"github.com/landing-diffusion/landing/internal/input",
				"github.com/landing-diffusion/landing/experiment/run":
				t.Errorf("%s imports %s", name, path)
			}
		}
		text := testkit.Must(os.ReadFile(name))
		for _, call := range []string{"http.Dir", "http.ServeFile", "http.FileServer", ".Folder", "OpenToDraw"} {
			if bytes.Contains(text, []byte(call)) {
				t.Errorf("%s has %s", name, call)
			}
		}
	}
}

// keysOf returns the keys of an object in JSON.
func keysOf(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			keys = append(keys, keysOf(f.Type)...)
		} else {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// The description is OpenAPI 3.1, names each path, each key and each fault, and its page loads nothing from elsewhere.
func TestDescription(t *testing.T) {
	s := start(t, map[string]string{"demo": demo(t)}, Options{Version: "1.2.3"})
	_, b := s.ask("GET", "/openapi.json", "")
	var api struct {
		OpenAPI    string
		Info       struct{ Version string }
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(b, &api); err != nil || !strings.HasPrefix(api.OpenAPI, "3.1") ||
		api.Info.Version != "1.2.3" {
		t.Fatalf("%v, %.200s", err, b)
	}
	for path, method := range map[string]string{"/v1/runs": "get", "/v1/runs/{name}": "get",
		"/v1/runs/{name}/samples": "post", "/healthz": "get", "/readyz": "get"} {
		if api.Paths[path][method] == nil {
			t.Errorf("%s is not described", path)
		}
	}
	for name, of := range map[string]any{"Ask": Ask{}, "Samples": Samples{}, "RunInfo": RunInfo{}, "RunList": RunList{},
		"ConditionInfo": ConditionInfo{}, "Ready": Ready{}, "Scene": Scene{}, "Observable": Observable{},
		"Frame": Frame{}, "Problem": problem{}, "Place": place{}} {
		want, got := keysOf(reflect.TypeOf(of)), slices.Sorted(maps.Keys(api.Components.Schemas[name].Properties))
		testkit.EqualSlices(t, got, want, "keys of %s", name)
	}
	for _, ref := range regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllStringSubmatch(string(b), -1) {
		if api.Components.Schemas[ref[1]].Properties == nil {
			t.Errorf("%s leads nowhere", ref[0])
		}
	}
	w, page := s.ask("GET", "/docs", "")
	for _, k := range kinds {
		testkit.Contains(t, string(page), `id="`+k.Code+`"`, "the page does not tell of %s", k.Code)
	}
	for _, link := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(string(page), -1) {
		if !strings.HasPrefix(link[1], "/") && !strings.HasPrefix(link[1], "#") {
			t.Errorf("the page leads to %s", link[1])
		}
	}
	if policy := w.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("its policy is %q", policy)
	}
	if w, _ := s.ask("HEAD", "/healthz", ""); w.StatusCode != 200 {
		t.Errorf("HEAD: %d", w.StatusCode)
	}
}

// Accept names what is written, the first of several.
func TestAccepted(t *testing.T) {
	for accept, want := range map[string]string{"": "", "*/*": typeJSON, "application/x-npy": typeNPY,
		"application/x-npy;q=0.5, application/json;q=0.4": typeNPY, "image/png": "", "application/*": typeJSON,
		"application/octet-stream": typeNPY, "image/png, */*;q=0.1": typeJSON, ";;;": ""} {
		testkit.Equal(t, accepted([]string{accept}), want, "%q", accept)
	}
	testkit.Equal(t, accepted(nil), typeJSON)
}

// Whatever the bytes, decode returns a request that could be, or a fault of the caller's, and takes no more memory
// than the body.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{`{"n":1}`, `{"n":1,"seed":18446744073709551615,"first":3,"deadline_ms":5}`,
		`{"n":2,"condition":{"r":1.5}}`, `{"n":2,"condition":[{"r":1.5},{"r":2}]}`, `{"n":2,"condition":[[1],[2]]}`,
		`{"n":1e12}`, `{"n":NaN}`, `[`, `{"n":1}{}`, `{"n":1,"condition":[null]}`, "\xff", "", `"`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > 1<<16 {
			return
		}
		a, err := decode(body)
		var bad *fault
		switch {
		case err != nil && (!errors.As(err, &bad) || bad.kind.Status < 400 || bad.kind.Status >= 500 ||
			bad.detail == ""):
			t.Fatalf("%v", err)
		case err != nil && a != nil:
			t.Fatalf("a fault and %+v", a)
		case err == nil && (a.N < 1 || a.DeadlineMS != nil && *a.DeadlineMS < 1):
			t.Fatalf("%+v", a)
		}
		if err != nil {
			return
		}
		if g := a.Condition; g != nil {
			if len(g.rows) > len(body) || len(g.names) > len(body) || len(g.rows)%g.width != 0 {
				t.Fatalf("%d numbers of %d bytes, %d a row", len(g.rows), len(body), g.width)
			}
			if _, err := g.values(&experiment.Condition{Names: []string{"r"}}); err != nil &&
				(!errors.As(err, &bad) || bad.kind != invalid) {
				t.Fatalf("%v", err)
			}
		}
	})
}

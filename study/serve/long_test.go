package serve

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// busy keeps the engine from drawing until it is called.
func (s *service) busy() (end func()) {
	work, release := make(chan struct{}), make(chan struct{})
	for range s.engine.Workers() {
		go s.engine.Compute(s.t.Context(), func() error {
			work <- struct{}{}
			<-release
			return nil
		})
		<-work
	}
	end = sync.OnceFunc(func() { close(release) })
	s.t.Cleanup(end) // before the service ends
	return end
}

// An answer that takes longer than bodies may take to arrive, and readers to read, comes all the same: over HTTP and,
// encrypted, over HTTP/2, whole, in frames, and where nothing was sent to ask for it.
func TestLongAnswers(t *testing.T) {
	keys := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer keys.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(keys.Certificate())
	const wait = 400 * time.Millisecond
	for version, secure := range map[int]*tls.Config{1: nil, 2: {Certificates: keys.TLS.Certificates}} {
		s := startWith(t, map[string]string{"demo": demo(t)}, Options{Limits: Limits{Arrival: wait, Patience: wait}},
			secure)
		client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{
			RootCAs: trusted}}}
		defer client.CloseIdleConnections()
		at := "http://" + s.at
		if secure != nil {
			at = "https://" + s.at
		}
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/v1/runs/demo/scene", ""}, {"POST", "/v1/runs/demo/samples", `{"n":2}`},
			{"POST", "/v1/runs/demo/paths", `{"n":2}`},
		} {
			end := s.busy()
			go func() {
				time.Sleep(2 * wait)
				end()
			}()
			r := testkit.Must(http.NewRequestWithContext(t.Context(), c.method, at+c.path, strings.NewReader(c.body)))
			r.Header.Set("Content-Type", asJSON)
			w, err := client.Do(r)
			if err != nil {
				t.Errorf("HTTP/%d %s: %v", version, c.path, err)
				continue
			}
			b, err := io.ReadAll(w.Body)
			w.Body.Close()
			if err != nil || w.StatusCode != 200 || len(b) == 0 || w.ProtoMajor != version {
				t.Errorf("HTTP/%d %s: %d over HTTP/%d, %v\n%.200s", version, c.path, w.StatusCode, w.ProtoMajor, err, b)
			}
		}
	}
}

// The answer to an invalid request is short, however long the request is.
func TestFaultsAreShort(t *testing.T) {
	var log syncBuffer
	s := start(t, map[string]string{"demo": demo(t), "disc": disc(t)}, Options{Log: log.logger()})
	long := strings.Repeat("é", 1<<18)
	var keys strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&keys, `"k%d":0,`, i)
	}
	for what, c := range map[string]struct {
		run, body string
		want      kind
	}{
		"a long word":         {"demo", `{"n":"` + long + `"}`, invalid},
		"a long list":         {"demo", `{"n":[` + strings.Repeat("1,", 1<<18) + `1]}`, invalid},
		"a long key":          {"demo", `{"n":1,"` + long + `":1}`, invalid},
		"many keys":           {"demo", `{` + keys.String() + `"n":1}`, invalid},
		"a long coordinate":   {"disc", `{"n":1,"condition":{"` + long + `":1,"r":1,"c":1}}`, invalid},
		"a long Content-Type": {"demo", `{"n":1}`, unsupported},
	} {
		media := asJSON
		if c.want == unsupported {
			media = "text/" + strings.Repeat("x", 10_000)
		}
		w, b := s.ask("POST", "/v1/runs/"+c.run+"/samples", c.body, "Content-Type", media)
		wantFault(t, what, w, b, c.want)
		if most := 4 * mostTold; len(b) > most {
			t.Errorf("%s is refused with %d bytes", what, len(b))
		}
	}
	for line := range strings.Lines(log.String()) {
		if len(line) > 20_000 {
			t.Errorf("a line of the log has %d bytes", len(line))
		}
	}
}

// syncBuffer gathers a log.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *syncBuffer) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(s, nil)) }

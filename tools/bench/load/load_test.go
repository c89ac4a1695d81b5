package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// A faulty is a service that answers as package serve promises, but for what a test changes.
type faulty struct {
	mu     sync.Mutex
	asked  []Ask
	health func(w http.ResponseWriter)
	answer func(w http.ResponseWriter, a Ask)
	open   bool // it takes what cannot be
	cycles atomic.Int64
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/healthz" && f.health != nil:
		f.health(w)
	case r.URL.Path == "/healthz":
	case r.URL.Path == "/metrics":
		fmt.Fprintf(w, "# TYPE go_goroutines gauge\ngo_goroutines 8\ngo_gc_cycles_total_gc_cycles_total %d\n"+
			"go_gc_heap_live_bytes 1.5e+06\n", f.cycles.Add(1))
	case r.URL.Path != "/v1/runs/r/samples" || r.Header.Get("Accept") != "" &&
		r.Header.Get("Accept") != "application/x-npy":
		w.WriteHeader(404)
	case f.open:
		fmt.Fprint(w, "7")
	default:
		if r.ContentLength > 8<<20 {
			w.WriteHeader(413)
			return
		}
		var a Ask
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &a) != nil {
			w.WriteHeader(400)
			return
		}
		if a.N > 1e6 {
			w.WriteHeader(422)
			return
		}
		if a.N == 20_000 { // that of a slow reader: it ends
			w.Header().Set("Connection", "close")
		}
		f.mu.Lock()
		f.asked = append(f.asked, a)
		f.mu.Unlock()
		if f.answer != nil {
			f.answer(w, a)
			return
		}
		fmt.Fprint(w, a.Seed)
	}
}

// begin returns a service as a target.
func (f *faulty) begin(t *testing.T) *Target {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return NewTarget("faulty", strings.TrimPrefix(s.URL, "http://"), 8)
}

// Each caller asks again when it has its answer, for samples of its own; times are those of the answers.
func TestMeasure(t *testing.T) {
	const delay = 5 * time.Millisecond
	f := &faulty{answer: func(w http.ResponseWriter, _ Ask) { time.Sleep(delay) }}
	row, err := f.begin(t).Measure(t.Context(), Ask{Run: "r", N: 3, Seed: 1, Condition: [][]float64{{2}}}, 4, 0.2)
	testkit.OK(t, err)
	// A machine with other work is late, never early.
	most := 4 * 0.2 / delay.Seconds()
	if row.Service != "faulty" || row.Run != "r" || row.Samples != 3 || row.Clients != 4 || row.Requests < 4 ||
		float64(row.Requests) > most+4 || !(row.PerSecond > 0) || row.PerSecond > most/0.2 ||
		row.P50 < delay.Seconds() || row.P99 < row.P50 || row.HealthMax < row.HealthP99 || row.HealthP99 <= 0 {
		t.Errorf("%+v", row)
	}
	if len(f.asked) != row.Requests+1 { // one before
		t.Errorf("%d requests, of which %d are told", len(f.asked), row.Requests)
	}
	seen := map[uint64]bool{}
	for _, a := range f.asked {
		if a.N != 3 || a.Seed != 1 || a.First%3 != 0 || len(a.Condition) != 1 || seen[a.First] {
			t.Fatalf("%+v, asked twice: %v", a, seen[a.First])
		}
		seen[a.First] = true
	}
	if row, err = f.begin(t).Measure(t.Context(), Ask{Run: "r", N: 1}, 2, 0); err != nil || row.Requests != 2 {
		t.Errorf("in no time: %+v, %v; expected an answer for each caller", row, err)
	}
}

// A service that does not answer as it must is no figure.
func TestMeasureFaults(t *testing.T) {
	n := 0
	for what, c := range map[string]struct {
		service *faulty
		run     string
		says    string
	}{
		"unknown": {&faulty{}, "other", "status 404"},
		"busy":    {&faulty{answer: func(w http.ResponseWriter, _ Ask) { w.WriteHeader(429) }}, "r", "status 429"},
		"sick": {&faulty{
			health: func(w http.ResponseWriter) { w.WriteHeader(500) },
			answer: func(http.ResponseWriter, Ask) { time.Sleep(time.Millisecond) },
		}, "r", "/healthz answers 500"},
		"sick later": {&faulty{
			health: func(w http.ResponseWriter) {
				if n++; n > 3 {
					w.WriteHeader(503)
				}
			},
			answer: func(http.ResponseWriter, Ask) { time.Sleep(time.Millisecond) },
		}, "r", "/healthz answers 503"},
	} {
		testkit.Refused(t, testkit.Err(c.service.begin(t).Measure(t.Context(), Ask{Run: c.run, N: 1}, 2, 5)),
			c.says, what)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&faulty{}).begin(t).Measure(ctx, Ask{Run: "r", N: 1}, 2, 5); err != context.Canceled {
		t.Errorf("interrupted: %v", err)
	}
}

// Whoever else asks for health is begun before the callers and ended after them, and its fault is that of the row.
func TestWatch(t *testing.T) {
	f := &faulty{health: func(http.ResponseWriter) { t.Error("this process asks for health") }}
	target, asked := f.begin(t), -1
	target.Watch = func(context.Context, func(error)) (func() Health, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		asked = len(f.asked)
		return func() Health { return Health{P99: float64(len(f.asked)), Max: 7} }, nil
	}
	row, err := target.Measure(t.Context(), Ask{Run: "r", N: 1}, 2, 0.02)
	if err != nil || asked != 1 || row.HealthP99 != float64(row.Requests+1) || row.HealthMax != 7 {
		t.Errorf("%+v, %v; begun after %d requests", row, err, asked)
	}
	target.Watch = func(_ context.Context, failed func(error)) (func() Health, error) {
		return func() Health { failed(io.ErrUnexpectedEOF); return Health{} }, nil
	}
	if _, err := target.Measure(t.Context(), Ask{Run: "r", N: 1}, 2, 0); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a watcher that ended: %v", err)
	}
}

// A question that is open when the time ends counts whole.
func TestHealthToTheEnd(t *testing.T) {
	done, n := make(chan struct{}), 0
	f := &faulty{health: func(http.ResponseWriter) {
		if n++; n == 3 {
			close(done)
			time.Sleep(30 * time.Millisecond)
		}
	}}
	begun := 0
	h, err := f.begin(t).Health(t.Context(), done, func() { begun = n })
	if err != nil || h.Asked != 2 || h.Max < 0.03 || begun != 1 {
		t.Errorf("%+v, %v, begun after %d", h, err, begun)
	}
}

// One slow answer stands for all questions that were due while nobody could ask.
func TestWaited(t *testing.T) {
	testkit.EqualSlices(t, waited(nil, 3*time.Millisecond), []float64{0.003})
	testkit.EqualSlices(t, waited([]float64{1}, 12*time.Millisecond), []float64{1, 0.012, 0.007, 0.002})
}

func TestQuantile(t *testing.T) {
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(100-i))
	}
	for _, c := range []struct {
		of      []float64
		q, want float64
	}{{nil, 0.5, 0}, {[]float64{3}, 0.99, 3}, {[]float64{3, 1}, 0.5, 1}, {[]float64{2, 3, 1}, 0.5, 2},
		{hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1}} {
		if got := quantile(c.of, c.q); got != c.want {
			t.Errorf("%v of %d: %v; expected %v", c.q, len(c.of), got, c.want)
		}
	}
}

// A soak tells right bytes from wrong ones, and counts what was not promised.
func TestSoak(t *testing.T) {
	want := []Wanted{{Ask{Run: "r", N: 2, Seed: 7}, []byte("7")}}
	soak := func(f *faulty, length time.Duration) *Soak {
		t.Helper()
		return testkit.Must(f.begin(t).Soak(t.Context(), want, 8, length))
	}
	s := soak(&faulty{answer: func(w http.ResponseWriter, a Ask) {
		time.Sleep(time.Millisecond)
		fmt.Fprint(w, a.Seed)
	}}, time.Second)
	if s.Right == 0 || s.Wrong != 0 || s.Unpromised != 0 || s.Vanished == 0 || s.Slow == 0 ||
		s.Statuses["200"] < s.Right ||
		s.Statuses["400"] == 0 || s.Statuses["422"] == 0 || s.Statuses["413"]+s.Statuses["broken"] == 0 ||
		s.Fault != "" || s.Goroutines != [2]int{8, 8} || s.Heap != [2]uint64{1.5e6, 1.5e6} ||
		!(s.Seconds >= 1) || math.IsNaN(s.HealthP99) || s.HealthP99 <= 0 {
		t.Errorf("a good service: %+v", s)
	}
	const brief = 200 * time.Millisecond
	status := func(code int) func(http.ResponseWriter, Ask) {
		return func(w http.ResponseWriter, _ Ask) { w.WriteHeader(code) }
	}
	s = soak(&faulty{answer: func(w http.ResponseWriter, _ Ask) { fmt.Fprint(w, "8") }}, brief)
	if s.Wrong == 0 || s.Right != 0 {
		t.Errorf("wrong bytes: %+v", s)
	}
	if s = soak(&faulty{answer: status(500)}, brief); s.Unpromised == 0 || !strings.Contains(s.Fault, "status 500") {
		t.Errorf("a service at fault: %+v", s)
	}
	if s = soak(&faulty{answer: status(404)}, brief); s.Unpromised == 0 {
		t.Errorf("a run that is gone: %+v", s)
	}
	asked := 0
	if s = soak(&faulty{health: func(w http.ResponseWriter) {
		if asked++; asked > 2 {
			w.WriteHeader(500)
		}
	}}, brief); s.Unpromised == 0 {
		t.Errorf("a service that is not well: %+v", s)
	}
	ill := &faulty{health: func(w http.ResponseWriter) { w.WriteHeader(500) }}
	if _, err := ill.begin(t).Soak(t.Context(), want, 1, brief); err == nil {
		t.Error("a service that was not well before is soaked")
	}
	if s = soak(&faulty{answer: status(429)}, brief); s.Unpromised != 0 || s.Right != 0 {
		t.Errorf("a busy service: %+v", s)
	}
	if s = soak(&faulty{open: true}, brief); s.Unpromised == 0 || !strings.Contains(s.Fault, "status 200") {
		t.Errorf("a service that takes what cannot be: %+v", s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := NewTarget("none", "127.0.0.1:1", 1).Soak(ctx, want, 1, time.Millisecond); err == nil {
		t.Error("metrics that cannot be read are no error")
	}
}

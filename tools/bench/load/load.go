// Package load puts requests on a service of package serve, or on another that takes the same requests, and measures
// how long they take; and it checks that what a service answers is right, whatever callers do beside.
package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Target is a service: it answers /healthz, and samples that are asked for as package serve is.
type Target struct {
	Name    string // in rows
	Address string // host and port
	// Watch begins to ask for health, calls failed if an answer is none, and returns what ends it. nil: this process
	// asks, whose callers then delay the questions too.
	Watch  func(ctx context.Context, failed func(error)) (end func() Health, err error)
	client *http.Client
}

// NewTarget returns the service that listens there, for so many callers at a time.
func NewTarget(name, address string, callers int) *Target {
	return &Target{Name: name, Address: address,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers + 1, IdleConnTimeout: keep}}}
}

// keep is how long a connection waits for its next request: less than the 5 s after which the service closes one that
// has sent none, which else a request could meet.
const keep = 2 * time.Second

// An Ask is a request for samples of a run.
type Ask struct {
	Run       string      `json:"-"`
	N         int         `json:"n"`
	Seed      uint64      `json:"seed"`
	First     uint64      `json:"first"`
	Condition [][]float64 `json:"condition,omitempty"` // a row, of a run that has one
}

// Samples asks for samples as NPY.
func (t *Target) Samples(ctx context.Context, a Ask) (status int, body []byte, err error) {
	b, err := json.Marshal(a)
	if err != nil {
		return 0, nil, err
	}
	return t.post(ctx, samplesOf(a.Run), string(b))
}

func samplesOf(run string) string { return "/v1/runs/" + run + "/samples" }

func (t *Target) post(ctx context.Context, path, ask string) (status int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, "POST", "http://"+t.Address+path, strings.NewReader(ask))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/x-npy")
	return t.do(r)
}

func (t *Target) do(r *http.Request) (int, []byte, error) {
	var on httptrace.GotConnInfo
	w, err := t.client.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) { on = i }})))
	if err != nil {
		return 0, nil, fmt.Errorf("%w, on a connection that was used before: %v, and idle for %v", err, on.Reused,
			on.IdleTime)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	return w.StatusCode, b, err
}

// get asks for a path. An answer that is not 200 is an error.
func (t *Target) get(ctx context.Context, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+t.Address+path, nil)
	if err != nil {
		return nil, err
	}
	status, body, err := t.do(r)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d: %.200s", path, status, body)
	}
	return body, err
}

// Ready asks whether the service is ready.
func (t *Target) Ready(ctx context.Context) error {
	_, err := t.get(ctx, "/readyz")
	return err
}

// A Row is what some callers saw who each asked again as soon as they had an answer.
type Row struct {
	Service   string  `json:"service"`
	Run       string  `json:"run"`
	Samples   int     `json:"samples"` // of a request
	Clients   int     `json:"clients"`
	Requests  int     `json:"requests"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50"`        // seconds
	P99       float64 `json:"p99"`        // likewise
	HealthP99 float64 `json:"health_p99"` // of /healthz meanwhile, as Health has it
	HealthMax float64 `json:"health_max"`
}

// Measure has callers ask for so many seconds, and until each has one answer; before, one asks once, so that no row
// pays for what is made at the first request. An answer that is none is an error, of /healthz too.
func (t *Target) Measure(ctx context.Context, ask Ask, clients int, seconds float64) (Row, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	one := func(number int) {
		a := ask
		a.First = uint64(number) * uint64(ask.N)
		status, body, err := t.Samples(ctx, a)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d: %.200s", status, body)
		}
		if err != nil {
			cancel(fmt.Errorf("%s at %s: %w", ask.Run, t.Name, err)) // the first counts
		}
	}
	one(0)
	end, err := t.watch(ctx, func(err error) { cancel(fmt.Errorf("%s under load: %w", t.Name, err)) })
	if err != nil {
		cancel(err)
		return Row{}, context.Cause(ctx)
	}
	var mu sync.Mutex
	var took []float64
	begin := time.Now()
	until := begin.Add(time.Duration(seconds * float64(time.Second)))
	var callers sync.WaitGroup
	for c := range clients {
		callers.Go(func() {
			for i := 1; ctx.Err() == nil && (i == 1 || time.Now().Before(until)); i++ {
				start := time.Now()
				one(c*1_000_000 + i)
				passed := time.Since(start).Seconds()
				mu.Lock()
				took = append(took, passed)
				mu.Unlock()
			}
		})
	}
	callers.Wait()
	elapsed := time.Since(begin).Seconds()
	health := end()
	return Row{Service: t.Name, Run: ask.Run, Samples: ask.N, Clients: clients, Requests: len(took),
		PerSecond: float64(len(took)) / elapsed, P50: quantile(took, 0.5), P99: quantile(took, 0.99),
		HealthP99: health.P99, HealthMax: health.Max}, context.Cause(ctx)
}

// A Health is how long /healthz took, in seconds, asked each 5 ms, where a slow answer counts for all that were due
// meanwhile.
type Health struct {
	Asked int     `json:"asked"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// healthEvery is how often health is asked.
const healthEvery = 5 * time.Millisecond

// Health asks for health until done is closed, after the first answer, which opens the connection, calls begun. The
// error is that of an answer that is none.
func (t *Target) Health(ctx context.Context, done <-chan struct{}, begun func()) (Health, error) {
	var took []float64
	asked := 0
	sum := func() Health { return Health{asked, quantile(took, 0.99), quantile(took, 1)} }
	if _, err := t.get(ctx, "/healthz"); err != nil {
		return sum(), err
	}
	begun()
	for {
		start := time.Now()
		if _, err := t.get(ctx, "/healthz"); err != nil {
			return sum(), err
		}
		asked++
		took = waited(took, time.Since(start))
		select {
		case <-done:
			return sum(), nil
		case <-ctx.Done():
			return sum(), ctx.Err()
		case <-time.After(healthEvery):
		}
	}
}

// watch is Watch, or the same by this process.
func (t *Target) watch(ctx context.Context, failed func(error)) (end func() Health, err error) {
	if t.Watch != nil {
		return t.Watch(ctx, failed)
	}
	done, begun, ended := make(chan struct{}), make(chan struct{}), make(chan Health, 1)
	var first error
	go func() {
		h, err := t.Health(ctx, done, func() { close(begun) })
		if err != nil {
			first = err
			failed(err)
		}
		ended <- h
	}()
	select {
	case <-begun:
	case <-ended:
		return nil, first
	}
	return func() Health {
		close(done)
		return <-ended
	}, nil
}

// waited adds what a question for health took, and what those would have waited that were due meanwhile and were not
// asked because this one was not yet answered.
func waited(health []float64, took time.Duration) []float64 {
	for ; took > 0; took -= healthEvery {
		health = append(health, took.Seconds())
	}
	return health
}

// quantile returns the smallest value that a share q of all do not exceed; 0 of none.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[max(0, int(math.Ceil(q*float64(len(s))))-1)]
}

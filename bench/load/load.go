// Package load puts requests on a service of package serve, measures how long they take, and checks that what comes
// back is right, whatever callers do beside.
package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Target is a service.
type Target struct {
	Address string // host and port
	client  *http.Client
}

// NewTarget returns the service that listens there, for so many callers at a time.
func NewTarget(address string, callers int) *Target {
	return &Target{address, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers + 1}}}
}

// Samples asks for n samples of a run as NPY, from the one numbered first on of seed 1.
func (t *Target) Samples(ctx context.Context, run string, n int, first uint64) (status int, body []byte, err error) {
	ask := fmt.Sprintf(`{"n":%d,"seed":1,"first":%d}`, n, first)
	return t.post(ctx, "/v1/runs/"+run+"/samples", ask)
}

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
	w, err := t.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	return w.StatusCode, b, err
}

func (t *Target) health(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+t.Address+"/healthz", nil)
	if err != nil {
		return err
	}
	status, _, err := t.do(r)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("/healthz answers %d", status)
	}
	return err
}

// A Row is what some callers saw who each asked again as soon as they had an answer.
type Row struct {
	Run       string  `json:"run"`
	Samples   int     `json:"samples"` // of a request
	Clients   int     `json:"clients"`
	Requests  int     `json:"requests"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50"`        // seconds
	P99       float64 `json:"p99"`        // likewise
	HealthP99 float64 `json:"health_p99"` // of /healthz meanwhile, asked each 5 ms
	HealthMax float64 `json:"health_max"`
}

// Measure has callers ask for so many seconds, and until each has one answer. An answer that is none is an error.
func (t *Target) Measure(ctx context.Context, run string, n, clients int, seconds float64) (Row, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var took, health []float64
	var failed error
	begin := time.Now()
	end := begin.Add(time.Duration(seconds * float64(time.Second)))
	var callers, watcher sync.WaitGroup
	for c := range clients {
		callers.Go(func() {
			for i := 0; i == 0 || time.Now().Before(end); i++ {
				start := time.Now()
				status, body, err := t.Samples(ctx, run, n, uint64((c*1_000_000+i)*n))
				if err == nil && status != http.StatusOK {
					err = fmt.Errorf("status %d: %.200s", status, body)
				}
				mu.Lock()
				took = append(took, time.Since(start).Seconds())
				if failed == nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					cancel()
					return
				}
			}
		})
	}
	done := make(chan struct{})
	watcher.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			start := time.Now()
			if err := t.health(ctx); err == nil {
				health = append(health, time.Since(start).Seconds())
			}
		}
	})
	callers.Wait()
	elapsed := time.Since(begin).Seconds()
	close(done)
	watcher.Wait()
	r := Row{Run: run, Samples: n, Clients: clients, Requests: len(took), PerSecond: float64(len(took)) / elapsed,
		P50: quantile(took, 0.5), P99: quantile(took, 0.99), HealthP99: quantile(health, 0.99),
		HealthMax: quantile(health, 1)}
	return r, failed
}

// quantile returns the smallest value that a share q of them does not exceed; 0 of none.
func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(v))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

// A Soak is what a service went through under callers of all sorts.
type Soak struct {
	Seconds  float64        `json:"seconds"`
	Right    int            `json:"right"`    // answers that had the bytes of the reference
	Wrong    int            `json:"wrong"`    // and that had others
	Vanished int            `json:"vanished"` // callers who left before their answer
	Slow     int            `json:"slow"`     // who took their answer a few bytes at a time, and left
	Statuses map[string]int `json:"statuses"`
	// answers of 500 and above but 503 and 504, and connections that broke
	Unpromised int       `json:"unpromised"`
	HealthP99  float64   `json:"health_p99"` // seconds
	Goroutines [2]int    `json:"goroutines"` // before and after
	Heap       [2]uint64 `json:"heap"`       // bytes in use, likewise
	Fault      string    `json:"fault,omitempty"`
}

// Wanted is a request and the bytes that it is to get.
type Wanted struct {
	Run  string
	N    int
	Seed uint64
	NPY  []byte
}

// Run puts callers of all sorts on the service until the time is over: those who ask and check what they get, who
// leave, who read slowly, who send bodies that are too large or that are none. Service and callers are in one
// process.
func (t *Target) Run(ctx context.Context, wanted []Wanted, callers int, length time.Duration) *Soak {
	out := &Soak{Statuses: map[string]int{}}
	out.Goroutines[0], out.Heap[0] = settle(t)
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var mu sync.Mutex
	var health []float64
	count := func(status int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil { // the end of the time, not of a connection
			return
		}
		if out.Statuses[strconv.Itoa(status)]++; err != nil || status >= 500 && status != 503 && status != 504 {
			if out.Unpromised++; out.Fault == "" {
				out.Fault = fmt.Sprintf("status %d, %v", status, err)
			}
		}
	}
	var group sync.WaitGroup
	for c := range callers {
		random := rand.New(rand.NewPCG(1, uint64(c)))
		group.Go(func() {
			for ctx.Err() == nil {
				w := wanted[random.IntN(len(wanted))]
				path := "/v1/runs/" + w.Run + "/samples"
				switch random.IntN(10) {
				case 0: // leaves
					brief, leave := context.WithTimeout(ctx, time.Duration(random.IntN(50))*time.Millisecond)
					_, _, _ = t.post(brief, path, `{"n":2000}`)
					leave()
					mu.Lock()
					out.Vanished++
					mu.Unlock()
				case 1:
					t.slowly(ctx, path, random)
					mu.Lock()
					out.Slow++
					mu.Unlock()
				case 2: // a body that is too large is refused while it is sent: the connection may break
					status, _, err := t.post(ctx, path, `{"n":1`+strings.Repeat(" ", 9<<20)+"}")
					if err != nil {
						status, err = http.StatusRequestEntityTooLarge, nil
					}
					count(status, err)
				case 3:
					status, _, err := t.post(ctx, path, "\x00\xff{]")
					count(status, err)
				case 4:
					status, _, err := t.post(ctx, path, `{"n":1000000000000}`)
					count(status, err)
				default:
					ask := fmt.Sprintf(`{"n":%d,"seed":%d}`, w.N, w.Seed)
					status, body, err := t.post(ctx, path, ask)
					count(status, err)
					mu.Lock()
					if status == http.StatusOK && err == nil {
						if bytes.Equal(body, w.NPY) {
							out.Right++
						} else {
							out.Wrong++
						}
					}
					mu.Unlock()
					if status == http.StatusTooManyRequests {
						time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
					}
				}
			}
		})
	}
	group.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
			start := time.Now()
			if err := t.health(ctx); err == nil {
				health = append(health, time.Since(start).Seconds())
			} else if !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
				count(0, err)
			}
		}
	})
	group.Wait()
	out.Seconds, out.HealthP99 = time.Since(begin).Seconds(), quantile(health, 0.99)
	out.Goroutines[1], out.Heap[1] = settle(t)
	return out
}

// slowly asks for much, takes a few bytes of it and leaves.
func (t *Target) slowly(ctx context.Context, path string, random *rand.Rand) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.Address)
	if err != nil {
		return
	}
	defer c.Close()
	const ask = `{"n":20000,"chunk":1000}`
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", path, len(ask), ask)
	c.SetDeadline(time.Now().Add(2 * time.Second)) // which a busy service may take to begin
	for range random.IntN(20) {
		if _, err := c.Read(make([]byte, 100)); err != nil || ctx.Err() != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// settle waits until nothing is at work and returns how many goroutines there are and how much memory is in use.
func settle(t *Target) (goroutines int, heap uint64) {
	t.client.CloseIdleConnections()
	var m runtime.MemStats
	for last := -1; ; last = goroutines {
		time.Sleep(500 * time.Millisecond)
		runtime.GC()
		if goroutines = runtime.NumGoroutine(); goroutines == last {
			runtime.ReadMemStats(&m)
			return goroutines, m.HeapAlloc
		}
	}
}

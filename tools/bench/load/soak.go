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
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Soak is what a service went through under callers of all sorts.
type Soak struct {
	Seconds  float64        `json:"seconds"`
	Right    int            `json:"right"`    // answers that had the bytes of the reference
	Wrong    int            `json:"wrong"`    // and that had others
	Vanished int            `json:"vanished"` // callers who left before their answer
	Slow     int            `json:"slow"`     // who took their answer a few bytes at a time, and left
	Statuses map[string]int `json:"statuses"` // "broken": the connection was closed on a body that was too large
	// answers of another status than those of the request, and connections that broke
	Unpromised int       `json:"unpromised"`
	HealthP99  float64   `json:"health_p99"` // seconds
	Goroutines [2]int    `json:"goroutines"` // of the service, before and after
	Heap       [2]uint64 `json:"heap"`       // bytes that it has in use, likewise
	Fault      string    `json:"fault,omitempty"`
}

// Wanted is a request and the bytes that it is to get.
type Wanted struct {
	Ask
	NPY []byte
}

// busy are what a service may answer to any request for samples.
var busy = []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// soaking is a Soak that is under way.
type soaking struct {
	*Target
	ctx    context.Context // ends with the time
	wanted []Wanted
	mu     sync.Mutex
	*Soak
}

// Soak puts callers of all sorts on a service of package serve until the time is over: those who ask and check what
// they get, who leave, who read slowly, who send bodies that are too large or that are none. The error is that of
// /metrics before or after.
func (t *Target) Soak(ctx context.Context, wanted []Wanted, callers int, length time.Duration) (*Soak, error) {
	out := &Soak{Statuses: map[string]int{}}
	var err error
	if out.Goroutines[0], out.Heap[0], err = t.settle(ctx); err != nil {
		return nil, err
	}
	begin := time.Now()
	brief, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	s := &soaking{Target: t, ctx: brief, wanted: wanted, Soak: out}
	end, err := t.watch(ctx, func(err error) { s.count(0, err) })
	if err != nil {
		return nil, err
	}
	var group sync.WaitGroup
	for c := range callers {
		random := rand.New(rand.NewPCG(1, uint64(c)))
		group.Go(func() {
			for brief.Err() == nil {
				s.call(random)
			}
		})
	}
	group.Wait()
	out.Seconds, out.HealthP99 = time.Since(begin).Seconds(), end().P99
	out.Goroutines[1], out.Heap[1], err = t.settle(ctx)
	return out, err
}

// over reports whether the time is. Connections may know before the context.
func (s *soaking) over() bool {
	end, _ := s.ctx.Deadline()
	return s.ctx.Err() != nil || !time.Now().Before(end)
}

// count notes an answer. It was promised if its status is one of these.
func (s *soaking) count(status int, err error, promised ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over() { // the end of the time, not of a connection
		return
	}
	if err == nil {
		s.Statuses[strconv.Itoa(status)]++
	}
	if err != nil || !slices.Contains(promised, status) {
		if s.Unpromised++; s.Fault == "" {
			s.Fault = fmt.Sprintf("status %d (%v); expected one of %v", status, err, promised)
		}
	}
}

// note counts what is no answer.
func (s *soaking) note(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

// call is one call of a caller of some sort.
func (s *soaking) call(random *rand.Rand) {
	w := s.wanted[random.IntN(len(s.wanted))]
	path := samplesOf(w.Run)
	switch random.IntN(10) {
	case 0: // leaves
		brief, leave := context.WithTimeout(s.ctx, time.Duration(random.IntN(50))*time.Millisecond)
		defer leave()
		if status, _, err := s.post(brief, path, `{"n":2000}`); err == nil {
			s.count(status, nil, append(busy, http.StatusOK)...)
		}
		s.note(&s.Vanished)
	case 1:
		s.slowly(path, random)
	case 2: // refused while it is sent: the connection may break
		status, _, err := s.post(s.ctx, path, `{"n":1`+strings.Repeat(" ", 9<<20)+"}")
		if err == nil {
			s.count(status, nil, http.StatusRequestEntityTooLarge)
		} else if !s.over() {
			s.mu.Lock()
			s.Statuses["broken"]++
			s.mu.Unlock()
		}
	case 3:
		status, _, err := s.post(s.ctx, path, "\x00\xff{]")
		s.count(status, err, http.StatusBadRequest)
	case 4:
		status, _, err := s.post(s.ctx, path, `{"n":1000000000000}`)
		s.count(status, err, http.StatusUnprocessableEntity)
	default:
		status, body, err := s.Samples(s.ctx, w.Ask)
		s.count(status, err, append(busy, http.StatusOK)...)
		switch {
		case err != nil:
		case status == http.StatusOK && bytes.Equal(body, w.NPY):
			s.note(&s.Right)
		case status == http.StatusOK:
			s.note(&s.Wrong)
		case status == http.StatusTooManyRequests:
			time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		}
	}
}

// slowly asks for much, takes a few bytes of it and leaves.
func (s *soaking) slowly(path string, random *rand.Rand) {
	c, err := (&net.Dialer{}).DialContext(s.ctx, "tcp", s.Address)
	if err != nil {
		s.count(0, err)
		return
	}
	defer c.Close()
	defer s.note(&s.Slow)
	const ask = `{"n":20000}`
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\n\r\n%s", path, len(ask), ask)
	until := time.Now().Add(2 * time.Second) // which a busy service may take to begin
	if end, _ := s.ctx.Deadline(); end.Before(until) {
		until = end
	}
	c.SetDeadline(until)
	first := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(c, first); err != nil {
		if e := (net.Error)(nil); !errors.As(err, &e) || !e.Timeout() {
			s.count(0, err)
		}
		return
	}
	status, _ := strconv.Atoi(string(first[len("HTTP/1.1 "):])) // 0 is not promised
	s.count(status, nil, append(busy, http.StatusOK)...)
	for range random.IntN(20) {
		if _, err := c.Read(make([]byte, 100)); err != nil || s.ctx.Err() != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// settle waits until nothing is at work in the service, and returns how many goroutines it has and how much memory
// was in use when its collector last ended, which is after this began.
func (t *Target) settle(ctx context.Context) (goroutines int, heap uint64, err error) {
	t.client.CloseIdleConnections()
	begun, last := -1.0, -1.0
	for {
		body, err := t.get(ctx, "/metrics")
		if err != nil {
			return 0, 0, err
		}
		var now [3]float64
		for i, name := range []string{"go_goroutines", "go_gc_cycles_total_gc_cycles_total", "go_gc_heap_live_bytes"} {
			if now[i], err = metric(body, name); err != nil {
				return 0, 0, err
			}
		}
		if begun < 0 {
			begun = now[1]
		}
		// Of a cycle that has begun before, the next is the first that sees it all. Questions make work for it.
		if now[0] == last && now[1] >= begun+2 {
			return int(now[0]), uint64(now[2]), nil
		}
		if last = now[0]; now[1] >= begun+2 {
			time.Sleep(500 * time.Millisecond)
		}
	}
}

// metric returns the value of a metric without labels.
func metric(text []byte, name string) (float64, error) {
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			return strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		}
	}
	return 0, fmt.Errorf("/metrics has no %s", name)
}

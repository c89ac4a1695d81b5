package serve

import (
	"sync"
	"time"
)

// rates bounds how many requests each caller makes: so many a second, and as many at once after a pause.
type rates struct {
	each float64 // a second; 0: no bound
	mu   sync.Mutex
	used map[string]bucket

	swept time.Time // when callers were forgotten last
}

// A bucket is what a caller has used of its burst, at a time.
type bucket struct {
	used float64
	at   time.Time
}

// mostCallers bounds the callers that are remembered: beyond it those that have used up nothing are forgotten, now
// and then, and if there is no room a new one shares a bucket with all such.
const (
	mostCallers = 10_000
	sweepEvery  = time.Second
)

// burst is how many requests a caller may make at once.
func (r *rates) burst() float64 { return max(1, r.each) }

// take counts a request, or says how long its caller has to wait.
func (r *rates) take(caller string, now time.Time) (wait time.Duration) {
	if r.each <= 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used == nil {
		r.used = map[string]bucket{}
	}
	b, known := r.used[caller]
	if !known && len(r.used) >= mostCallers {
		if now.Sub(r.swept) >= sweepEvery {
			r.swept = now
			for name, old := range r.used {
				if old.used <= now.Sub(old.at).Seconds()*r.each {
					delete(r.used, name)
				}
			}
		}
		if len(r.used) >= mostCallers {
			caller = ""
			b = r.used[caller]
		}
	}
	b.used = max(0, b.used-now.Sub(b.at).Seconds()*r.each)
	b.at = now
	if over := b.used + 1 - r.burst(); over > 1e-9 {
		r.used[caller] = b
		return time.Duration(over / r.each * float64(time.Second))
	}
	b.used++
	r.used[caller] = b
	return 0
}

package serve

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// rates bounds how many requests each caller makes: so many a second, and as many at once after a pause.
type rates struct {
	each   float64 // a second; 0: no bound
	mu     sync.Mutex
	caller map[string]*rate.Limiter
	swept  time.Time // when callers were forgotten last
}

// mostCallers bounds the callers that are remembered. Beyond it callers who have paused are forgotten, and where all
// are busy new ones share a limit.
const mostCallers = 10_000

// take counts a request, or says how long its caller has to wait.
func (r *rates) take(caller string, now time.Time) (wait time.Duration) {
	if r.each <= 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.caller[caller] == nil && len(r.caller) >= mostCallers {
		if now.Sub(r.swept) >= time.Second {
			r.swept = now
			maps.DeleteFunc(r.caller, func(_ string, l *rate.Limiter) bool {
				return l.TokensAt(now) >= float64(l.Burst())
			})
		}
		if len(r.caller) >= mostCallers {
			caller = ""
		}
	}
	l := r.caller[caller]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(r.each), int(max(1, r.each)))
		if r.caller == nil {
			r.caller = map[string]*rate.Limiter{}
		}
		r.caller[caller] = l
	}
	reserved := l.ReserveN(now, 1)
	if wait = reserved.DelayFrom(now); wait > 0 {
		reserved.CancelAt(now)
	}
	return wait
}

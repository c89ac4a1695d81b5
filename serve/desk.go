package serve

import (
	"context"
	"time"
)

// A desk has a few places, and whoever reads a request for samples or sends a short answer has one meanwhile. Requests
// that are drawn together end together: were all answered at once, a question for health would stand behind them in
// line for a thread, and the thread behind others for a processor.
//
// A place lasts so long and no longer: who reads slowly keeps nobody waiting.
type desk struct {
	places chan struct{}
	lasts  time.Duration
}

// deskLasts is many times what a short answer takes to send.
const deskLasts = 2 * time.Millisecond

func newDesk(workers int) desk { return desk{make(chan struct{}, max(1, workers/2)), deskLasts} }

// sit waits for a place, or until ctx ends, and returns what gives the place back.
func (d desk) sit(ctx context.Context) (rise func()) {
	select {
	case d.places <- struct{}{}:
	case <-ctx.Done(): // whoever has left does no more
		return func() {}
	}
	over := time.AfterFunc(d.lasts, func() { <-d.places })
	return func() {
		if over.Stop() {
			<-d.places
		}
	}
}

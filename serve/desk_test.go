package serve

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// As many sit at a desk as it has places, and each place is given back once.
func TestDesk(t *testing.T) {
	d := desk{make(chan struct{}, 2), time.Hour}
	var at, most atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			rise := d.sit(t.Context())
			defer rise()
			n := at.Add(1)
			defer at.Add(-1)
			for {
				was := most.Load()
				if n <= was || most.CompareAndSwap(was, n) {
					break
				}
			}
			time.Sleep(time.Millisecond)
		})
	}
	all.Wait()
	if most.Load() != 2 || len(d.places) != 0 {
		t.Errorf("%d of 2 places were taken at a time, %d are at the end", most.Load(), len(d.places))
	}
	for workers, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 64: 32} {
		if got := cap(newDesk(workers).places); got != want {
			t.Errorf("%d workers: %d places; expected %d", workers, got, want)
		}
	}
}

// Who sits for long loses the place, and gives none back that another has by then; who has left waits for none.
func TestDeskOfSlow(t *testing.T) {
	d := desk{make(chan struct{}, 1), time.Millisecond}
	slow := d.sit(t.Context())
	d.lasts = time.Hour
	next := d.sit(t.Context()) // when the place of the first is over
	slow()
	if len(d.places) != 1 {
		t.Fatalf("%d places are taken; expected that of the second", len(d.places))
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	d.sit(gone)()
	if len(d.places) != 1 {
		t.Errorf("who has left gave back the place of another")
	}
	next()
	if len(d.places) != 0 {
		t.Errorf("%d places are taken at the end", len(d.places))
	}
}

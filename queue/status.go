package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/work"
)

// A Status is how far a job is.
type Status struct {
	*Job
	Done    int          `json:"done"`
	Failed  int          `json:"failed"`
	Running int          `json:"running"` // a worker that is there is at them
	Waiting int          `json:"waiting"` // nobody is
	Left    metric.Float `json:"seconds_left"`
	// seconds that a unit takes, the mean over those that are done
	Seconds  metric.Float `json:"seconds_a_unit"`
	Failures []Failure    `json:"failures"`
	Others   []Disagreed  `json:"other_bytes,omitempty"`
	Workers  []Present    `json:"workers"` // that are there and may do its units

	Missing []int `json:"-"` // numbers of the units that have not ended
}

// A Failure is a unit that was given up.
type Failure struct {
	Unit   string `json:"unit"`
	Reason string `json:"reason"`
	Tries  int    `json:"tries"`
}

// Disagreed is a unit that two workers did with other bytes.
type Disagreed struct {
	Unit   string `json:"unit"`
	First  string `json:"first"` // whose bytes stand
	Second string `json:"second"`
}

// Over reports whether each unit has ended.
func (s *Status) Over() bool { return s.Done+s.Failed == s.Units }

// Status returns how far a job is. Errors are those of List.
func (q *Queue) Status(ctx context.Context, j *Job) (*Status, error) {
	list, err := q.List(ctx, j)
	if err != nil {
		return nil, err
	}
	s := begin(j)
	var sum float64
	if err := q.look(ctx, s, list, s.Missing, &sum); err != nil {
		return nil, err
	}
	return s, q.who(ctx, s, list)
}

// begin is a status of which nothing is known yet.
func begin(j *Job) *Status {
	s := &Status{Job: j, Failures: []Failure{}}
	for i := range j.Units {
		s.Missing = append(s.Missing, i)
	}
	return s
}

// look adds those of some missing units to a status that have ended. sum gathers the seconds of those done.
func (q *Queue) look(ctx context.Context, s *Status, list []Listed, at []int, sum *float64) error {
	records := make([]*Record, len(at))
	err := each(ctx, len(at), func(ctx context.Context, i int) (err error) {
		records[i], err = q.endedAs(ctx, list[at[i]].ID)
		return err
	})
	if err != nil {
		return err
	}
	ended := map[int]bool{}
	for k, r := range records {
		name := list[at[k]].Unit.Name
		switch {
		case r == nil:
			continue
		case r.State == work.Failed:
			s.Failed++
			s.Failures = append(s.Failures, Failure{name, r.Reason, r.Tries})
		default:
			s.Done++
			*sum += r.Seconds
		}
		ended[at[k]] = true
		if r.Other != nil && r.By != nil {
			s.Others = append(s.Others, Disagreed{name, fmt.Sprintf("process %d on %s, kernels %s", r.By.PID, r.By.Host,
				r.Bits), fmt.Sprintf("process %d on %s, kernels %s", r.Other.PID, r.Other.Host, r.Other.Bits)})
		}
	}
	s.Missing = slices.DeleteFunc(slices.Clone(s.Missing), func(i int) bool { return ended[i] })
	slices.SortFunc(s.Failures, func(a, b Failure) int { return strings.Compare(a.Unit, b.Unit) })
	s.Seconds = metric.NaN
	if s.Done > 0 {
		s.Seconds = metric.Float(*sum / float64(s.Done))
	}
	return nil
}

// who adds the workers to a status, and what follows from them.
func (q *Queue) who(ctx context.Context, s *Status, list []Listed) error {
	there, err := q.Workers(ctx)
	if err != nil {
		return err
	}
	missing := map[string]bool{}
	for _, i := range s.Missing {
		missing[list[i].ID] = true
	}
	s.Workers, s.Running = []Present{}, 0
	for _, w := range there {
		if w.Build != s.Build || s.Bits != "" && s.Bits != w.Bits {
			continue
		}
		s.Workers = append(s.Workers, w)
		if missing[w.ID] {
			delete(missing, w.ID) // two may be at it
			s.Running++
		}
	}
	s.Waiting = len(s.Missing) - s.Running
	s.Left = metric.NaN
	switch n := len(s.Workers); {
	case len(s.Missing) == 0:
		s.Left = 0
	case n > 0:
		s.Left = s.Seconds * metric.Float(len(s.Missing)) / metric.Float(min(n, len(s.Missing)))
	}
	return nil
}

// How often Wait looks, and puts back what was lost.
const (
	lookPause  = 500 * time.Millisecond
	mendPause  = 20 * time.Second
	lookEffort = 10 // looking, and putting back, may each take one part in so many of the time,
	mostPause  = 10 // but are not put off for longer than so many pauses: a slow look tells nothing of the next
	fewUnits   = 64 // so many are asked for one by one
)

// rest returns how long to wait after what took so long.
func rest(least, took time.Duration) time.Duration {
	return min(max(least, lookEffort*took), mostPause*least)
}

// Wait waits until each unit of a job has ended, and puts units back that the server lost, as it may in a power cut.
// tick, if not nil, hears how far it is. Errors are those of Status.
func (q *Queue) Wait(ctx context.Context, j *Job, tick func(*Status)) (*Status, error) {
	list, err := q.List(ctx, j)
	if err != nil {
		return nil, err
	}
	s := begin(j)
	var sum float64
	mended, mendAfter, whole := time.Now(), mendPause, true
	for {
		start := time.Now()
		at := s.Missing
		if !whole { // a unit that has ended is held for a moment, or if its worker was lost then, until another comes
			if at, err = q.gone(ctx, class{j.Build, j.Bits}, list, s.Missing); err != nil {
				return nil, err
			}
		}
		if err := q.look(ctx, s, list, at, &sum); err != nil {
			return nil, err
		}
		if err := q.who(ctx, s, list); err != nil {
			return nil, err
		}
		if tick != nil {
			tick(s)
		}
		if s.Over() {
			return s, nil
		}
		if whole = time.Since(mended) > mendAfter; whole {
			begun := time.Now()
			if err := q.mend(ctx, j, list, s.Missing); err != nil {
				return nil, err
			}
			mended = time.Now()
			mendAfter = rest(mendPause, mended.Sub(begun))
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(rest(lookPause, time.Since(start))):
		}
	}
}

// gone returns those of some units that the server does not hold, which have ended or are lost; all of them where it
// holds so many of other submissions that asking for each is less.
func (q *Queue) gone(ctx context.Context, of class, list []Listed, at []int) ([]int, error) {
	if len(at) <= fewUnits {
		return at, nil
	}
	var held map[string]uint64
	err := q.retryFor(ctx, partTime, func(ctx context.Context) error {
		info, err := q.units.Info(ctx)
		if err != nil || info.State.Msgs > uint64(2*len(at)) {
			held = nil
			return err
		}
		if info, err = q.units.Info(ctx, jetstream.WithSubjectFilter(of.subject("*"))); err == nil {
			held = info.State.Subjects
		}
		return err
	})
	if err != nil || held == nil && len(at) > 0 {
		return at, err
	}
	var out []int
	for _, i := range at {
		if held[of.subject(list[i].ID)] == 0 {
			out = append(out, i)
		}
	}
	return out, nil
}

// mend hands units over again that have not ended and that nobody will be given: the server does not hold them any
// more, or holds them and takes them for done.
func (q *Queue) mend(ctx context.Context, j *Job, list []Listed, missing []int) error {
	of := class{j.Build, j.Bits}
	c, err := q.consumerOf(ctx, of)
	if err != nil {
		return err
	}
	var idle bool
	err = q.retry(ctx, func(ctx context.Context) error {
		info, err := c.Info(ctx)
		if err == nil {
			idle = info.NumPending == 0 && info.NumAckPending == 0
		}
		return err
	})
	if err != nil {
		return err
	}
	if !idle { // what is held is under way
		if missing, err = q.gone(ctx, of, list, missing); err != nil {
			return err
		}
	}
	return each(ctx, len(missing), func(ctx context.Context, i int) error {
		l := list[missing[i]]
		held, err := q.held(ctx, of, l.ID)
		if err != nil || held && !idle {
			return err
		}
		if held {
			if r, err := q.endedAs(ctx, l.ID); r != nil || err != nil {
				return err
			}
			err := q.retry(ctx, func(ctx context.Context) error {
				return q.units.Purge(ctx, jetstream.WithPurgeSubject(of.subject(l.ID)))
			})
			if err != nil {
				return err
			}
		}
		data, err := (&message{l.ID, l.Unit, j.Build, j.Bits, j.Folder, j.Tries, j.Patience}).encode()
		if err != nil {
			return err
		}
		return q.publish(ctx, of, l.ID, data)
	})
}

// Collect calls f with the record of each unit of a job, in order. f fetches files by GetFile from the store that it
// is given. Errors are an *UnendedError, those of List, and f's.
func (q *Queue) Collect(ctx context.Context, j *Job,
	f func(i int, u *work.Unit, r *Record, from Files) error) error {
	list, err := q.List(ctx, j)
	if err != nil {
		return err
	}
	from, err := q.store(j.Folder)
	if err != nil {
		return err
	}
	for i, l := range list {
		r, err := q.endedAs(ctx, l.ID)
		if err != nil {
			return err
		}
		if r == nil {
			return &UnendedError{j.ID, l.Unit.Name}
		}
		if err := f(i, l.Unit, r, from); err != nil {
			return err
		}
	}
	return nil
}

// Forget drops a job: its units that wait, their records, and the files that no other job has. Workers that are at
// one of its units finish it. Errors are those of List.
func (q *Queue) Forget(ctx context.Context, j *Job) error {
	list, err := q.List(ctx, j)
	if err != nil && !errors.As(err, new(*MissingError)) && !errors.As(err, new(*DamagedError)) {
		return err
	}
	jobs, err := q.Jobs(ctx)
	if err != nil {
		return err
	}
	ids, sums := map[string]bool{}, map[string]bool{} // of others: units, and files
	for _, other := range jobs {
		if other.ID == j.ID {
			continue
		}
		l, err := q.List(ctx, other)
		if err != nil {
			return err
		}
		for _, sum := range append(slices.Clone(other.Inputs), other.List) {
			sums[sum] = true
		}
		var mu sync.Mutex // other units may have made files of the same bytes
		err = each(ctx, len(l), func(ctx context.Context, i int) error {
			r, err := q.endedAs(ctx, l[i].ID)
			mu.Lock()
			defer mu.Unlock()
			ids[l[i].ID] = true
			if r != nil {
				for _, f := range r.Files {
					sums[f.SHA256] = true
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	from, err := q.store(j.Folder)
	if err != nil {
		return err
	}
	droppable := from.(interface {
		drop(ctx context.Context, sum string) error
	})
	of := class{j.Build, j.Bits}
	err = each(ctx, len(list), func(ctx context.Context, i int) error {
		id := list[i].ID
		if ids[id] {
			return nil
		}
		err := q.retry(ctx, func(ctx context.Context) error {
			return q.units.Purge(ctx, jetstream.WithPurgeSubject(of.subject(id)))
		})
		if err != nil {
			return err
		}
		r, err := q.endedAs(ctx, id)
		if err != nil && !errors.As(err, new(*EntryError)) {
			return err
		}
		if r != nil {
			for _, f := range r.Files {
				if !validSum(f.SHA256) || sums[f.SHA256] {
					continue
				}
				if err := droppable.drop(ctx, f.SHA256); err != nil {
					return err
				}
			}
		}
		return q.revive(ctx, id)
	})
	if err != nil {
		return err
	}
	for _, sum := range j.Inputs {
		if !sums[sum] {
			if err := droppable.drop(ctx, sum); err != nil {
				return err
			}
		}
	}
	if !sums[j.List] {
		if err := (objects{q}).drop(ctx, j.List); err != nil {
			return err
		}
	}
	return q.retry(ctx, func(ctx context.Context) error { return q.jobs.Purge(ctx, j.ID) })
}

// An UnendedError says that a job cannot be collected yet.
type UnendedError struct{ Job, Unit string }

func (e *UnendedError) Error() string {
	return fmt.Sprintf("unit %s of %s has not ended; landing status tells how far it is", e.Unit, e.Job)
}

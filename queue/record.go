package queue

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/landing-diffusion/landing/work"
)

// A Record says how a unit ended. The first that is written stands.
type Record struct {
	ID      string          `json:"id"`
	State   work.State      `json:"state"` // work.Done or work.Failed
	Files   []File          `json:"files,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"` // of who did it
	Seconds float64         `json:"seconds,omitempty"`
	Bits    string          `json:"bits,omitempty"`   // that made it
	Reason  string          `json:"reason,omitempty"` // of work.Failed
	Tries   int             `json:"tries"`
	By      *work.Holder    `json:"by,omitempty"`
	Other   *Holder         `json:"other,omitempty"` // who did it again and got other bytes
}

// A Holder is who got other bytes of a unit, and on what.
type Holder struct {
	work.Holder
	Bits string `json:"bits"`
}

// same reports whether two records are of the same bytes.
func (r *Record) same(s *Record) bool {
	if r.State != s.State || len(r.Files) != len(s.Files) {
		return false
	}
	for i := range r.Files {
		if r.Files[i] != s.Files[i] {
			return false
		}
	}
	return true
}

// endedAs returns the record of a unit; nil if it has not ended.
func (q *Queue) endedAs(ctx context.Context, id string) (*Record, error) {
	var r Record
	err := q.read(ctx, q.ended, id, &r)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// end writes the record of a unit, if there is none, and returns the one that stands.
func (q *Queue) end(ctx context.Context, r *Record) (*Record, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(data) > maxMessage {
		return nil, &SizeError{"what is told of a unit", int64(len(data)), maxMessage}
	}
	err = q.retry(ctx, func(ctx context.Context) error {
		_, err := q.ended.Create(ctx, r.ID, data)
		return err
	})
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return r, err
	}
	stands, err := q.endedAs(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if stands == nil { // it was revived or forgotten in between
		return nil, errors.New("the record of unit " + r.ID + " came and went")
	}
	return stands, nil
}

// differs notes on a record that stands that somebody else got other bytes.
func (q *Queue) differs(ctx context.Context, stands *Record, by Holder) error {
	told := *stands
	told.Other = &by
	data, err := json.Marshal(told)
	if err != nil {
		return err
	}
	return q.retry(ctx, func(ctx context.Context) error {
		_, err := q.ended.Put(ctx, stands.ID, data)
		return err
	})
}

// tried is how often a unit was begun.
type tried struct {
	Tries   int          `json:"tries"`
	Full    int          `json:"full,omitempty"`    // those besides that a worker's disk ended
	By      *work.Holder `json:"by,omitempty"`      // who is at it; nil: the last one told how its try ended
	Reasons []string     `json:"reasons,omitempty"` // of tries that failed
}

const silent = "ended without a word: killed, out of memory or cut off"

func (q *Queue) triedBefore(ctx context.Context, id string) (tried, error) {
	var t tried
	err := q.read(ctx, q.tries, id, &t)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		err = nil
	}
	return t, err
}

func (q *Queue) setTried(ctx context.Context, id string, t tried) error {
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return q.retry(ctx, func(ctx context.Context) error {
		_, err := q.tries.Put(ctx, id, data)
		return err
	})
}

// revive makes a unit that was given up one that was never tried.
func (q *Queue) revive(ctx context.Context, id string) error {
	for _, kv := range []jetstream.KeyValue{q.tries, q.ended} {
		err := q.retry(ctx, func(ctx context.Context) error { return kv.Purge(ctx, id) })
		if err != nil {
			return err
		}
	}
	return nil
}

// A Present is a worker that is there.
type Present struct {
	Name    string    `json:"name"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Build   string    `json:"build"`
	Bits    string    `json:"bits"`
	Unit    string    `json:"unit,omitempty"` // the name of the one it does
	ID      string    `json:"id,omitempty"`
	Seconds float64   `json:"seconds,omitempty"`     // that it has been at it
	Idle    float64   `json:"no_progress,omitempty"` // seconds since the unit got on
	Done    int       `json:"done"`
	Seen    time.Time `json:"seen"` // by the server's clock
}

// A worker is gone if it has said nothing for so long.
const (
	workerSays = 5 * time.Second
	workerGone = 4 * workerSays
)

// Workers returns the workers that are there, all in one answer: there may be a thousand.
func (q *Queue) Workers(ctx context.Context) (out []Present, err error) {
	err = q.retry(ctx, func(ctx context.Context) error {
		out = []Present{}
		all, err := q.workers.WatchAll(ctx, jetstream.IgnoreDeletes())
		if err != nil {
			return err
		}
		defer all.Stop()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case e, ok := <-all.Updates():
				if !ok {
					return nats.ErrDisconnected
				}
				if e == nil { // that was all
					return nil
				}
				var p Present
				if json.Unmarshal(e.Value(), &p) == nil { // others are no workers
					p.Seen = e.Created()
					out = append(out, p)
				}
			}
		}
	})
	return out, err
}

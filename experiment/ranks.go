package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// Orders of rank 0 to those that follow, beside those of package train.
const (
	opEnd  = iota + train.Orders // there is no more to do
	opJob                        // a training begins: an assignment follows
	opDone                       // it is over
)

// An assignment describes a training. Rank 0 sends it to the other ranks, so that they can load the problem.
type assignment struct {
	Problem string            `json:"problem"` // resolved
	Files   map[string]string `json:"files"`   // absolute paths by key
	Exact   bool              `json:"exact"`
	Workers int               `json:"workers"` // number of workers of each rank
	Own     fingerprint       `json:"said"`
}

// A fingerprint is what must be the same on all ranks.
type fingerprint struct {
	Version    string `json:"version"`
	Kernel     string `json:"kernel"`
	Products   string `json:"products"`
	Data       string `json:"data_sha256"`
	Parameters int    `json:"parameters"`
	Constants  string `json:"constants"` // of the network: SHA-256
	Host       string `json:"host"`
	Fault      string `json:"fault,omitempty"` // why this rank cannot take part
}

// fingerprintOf describes this rank for a training of m.
func fingerprintOf(l *Loaded, m score.Model[float32]) fingerprint {
	machine := run.ThisMachine()
	host, _ := os.Hostname()
	s := fingerprint{Version: run.Version(), Kernel: machine.Kernel + " on " + machine.Arch,
		Products: machine.Products[l.Problem.Train.Precision], Data: l.Data.SHA256, Parameters: len(m.Parameters()),
		Host: host}
	if c, ok := m.(score.Constant[float32]); ok {
		var all []byte
		for _, a := range c.Constants() {
			all = append(append(all, a.Name...), ranks.View(a.Array.AsFloat64())...)
		}
		s.Constants = run.Hash(all)
	}
	return s
}

// differs says what differs in another rank's fingerprint; empty if nothing does.
func (m fingerprint) differs(o fingerprint) string {
	if o.Fault != "" {
		return "cannot load what rank 0 trains: " + o.Fault + "; data and run folders must have the same paths on " +
			"all machines"
	}
	for _, c := range []struct{ what, here, there string }{
		{"is version", m.Version, o.Version}, {"has kernels", m.Kernel, o.Kernel},
		{"has products", m.Products, o.Products}, {"has data of SHA-256", m.Data, o.Data},
		{"has a network with parameters", fmt.Sprint(m.Parameters), fmt.Sprint(o.Parameters)},
		{"has constants of SHA-256", m.Constants, o.Constants},
	} {
		if c.here != c.there {
			return fmt.Sprintf("%s %.20s; expected %.20s, as on rank 0: other bits would come of it "+
				"(LANDING_KERNEL=avx2, say, gives all machines the same kernels)", c.what, c.there, c.here)
		}
	}
	return ""
}

// assign has the other ranks load what is trained, and divides the trainer's work among them. Whatever the
// error is, the ranks wait for the next order afterwards.
func (t *training) assign() error {
	g, p := t.run.Group, t.run.Problem
	j := assignment{Problem: string(p.Resolved()), Files: map[string]string{}, Exact: p.MPI.Exact,
		Workers: t.run.Workers, Own: fingerprintOf(t.run.Loaded, t.trainer.Average())}
	for key, path := range p.Files() {
		if path == "" {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		j.Files[key] = abs
	}
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	ranks.Tell(g, ranks.Order{Op: opJob})
	ranks.GiveBytes(g, 0, text)
	for rank := 1; rank < g.Size(); rank++ {
		var said fingerprint
		if e := json.Unmarshal(ranks.ReceiveBytes(g, rank), &said); e != nil {
			said.Fault = e.Error()
		}
		if what := j.Own.differs(said); what != "" && err == nil {
			err = fault.Errorf(fault.Config, "", "rank %d of the MPI job, on %s, %s", rank, said.Host, what)
		}
	}
	if err == nil {
		err = t.run.Folder.AmendManifest(func(m *run.Manifest) {
			m.Ranks = &run.Ranks{Count: g.Size(), Exact: j.Exact}
		})
	}
	if err != nil {
		endTraining(g)
		return err
	}
	t.trainer.Among(g, j.Exact)
	return nil
}

// endTraining ends the training of the other ranks.
func endTraining(g ranks.Group) {
	if g != nil {
		ranks.Tell(g, ranks.Order{Op: opDone})
	}
}

// End tells the other ranks of a group that there is no more to do: their Follow returns.
func End(g ranks.Group) { ranks.Tell(g, ranks.Order{Op: opEnd}) }

// Follow runs on all ranks but rank 0, and executes rank 0's orders until its End. pool makes the workers of this rank;
// rank 0 sends their number.
func Follow(g ranks.Group, pool func(workers int) *parallel.Pool) {
	var f *train.Trainer[float32]
	for {
		switch o := ranks.Hear(g); o.Op {
		case opEnd:
			return
		case opJob:
			f = follower(g, ranks.GiveBytes(g, 0, nil), pool)
		case opDone:
			f = nil
		default:
			f.Obey(o)
		}
	}
}

// follower loads an assignment and tells rank 0 what came of it; the trainer is nil if that is a fault.
func follower(g ranks.Group, text []byte, pool func(workers int) *parallel.Pool) *train.Trainer[float32] {
	t, j, err := loadAssignment(context.Background(), text, pool) // rank 0 alone heeds an interruption
	said := fingerprint{Version: run.Version()}
	if err != nil {
		said.Host, _ = os.Hostname()
		said.Fault = err.Error()
	} else {
		said = fingerprintOf(t.run.Loaded, t.trainer.Average())
	}
	told, err := json.Marshal(said)
	if err != nil {
		panic("experiment: " + err.Error()) // plain values
	}
	if ranks.SendBytes(g, 0, told); said.Fault != "" || j.Own.differs(said) != "" {
		return nil
	}
	t.trainer.Among(g, j.Exact)
	return t.trainer
}

// loadAssignment makes the trainer of an assignment.
func loadAssignment(ctx context.Context, text []byte, pool func(workers int) *parallel.Pool) (*training, assignment,
	error) {
	var j assignment
	if err := json.Unmarshal(text, &j); err != nil {
		return nil, j, err
	}
	if j.Own.Version != run.Version() { // whose problems may be others
		return nil, j, fmt.Errorf("it is version %s, not %s", run.Version(), j.Own.Version)
	}
	p, err := problem.Load([]byte(j.Problem), "the problem of rank 0", "", nil)
	if err != nil {
		return nil, j, err
	}
	for key, path := range j.Files {
		p.SetFile(key, path)
	}
	workers := j.Workers
	if workers < 0 || workers > math.MaxInt32 {
		workers = 0
	}
	l, err := load(ctx, p, pool(workers), nil)
	if err != nil {
		return nil, j, err
	}
	t := &training{run: &Run{Loaded: l}}
	m, err := t.run.model()
	if err != nil {
		return nil, j, err
	}
	t.trains(m)
	return t, j, nil
}

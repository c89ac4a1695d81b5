package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"sync"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/engine"
)

// A Scene is what the page needs of a run before it draws.
type Scene struct {
	Live        *figure.Live `json:"live,omitempty"` // a view in space, with its script's data; nil: points
	Observables []Observable `json:"observables"`
	Components  []string     `json:"components"`
}

// An Observable is a number of a point, with the histogram of the data.
type Observable struct {
	Name string    `json:"name"`
	Unit string    `json:"unit,omitempty"`
	Lo   float64   `json:"lo"`
	Hi   float64   `json:"hi"`
	Data []float64 `json:"data,omitempty"` // share of the rows in each bin
}

// A Frame is all samples at one time of their way back from noise.
type Frame struct {
	Step       int          `json:"step"` // calls for scores before it; the last frame has the samples
	Of         int          `json:"of"`   // about how many there are
	Layer      any          `json:"layer,omitempty"`
	Points     [][]float64  `json:"points,omitempty"` // the first coordinates, where there is no view
	Mean       metric.Float `json:"mean"`             // violation of a component
	Worst      metric.Float `json:"worst"`
	Histograms [][]float64  `json:"histograms"` // of each observable
	Last       bool         `json:"last,omitempty"`
	Problem    *problem     `json:"problem,omitempty"` // of a line that ends what could not be finished
}

const (
	framesShown  = 60
	watchSamples = 400
	watchNumbers = 2_000_000 // of all frames
	histogram    = 36        // bins
	mostObserved = 6
	sceneSamples = 20
)

// canvas takes what a domain shows in space.
type canvas struct {
	live    *figure.Live
	surface *figure.SurfaceView
	err     error
}

func (c *canvas) Add(string, figure.FigureRef, figure.Picture) {}
func (c *canvas) PNG(string, figure.Picture)                   {}
func (c *canvas) Note(string)                                  {}

func (c *canvas) Scene(s figure.Scene) {
	c.surface, _ = s.(*figure.SurfaceView)
	c.live, c.err = figure.NewLive(s)
}

// a watched run is one with what the page shows of it.
type watched struct {
	run      *engine.Run
	scene    Scene
	surface  *figure.SurfaceView
	observed *domain.Observables
	spaced   bool // there is a view
}

// watch returns a run as the page shows it. Its scene is made at the first call.
func (s *Server) watch(ctx context.Context, r *engine.Run) (*watched, error) {
	if w, ok := s.watches.Load(r); ok {
		return w.(*watched), nil
	}
	var x []float64
	q := engine.Request{N: sceneSamples, Seed: r.Problem.Seed}
	if c := r.Condition; c != nil {
		q.Conditions, q.Each = c.Read.Mean, sceneSamples
	}
	if _, err := s.engine.Draw(ctx, r, q, func(_ int, s *judge.Samples) error {
		x = append(x, s.Good()...)
		return nil
	}); err != nil {
		return nil, err
	}
	w := &watched{run: r, scene: Scene{Observables: []Observable{}, Components: constraint.Components(r.Process.Set)}}
	if err := s.engine.Compute(ctx, func() error { return r.Own(func() error { return w.look(x) }) }); err != nil {
		return nil, err
	}
	s.watches.Store(r, w)
	return w, nil
}

// countOf is how views tell of the few samples that a scene is made with.
var countOf = regexp.MustCompile(`samples, \d+( of \d+)?`)

// look makes the scene with samples x.
func (w *watched) look(x []float64) error {
	c, r := &canvas{}, w.run
	if len(x) > 0 {
		r.Reference().Scene(c, x, true)
	}
	if c.err != nil {
		return c.err
	}
	if w.scene.Live, w.surface, w.spaced = c.live, c.surface, c.live != nil; w.spaced { // there will be others
		c.live.HTML = countOf.ReplaceAllString(c.live.HTML, "samples")
	}
	d := r.Process.Set.Dim()
	if w.observed = r.Reference().Observed(); w.observed == nil { // the coordinates themselves
		o := &domain.Observables{Values: func(dst, x []float64, n int) {
			for i := range n {
				copy(dst[i*min(d, mostObserved):(i+1)*min(d, mostObserved)], x[i*d:])
			}
		}}
		for j := range min(d, mostObserved) {
			o.List = append(o.List, domain.Observable{Name: fmt.Sprintf("x[%d]", j)})
		}
		if over, err := o.Over(x, d, r.Pool); err == nil {
			w.observed = over
		} else {
			w.observed = &domain.Observables{Values: func([]float64, []float64, int) {}}
		}
	}
	unranged := func(o domain.Observable) bool { return !(o.Lo < o.Hi) }
	if slices.ContainsFunc(w.observed.List, unranged) {
		from := x
		if !r.Bare {
			from = r.Data.X
		}
		over, err := w.observed.Over(from, d, r.Pool)
		if err != nil {
			return err
		}
		w.observed = over
	}
	var data [][]float64
	if !r.Bare && r.Data.N > 0 {
		data = w.histograms(r.Data.X)
	}
	for k, o := range w.observed.List[:min(len(w.observed.List), mostObserved)] {
		told := Observable{Name: o.Name, Unit: o.Unit, Lo: o.Lo, Hi: o.Hi}
		if data != nil {
			told.Data = data[k]
		}
		w.scene.Observables = append(w.scene.Observables, told)
	}
	return nil
}

// histograms returns the share of points in each bin of each observable.
func (w *watched) histograms(x []float64) [][]float64 {
	d, m := w.run.Process.Set.Dim(), len(w.observed.List)
	n := len(x) / d
	values := make([]float64, n*m)
	w.observed.Values(values, x, n)
	out := make([][]float64, min(m, mostObserved))
	for k := range out {
		o := &w.observed.List[k]
		out[k] = make([]float64, histogram)
		for i := range n {
			at := (values[i*m+k] - o.Lo) / (o.Hi - o.Lo) * histogram
			if at >= 0 && at <= histogram { // false for NaN
				out[k][min(int(at), histogram-1)] += 1 / float64(n)
			}
		}
		for b, v := range out[k] {
			out[k][b] = math.Round(v*1e5) / 1e5
		}
	}
	return out
}

// frame describes the states x, n×d.
func (w *watched) frame(x []float64, step, of int) (*Frame, error) {
	set := w.run.Process.Set
	d, c, m := set.Dim(), len(w.scene.Components), len(set.Equalities())
	n := len(x) / d
	f := &Frame{Step: step, Of: of, Histograms: w.histograms(x)}
	values := make([]float64, n*c)
	set.NewEvaluator(n).Values(values, x, n)
	mean, worst := 0.0, 0.0
	for i, v := range values {
		e := constraint.Excess(v, i%c < m)
		worst = max(worst, e)
		mean += e / float64(max(1, len(values)))
	}
	f.Mean, f.Worst = metric.Float(mean), metric.Float(worst)
	switch {
	case w.surface != nil:
		f.Layer = figure.OnSurface(w.surface.Mesh, x)
	case w.spaced:
		var see canvas
		if w.run.Reference().Scene(&see, x, false); see.err != nil {
			return nil, see.err
		}
		if see.live != nil {
			f.Layer = see.live.Layer
		}
	default:
		for i := range n {
			var p []float64
			for _, v := range x[i*d : i*d+min(d, 3)] {
				p = append(p, math.Round(v*1e4)/1e4)
			}
			f.Points = append(f.Points, p)
		}
	}
	return f, nil
}

// getScene answers GET /v1/runs/{name}/scene.
func (s *Server) getScene(a *answering) error {
	i, all, err := s.find(a.r.PathValue("name"))
	if err != nil {
		return err
	}
	run := all.runs[i]
	return s.queued(func() error {
		return s.drawing(a, sceneSamples*run.Process.Set.Dim(), s.opt.Deadline, func() error {
			w, err := s.watch(a.r.Context(), run)
			if err != nil {
				return err
			}
			return a.writeJSON(w.scene)
		})
	})
}

// recorder gathers states of samples on their way, in parts, into frames.
type recorder struct {
	mu     sync.Mutex
	n, d   int
	stride int
	calls  map[int]int       // of each part, by its first sample
	held   map[int]*gathered // frames that are not whole, by step
	ready  chan gathered     // room for all
}

type gathered struct {
	step int
	x    []float64
	have int
}

// see is engine.Request.See.
func (r *recorder) see(lo int, x []float64, n int, _ float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	step := r.calls[lo]
	r.calls[lo]++
	if step%r.stride != 0 || step/r.stride >= cap(r.ready) {
		return
	}
	g := r.held[step]
	if g == nil {
		g = &gathered{step: step, x: make([]float64, r.n*r.d)}
		r.held[step] = g
	}
	copy(g.x[lo*r.d:], x[:min(n*r.d, len(g.x)-lo*r.d)])
	if g.have += n; g.have == r.n {
		delete(r.held, step)
		r.ready <- *g
	}
}

// paths answers POST /v1/runs/{name}/paths: samples on their way back from noise, a line each frame.
func (s *Server) paths(a *answering) error {
	return s.queued(func() error {
		q, err := s.readRequest(a, watchSamples, min(s.opt.Numbers, watchNumbers/framesShown))
		if err != nil {
			return err
		}
		if q.given != nil {
			return invalidAt("body.given", nil, "expected none: the paths are those of plain samples; samples has it")
		}
		return s.drawing(a, q.N*q.dim()*framesShown, q.deadline, func() error { return s.frames(a, q) })
	})
}

// frames draws samples and sends a line for each frame.
func (s *Server) frames(a *answering, q *asked) error {
	run, d := q.run, q.dim()
	w, err := s.watch(a.r.Context(), run)
	if err != nil {
		return err
	}
	steps := run.Process.Schedule.N
	rec := &recorder{n: q.N, d: d, stride: (steps + framesShown - 1) / framesShown, calls: map[int]int{},
		held: map[int]*gathered{}, ready: make(chan gathered, 2*framesShown)}
	q.See = rec.see
	last, failed := make([]float64, 0, q.N*d), error(nil)
	go func() {
		defer close(rec.ready)
		_, failed = s.engine.Draw(a.r.Context(), run, q.Request, func(_ int, s *judge.Samples) error {
			last = append(last, s.Good()...)
			return nil
		})
	}()
	send := func(g gathered, end bool) error {
		var line bytes.Buffer
		err := s.engine.Compute(a.r.Context(), func() error {
			return run.Own(func() error {
				f, err := w.frame(g.x, g.step, steps)
				if err != nil {
					return err
				}
				f.Last = end
				return json.NewEncoder(&line).Encode(f)
			})
		})
		if err != nil {
			return err
		}
		if a.status == 0 {
			a.Header().Set("Content-Type", typeLines)
		}
		return a.send(line.Bytes())
	}
	var lost error
	for g := range rec.ready { // to its end, so that the drawing can end
		if lost == nil {
			lost = send(g, false)
		}
	}
	switch {
	case failed != nil:
		return failed
	case lost != nil:
		return lost
	case len(last) == 0:
		return failedSamples.fault("all samples failed")
	}
	return send(gathered{step: steps, x: slices.Clip(last)}, true)
}

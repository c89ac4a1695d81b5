package trajectories

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/internal/vec3"
	"github.com/landing-diffusion/landing/judge/figure"
)

// draw shows the motions: played in space, from above and from the side, and where they are in
// the plane that they are compared in.
func (g *guide) draw(c domain.Canvas, v domain.View) {
	g.play(c, v)
	g.ways(c, v)
	if r := v.Reference; r != nil && r.Dim == 2 {
		c.Add("plane", figure.FigureRef{Title: "In the plane of the distance",
			Caption: "A point for each trajectory, by its two leading principal components."},
			figure.Scatter(figure.ScatterOptions{Axes: []string{"principal component 1", "principal component 2"}}, 2,
				figure.PointLayer{Name: "data", Points: r.Full}, figure.PointLayer{Name: "samples", Points: v.Marks}))
	}
}

func (g *guide) solids() (out []figure.Solid) {
	for _, o := range g.scene.Obstacles {
		s := figure.Solid{A: o.A, B: o.A, Radius: o.Radius}
		switch o.Shape {
		case scene.Capsule:
			s.B = o.B
		case scene.Box:
			if s.Half, s.R = o.Half, o.R; o.R == ([9]float64{}) {
				s.R = robot.Identity().R
			}
			for k := range s.Half { // round edges are drawn square
				s.Half[k] += o.Radius
			}
			s.Radius = 0
		case scene.Cylinder: // drawn as the capsule that it holds
			z := [3]float64{o.R[2], o.R[5], o.R[8]}
			h := max(o.Half[2]-o.Half[0], 0)
			s.A, s.B, s.Radius = vec3.Add(o.A, -h, z), vec3.Add(o.A, h, z), o.Half[0]+o.Radius
		case scene.Cloud:
			for _, p := range o.Points.Some(400) {
				out = append(out, figure.Solid{A: p, B: p, Radius: o.Radius})
			}
			continue
		}
		out = append(out, s)
	}
	return out
}

// points of a way in a picture, about.
const fine = 60

// ways draws the way of the tip, from above and from the side.
func (g *guide) ways(c domain.Canvas, v domain.View) {
	pieces := max(1, (fine+g.waypoints-2)/max(1, g.waypoints-1))
	strand := (g.waypoints-1)*pieces + 1
	trace := func(x []float64) []float64 {
		n := g.rows(x)
		out := make([]float64, 3*strand*n)
		domain.EachBlock(g.pool, n, func(lo, hi int) {
			f := g.follower()
			for i := lo; i < hi; i++ {
				copy(out[3*strand*i:], f.way(g.motion.path(g.row(x, i)), pieces))
			}
		})
		return out
	}
	layers := []figure.TrackLayer{{Name: "data", Points: trace(v.Data), Strand: strand, Mode: -1}}
	samples := trace(v.Samples)
	if g.modes == nil {
		layers = append(layers, figure.TrackLayer{Name: "samples", Points: samples, Strand: strand})
	} else {
		of := g.of(v.Samples)
		for k, name := range g.modes {
			l := figure.TrackLayer{Name: "samples " + name, Strand: strand, Mode: k}
			for i, m := range of {
				if m == k {
					l.Points = append(l.Points, samples[3*strand*i:3*strand*(i+1)]...)
				}
			}
			if l.Points != nil || g.shares[k] > 0 {
				layers = append(layers, l)
			}
		}
	}
	var ends []figure.Place
	for _, e := range g.ends {
		ends = append(ends, figure.Place{Name: e.name, At: e.at})
	}
	// From the side that shows more of the way across.
	across, axis := [3]float64{1, 0, 0}, "x, m"
	if spread(samples, layers[0].Points, 1) > spread(samples, layers[0].Points, 0) {
		across, axis = [3]float64{0, 1, 0}, "y, m"
	}
	caption := "The way of the tip, " + g.tipName() + ", with joints that go straight from way point to way point."
	for _, p := range []struct {
		file, title string
		opts        figure.TracksOptions
	}{
		{"above", "From above", figure.TracksOptions{Axes: [2]string{"x, m", "y, m"}, Across: [3]float64{1, 0, 0},
			Up: [3]float64{0, 1, 0}}},
		{"side", "From the side", figure.TracksOptions{Axes: [2]string{axis, "z, m"}, Across: across, Up: [3]float64{0,
			0, 1}}},
	} {
		p.opts.Solids, p.opts.Ends, p.opts.Beside = g.solids(), ends, true
		c.Add(p.file, figure.FigureRef{Title: p.title, Caption: caption}, figure.Tracks(p.opts, layers...))
	}
}

// spread returns the range of a coordinate of both.
func spread(samples, data []float64, k int) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range [][]float64{samples, data} {
		for i := k; i < len(x); i += 3 {
			if x[i]-x[i] == 0 {
				lo, hi = min(lo, x[i]), max(hi, x[i])
			}
		}
	}
	return hi - lo
}

func (g *guide) tipName() string {
	name := g.arm.Base
	if g.tip.Link >= 0 {
		if name = g.arm.Joints[g.tip.Link].Link; name == "" {
			name = fmt.Sprintf("link %d", g.tip.Link)
		}
	}
	if g.tip.Local == ([3]float64{}) {
		return name
	}
	return fmt.Sprintf("a point of %s", name)
}

func (g *guide) play(c domain.Canvas, v domain.View) {
	view := &figure.ArmView{Title: "Motions", Tip: figure.ArmPoint(g.tip), Solids: g.solids(), Steps: g.waypoints,
		Modes: g.modes}
	for i := range g.arm.Joints {
		j := &g.arm.Joints[i]
		kind := figure.Fixed
		if j.Kind.Turning() {
			kind = figure.Turns
		} else if j.Kind == robot.Prismatic {
			kind = figure.Slides
		}
		joint := figure.ArmJoint{Kind: kind, R: j.Origin.R, P: j.Origin.P, Axis: j.Axis, Wraps: kind == figure.Turns}
		if f := j.Follow; f != nil {
			of := slices.Index(g.arm.Places(), f.Of)
			joint.Follow = &[3]float64{float64(of), f.Multiplier, f.Offset}
		}
		view.Joints = append(view.Joints, joint)
	}
	for _, b := range g.scene.Bodies {
		if b.Radius > 0 {
			view.Volume = append(view.Volume, figure.ArmSphere{ArmPoint: figure.ArmPoint{Link: b.Link, Local: b.Centre},
				Radius: b.Radius})
		}
	}
	for _, e := range g.ends {
		view.Ends = append(view.Ends, e.at)
	}
	for _, l := range v.Layers("row", g.dim, view.Shown) {
		layer := figure.ArmLayer{Name: l.Name}
		if g.modes != nil {
			layer.Modes = g.of(l.X)
		}
		f := g.follower()
		tips := make([]float64, 3*g.waypoints)
		for k, label := range l.Labels {
			path := g.motion.path(g.row(l.X, k))
			f.joints(f.q, path)
			layer.Values = append(layer.Values, f.q...)
			f.tips(tips, path)
			if g.modes != nil {
				label += "; " + g.modes[layer.Modes[k]]
			}
			label += fmt.Sprintf("; %.2f m long", length(tips))
			if f.checker != nil {
				s, _ := f.checker.Path(path, g.waypoints)
				label += fmt.Sprintf("; clearance %.3f m", s.Lower)
			}
			layer.Labels = append(layer.Labels, label)
		}
		view.Layers = append(view.Layers, layer)
	}
	if view.Layers == nil {
		return
	}
	view.Caption = "Taken evenly. The clearance is that between way points too, a lower bound. "
	if g.scene.Pairs() == 0 {
		view.Caption = "Taken evenly. "
	}
	view.Caption = strings.TrimSpace(view.Caption + v.WorstSample())
	c.Scene(view)
}

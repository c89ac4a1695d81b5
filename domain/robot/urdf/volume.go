package urdf

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/domain/robot"
)

// A shape is a collision geometry. Cylinders and capsules lie along z, their middle at
// the origin; size[2] of a capsule is its length without the two half spheres.
type shape struct {
	kind   string // sphere, capsule, cylinder, box, mesh
	origin robot.Pose
	radius float64
	size   [3]float64 // of a mesh its scale
	file   string     // of a mesh
	line   int
}

// cover returns the pieces that a shape is cut into, along x, y and z, and the radius of
// the ball about each that holds it.
//
// Cut along its axis into pieces of length s, a round bar of radius r is covered by balls of radius √(r² + s²/4). A
// piece of a box with edges s is held by a ball of radius ‖s‖/2, which stands out of the box's faces by ‖s‖/2 − min
// s/2; the longest edge is cut once more until that is at most the excess.
func (s *shape) cover(excess float64) (pieces [3]int, radius float64, ok bool) {
	if s.kind == "sphere" {
		return [3]int{1, 1, 1}, s.radius, true
	}
	if s.kind != "box" {
		half := math.Sqrt(excess * (2*s.radius + excess)) // (r + excess)² = r² + half²
		n := math.Max(1, math.Ceil(s.size[2]/(2*half)))
		if n > MostSpheres {
			return pieces, 0, false
		}
		return [3]int{1, 1, int(n)}, math.Hypot(s.radius, s.size[2]/n/2), true
	}
	pieces = [3]int{1, 1, 1}
	for pieces[0]*pieces[1]*pieces[2] <= MostSpheres {
		var edge [3]float64
		long := 0
		for i := range 3 {
			if edge[i] = s.size[i] / float64(pieces[i]); edge[i] > edge[long] {
				long = i
			}
		}
		radius = math.Hypot(math.Hypot(edge[0], edge[1]), edge[2]) / 2
		if radius-min(edge[0], edge[1], edge[2])/2 <= excess {
			return pieces, radius, true
		}
		pieces[long]++
	}
	return pieces, 0, false
}

// spheres appends the spheres that cover a shape; at is the shape's pose on link i of the arm.
func (s *shape) spheres(out []robot.Sphere, i int, at robot.Pose, excess float64) ([]robot.Sphere, bool) {
	n, radius, ok := s.cover(excess)
	if !ok || len(out)+n[0]*n[1]*n[2] > MostSpheres {
		return out, false
	}
	at = at.Then(s.origin)
	if s.kind == "capsule" {
		// The half spheres at its ends; those of the bar between reach no further.
		for _, z := range []float64{-s.size[2] / 2, s.size[2] / 2} {
			out = append(out, robot.Sphere{Link: i, Centre: at.Apply([3]float64{0, 0, z}), Radius: s.radius})
		}
	}
	middle := func(axis, k int) float64 { return s.size[axis] * ((float64(k)+0.5)/float64(n[axis]) - 0.5) }
	for x := range n[0] {
		for y := range n[1] {
			for z := range n[2] {
				c := at.Apply([3]float64{middle(0, x), middle(1, y), middle(2, z)})
				out = append(out, robot.Sphere{Link: i, Centre: c, Radius: radius})
			}
		}
	}
	return out, len(out) <= MostSpheres
}

// A seat is the pose of a link of the file on a link of the arm.
type seat struct {
	link int // of the arm
	pose robot.Pose
}

// seats returns those of the links of the chain and of all that is fixed to them.
func (t *tree) seats(a *robot.Arm, base int) map[int]seat {
	seats := map[int]seat{base: {-1, robot.Identity()}}
	for i := range a.Joints {
		seats[t.at[a.Joints[i].Link]] = seat{i, robot.Identity()}
	}
	// Fixed joints carry seats on, down and (from the base) up.
	for grown := true; grown; {
		grown = false
		for i := range t.joints {
			j := &t.joints[i]
			if j.kind != "fixed" {
				continue
			}
			up, down := t.at[j.parent], t.at[j.child]
			s, above := seats[up]
			r, under := seats[down]
			switch {
			case above && !under:
				seats[down], grown = seat{s.link, s.pose.Then(j.origin)}, true
			case under && !above:
				seats[up], grown = seat{r.link, r.pose.Then(inverse(j.origin))}, true
			}
		}
	}
	return seats
}

// volume gives the arm the collision shapes of its links and of all that is fixed to them, and notes what is left out.
func (t *tree) volume(a *robot.Arm, base int, o Options) error {
	seats := t.seats(a, base)
	var meshes, loose []string
	for i := range t.links {
		l := &t.links[i]
		s, seated := seats[i]
		if !seated {
			if len(l.shapes) > 0 {
				loose = append(loose, l.name)
			}
			continue
		}
		if l.fault != nil {
			return l.fault
		}
		if o.Cover > 0 {
			if len(a.Support(s.link)) > 0 { // what never moves hits nothing
				if err := t.cover(a, l, s, o); err != nil {
					return err
				}
			}
			continue
		}
		if slices.ContainsFunc(l.shapes, func(s shape) bool { return s.kind == "mesh" }) {
			meshes = append(meshes, l.name)
		}
		for n := range l.shapes {
			ok := true
			if l.shapes[n].kind != "mesh" {
				a.Spheres, ok = l.shapes[n].spheres(a.Spheres, s.link, s.pose, o.Excess)
			}
			if !ok {
				return t.fail(l.shapes[n].line, fmt.Sprintf("link %q <collision>", l.name), "the volume takes "+
					"more than %d spheres; expected fewer shapes, or covers that may stand out by more than %v m",
					MostSpheres, o.Excess)
			}
		}
	}
	slices.SortStableFunc(a.Spheres, func(a, b robot.Sphere) int { return a.Link - b.Link })
	if len(meshes) > 0 {
		t.note("the volume leaves out the meshes of %s: landing init covers them by spheres", list(meshes))
	}
	if len(loose) > 0 {
		t.note("the volume leaves out %s, which other joints than the chain's move", list(loose))
	}
	if what := "no collision shape but meshes on its links"; len(a.Spheres) == 0 {
		if len(meshes) == 0 {
			what = "no link that moves has a <collision> shape"
		}
		t.note("the arm has no volume: %s", what)
	}
	return nil
}

func inverse(p robot.Pose) robot.Pose {
	r := p.R
	out := robot.Pose{R: [9]float64{r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]}}
	v := out.Rotate(p.P)
	out.P = [3]float64{-v[0], -v[1], -v[2]}
	return out
}

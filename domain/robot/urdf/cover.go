package urdf

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A Cover says how spheres cover the collision shapes of a link.
type Cover struct {
	Link    string
	Spheres int
	Excess  float64 // by how much they stand out of the shapes, m
	Meshes  []string
}

// cover adds spheres that cover the shapes of a link of the file, at most o.Cover: as few as stand out by o.Excess.
func (t *tree) cover(a *robot.Arm, l *link, at seat, o Options) error {
	if len(l.shapes) == 0 {
		return nil
	}
	out := Cover{Link: l.name}
	each := max(1, o.Cover/len(l.shapes))
	for n := range l.shapes {
		s := &l.shapes[n]
		had := len(a.Spheres)
		if s.kind == "mesh" {
			m, path, err := t.mesh(l, s)
			if err != nil {
				return err
			}
			out.Meshes = append(out.Meshes, path)
			spheres, excess := coverMesh(m, each, o.Excess)
			for _, b := range spheres {
				b.Link, b.Centre = at.link, at.pose.Then(s.origin).Apply(b.Centre)
				a.Spheres = append(a.Spheres, b)
			}
			out.Excess = max(out.Excess, excess)
		} else {
			excess := o.Excess
			for ok := false; !ok || len(a.Spheres)-had > each && excess < most; excess *= 1.2 {
				a.Spheres, ok = s.spheres(a.Spheres[:had], at.link, at.pose, excess)
			}
			out.Excess = max(out.Excess, s.excess(a.Spheres[had:]))
		}
		out.Spheres += len(a.Spheres) - had
	}
	t.covers = append(t.covers, out)
	return nil
}

// excess returns by how much spheres stand out of a shape that they cover.
func (s *shape) excess(spheres []robot.Sphere) (out float64) {
	n := float64(len(spheres))
	switch r := spheres[0].Radius; s.kind {
	case "cylinder":
		return max(r-s.radius, r-s.size[2]/n/2)
	case "box":
		for _, size := range s.size { // the middle of an outer piece is at least half of its least edge inside
			out = max(out, r-size/2)
		}
		return out
	}
	return 0
}

// mesh reads the mesh of a shape, in the shape's frame.
func (t *tree) mesh(l *link, s *shape) (*mesh.Mesh, string, error) {
	fail := func(format string, v ...any) (*mesh.Mesh, string, error) {
		return nil, "", t.fail(s.line, fmt.Sprintf("link %q <collision> <mesh>", l.name), format, v...)
	}
	path, tried := t.find(s.file)
	if path == "" {
		return fail("%q is missing: looked for %s; expected the file there, or init --no-volume", s.file, list(tried))
	}
	m, err := mesh.Read(path)
	if err != nil {
		return fail("%q: %v", s.file, err)
	}
	for i := range m.Vertices {
		m.Vertices[i] *= s.size[i%3]
	}
	if volume, size := m.Volume(), m.Size(); !(math.Abs(volume) > 1e-12*size*size*size) {
		return fail("%q (%s) has no volume; expected a closed surface", s.file, path)
	}
	return m, path, nil
}

// find looks for the file of a mesh: beside the robot's, and what follows package:// in the folders above it, by the
// whole path and without the package's name.
func (t *tree) find(name string) (path string, tried []string) {
	name = strings.TrimPrefix(name, "file://")
	dir := filepath.Dir(t.file)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	rest, packaged := strings.CutPrefix(name, "package://")
	_, inside, _ := strings.Cut(rest, "/")
	switch {
	case !packaged && filepath.IsAbs(name):
		tried = []string{name}
	case !packaged:
		tried = []string{filepath.Join(dir, name)}
	default:
		for up := dir; ; up = filepath.Dir(up) {
			if tried = append(tried, filepath.Join(up, rest), filepath.Join(up, inside)); up == filepath.Dir(up) {
				break
			}
		}
	}
	for _, path := range tried {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", tried
}

// A piece is a part of a surface: the box of triangles that lie together, and the sum of their normals by area.
type piece struct{ lo, hi, normal [3]float64 }

// pieces cuts the triangles of a mesh at the middle of their longest side until that is at most a part of the mesh's
// size, and puts those whose middles are in one cell of a grid of that together.
func pieces(m *mesh.Mesh) (out []piece) {
	const parts = 64
	side := m.Size() / parts
	at := map[[3]int32]int{}
	var normal [3]float64
	var cut func(a, b, c [3]float64, area float64)
	cut = func(a, b, c [3]float64, area float64) {
		ab, bc, ca := vec3.Norm(vec3.Minus(b, a)), vec3.Norm(vec3.Minus(c, b)), vec3.Norm(vec3.Minus(a, c))
		switch longest := max(ab, bc, ca); {
		case longest > ab: // until ab is the longest side
			cut(b, c, a, area)
			return
		case ab > side:
			middle := vec3.Add(a, 0.5, vec3.Minus(b, a))
			cut(a, middle, c, area/2)
			cut(middle, b, c, area/2)
			return
		}
		var cell [3]int32
		for k := range cell {
			cell[k] = int32(math.Floor((a[k] + b[k] + c[k]) / (3 * side)))
		}
		i, is := at[cell]
		if !is {
			i, at[cell], out = len(out), len(out), append(out, piece{lo: a, hi: a})
		}
		q := &out[i]
		for k := range 3 {
			q.lo[k], q.hi[k] = min(q.lo[k], a[k], b[k], c[k]), max(q.hi[k], a[k], b[k], c[k])
			q.normal[k] += area * normal[k]
		}
	}
	_, faces := m.N()
	outwards := math.Copysign(1, m.Volume())
	for f := range faces {
		normal = vec3.Scaled(outwards, m.Normal(f))
		a, b, c := m.Corners(f)
		cut(a, b, c, m.FaceArea(f))
	}
	return out
}

// distances returns how far the box of a piece is from a point, at least and at most.
func (q *piece) distances(p [3]float64) (near, far float64) {
	for k, v := range p {
		n, f := max(q.lo[k]-v, v-q.hi[k], 0), max(q.hi[k]-v, v-q.lo[k])
		near, far = near+n*n, far+f*f
	}
	return math.Sqrt(near), math.Sqrt(far)
}

// coverMesh covers a mesh by spheres that stand out of it by at most the excess, or by as little more as takes no more
// spheres than most.
//
// A ball about a point of the inside that is d from the surface, and whose radius is d + ε, stands out by at most ε. Of
// such balls about the points of a grid, and about those of the surface with d = 0, each next one is that which holds
// most pieces of the surface that no ball holds yet.
func coverMesh(m *mesh.Mesh, most int, excess float64) (out []robot.Sphere, ε float64) {
	const grid = 16
	surface := pieces(m)
	type centre struct {
		robot.Sphere
		far []float32 // of each piece
	}
	var centres []centre
	add := func(p [3]float64, must bool) {
		c, nearest, least := centre{far: make([]float32, len(surface))}, 0, math.Inf(1)
		for i := range surface {
			near, far := surface[i].distances(p)
			if c.far[i] = float32(far); near < least {
				nearest, least = i, near
			}
		}
		q := &surface[nearest]
		middle := vec3.Add(vec3.Scaled(0.5, q.lo), 0.5, q.hi)
		if c.Centre = p; !must && !(vec3.Dot(vec3.Minus(p, middle), q.normal) < 0) {
			return
		}
		c.Radius = least
		centres = append(centres, c)
	}
	lo, hi := m.Bounds()
	var step, n [3]float64
	for k := range step {
		n[k] = 2*math.Ceil(max(grid/2*(hi[k]-lo[k])/m.Size(), 3)) + 1 // odd: one is in the middle
		step[k] = (hi[k] - lo[k]) / n[k]
	}
	for x := 0.5; x < n[0]; x++ {
		for y := 0.5; y < n[1]; y++ {
			for z := 0.5; z < n[2]; z++ {
				add([3]float64{lo[0] + x*step[0], lo[1] + y*step[1], lo[2] + z*step[2]}, false)
			}
		}
	}
	for i := 0; i < len(surface); i += 1 + len(surface)/100 {
		add(vec3.Add(vec3.Scaled(0.5, surface[i].lo), 0.5, surface[i].hi), true)
	}
	for ε = excess; ; ε *= 1.2 {
		open := make([]int, len(surface))
		for i := range open {
			open[i] = i
		}
		out = out[:0]
		for len(open) > 0 && len(out) < most {
			best, holds := 0, -1
			for k := range centres {
				n, r := 0, float32(centres[k].Radius+ε)
				for _, i := range open {
					if centres[k].far[i] <= r {
						n++
					}
				}
				if n > holds {
					best, holds = k, n
				}
			}
			if holds == 0 {
				break
			}
			b := centres[best].Sphere
			b.Radius += ε
			out = append(out, b)
			r := float32(b.Radius)
			open = slices.DeleteFunc(open, func(i int) bool { return centres[best].far[i] <= r })
		}
		if len(open) == 0 {
			return out, ε
		}
	}
}

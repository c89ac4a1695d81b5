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
	path, where := t.find(s.file)
	if path == "" {
		missing := 0
		for _, l := range t.links {
			for _, s := range l.shapes {
				if path, _ := t.find(s.file); path == "" && s.kind == "mesh" {
					missing++
				}
			}
		}
		return fail("%q is missing (%d in all): looked for %s; expected the file there, or init --no-volume", s.file,
			missing, where)
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
// whole path and without its first folders: a package may have been copied under another name.
func (t *tree) find(name string) (path, where string) {
	name = strings.TrimPrefix(name, "file://")
	dir := filepath.Dir(t.file)
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	rest, packaged := strings.CutPrefix(name, "package://")
	tried := []string{filepath.Join(dir, name)}
	if where = tried[0]; filepath.IsAbs(name) {
		tried, where = []string{name}, name
	} else if packaged {
		tried, where = nil, fmt.Sprintf("%s, and what is left of it without its first folders, in %s and all folders "+
			"above", rest, dir)
		for up, last := dir, ""; up != last; up, last = filepath.Dir(up), up {
			for tail, more := rest, true; more && strings.Contains(tail, "/"); _, tail, more = strings.Cut(tail, "/") {
				tried = append(tried, filepath.Join(up, tail))
			}
		}
	}
	for _, path := range tried {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, ""
		}
	}
	return "", where
}

// A grid is cells about a mesh.
type grid struct {
	lo    [3]float64
	side  float64
	n     [3]int
	cells []byte
}

// What a cell is.
const (
	inner   = iota // neither of the others
	surface        // a part of the mesh
	outer          // reached from beside the mesh
)

// filled returns the cells of a mesh: those which what is outside does not reach are inside, whatever turns faces have
// and whatever surfaces lie within.
func filled(m *mesh.Mesh, parts float64) *grid {
	lo, hi := m.Bounds()
	g := &grid{lo: lo, side: m.Size() / parts}
	for k := range lo {
		g.lo[k] -= 1.5 * g.side
		g.n[k] = int((hi[k]-g.lo[k])/g.side) + 3
	}
	g.cells = make([]byte, g.n[0]*g.n[1]*g.n[2])
	var mark func(a, b, c [3]float64)
	mark = func(a, b, c [3]float64) {
		switch ab := vec3.Norm(vec3.Minus(b, a)); {
		case max(vec3.Norm(vec3.Minus(c, b)), vec3.Norm(vec3.Minus(a, c))) > ab: // until ab is the longest side
			mark(b, c, a)
		case ab > g.side/2:
			middle := vec3.Add(a, 0.5, vec3.Minus(b, a))
			mark(a, middle, c)
			mark(middle, b, c)
		default:
			for _, p := range [3][3]float64{a, b, c} {
				i := 0
				for k, v := range p {
					i = i*g.n[k] + int((v-g.lo[k])/g.side)
				}
				g.cells[i] = surface
			}
		}
	}
	_, faces := m.N()
	for f := range faces {
		mark(m.Corners(f))
	}
	g.cells[0] = outer
	for todo := []int{0}; len(todo) > 0; {
		c := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		g.beside(c, func(to int) {
			if g.cells[to] == inner {
				g.cells[to], todo = outer, append(todo, to)
			}
		})
	}
	return g
}

// beside calls f for the cells that share a side with one.
func (g *grid) beside(c int, f func(int)) {
	for k, step := range [3]int{g.n[1] * g.n[2], g.n[2], 1} {
		at := c / step % g.n[k]
		if at > 0 {
			f(c - step)
		}
		if at < g.n[k]-1 {
			f(c + step)
		}
	}
}

func (g *grid) middle(c int) [3]float64 {
	return vec3.Add(g.lo, g.side, [3]float64{float64(c/(g.n[1]*g.n[2])) + 0.5, float64(c/g.n[2]%g.n[1]) + 0.5,
		float64(c%g.n[2]) + 0.5})
}

// coverMesh covers a mesh by spheres that stand out of what it encloses by at most the excess, or by as little more as
// takes no more spheres than most.
//
// A ball about a point of the inside that is d from the outer surface, and whose radius is d + ε, stands out by at most
// ε. Of such balls about cells, each next one is that which holds most cells of the surface that no ball holds yet.
// Every point of the surface is within reach of the middle of a cell that is marked.
func coverMesh(m *mesh.Mesh, most int, excess float64) (out []robot.Sphere, ε float64) {
	const parts, few = 64, 1200
	g := filled(m, parts)
	reach := (math.Sqrt(3)/2 + 0.5/math.Sqrt(3)) * g.side
	var shell, centres [][3]float64
	inside := 0
	for c, is := range g.cells {
		seen := false
		g.beside(c, func(to int) { seen = seen || g.cells[to] == outer })
		if is == surface && seen {
			shell = append(shell, g.middle(c))
		}
		if is != outer {
			inside++
		}
	}
	for c, is := range g.cells {
		if is == outer {
			continue
		}
		if inside--; inside%max(1, len(g.cells)/few/4) == 0 {
			centres = append(centres, g.middle(c))
		}
	}
	depth, far := make([]float64, len(centres)), make([][]float32, len(centres))
	for k, c := range centres {
		depth[k], far[k] = math.Inf(1), make([]float32, len(shell))
		for i, p := range shell {
			d := vec3.Norm(vec3.Minus(p, c))
			depth[k], far[k][i] = min(depth[k], d), float32(d)
		}
	}
	open, held := make([]int, 0, len(shell)), make([]int, len(centres)) // held: of open, when last counted
	for ε = max(excess-2*reach, reach/4); ; ε *= 1.2 {
		open = open[:0]
		for i := range shell {
			open = append(open, i)
		}
		for k := range held {
			held[k] = len(shell)
		}
		for out = out[:0]; len(open) > 0 && len(out) < most; {
			best, holds := 0, -1
			for k := range centres {
				if held[k] <= holds { // it holds no more than when it was last seen
					continue
				}
				n, r := 0, float32(depth[k]+ε)
				for _, i := range open {
					if far[k][i] <= r {
						n++
					}
				}
				if held[k] = n; n > holds {
					best, holds = k, n
				}
			}
			if holds*(most-len(out)) < len(open) {
				break // each next one holds no more than this one
			}
			r := float32(depth[best] + ε)
			open = slices.DeleteFunc(open, func(i int) bool { return far[best][i] <= r })
			out = append(out, robot.Sphere{Centre: centres[best], Radius: depth[best] + ε + reach})
		}
		if len(open) == 0 {
			return out, ε + 2*reach
		}
	}
}

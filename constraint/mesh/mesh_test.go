package mesh

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// cube is [0, 1]³, two triangles a side.
func cube() *Mesh {
	m := &Mesh{}
	for i := range 8 {
		m.Vertices = append(m.Vertices, float64(i&1), float64(i>>1&1), float64(i>>2))
	}
	for _, q := range [][4]int32{{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}} {
		m.Faces = append(m.Faces, q[0], q[1], q[2], q[0], q[2], q[3])
	}
	return m
}

// files are the cube in every format that Read takes.
func files() map[string][]byte {
	m := cube()
	header := func(format, types string) string {
		return "ply\nformat " + format + " 1.0\ncomment a cube\nelement vertex 8\nproperty " + types +
			" x\nproperty uchar red\nproperty " + types + " y\nproperty " + types +
			" z\nelement face 12\nproperty list uchar int vertex_indices\nelement edge 1\nproperty list ushort short " +
			"ends\nend_header\n"
	}
	out := map[string][]byte{}
	var text, obj bytes.Buffer
	text.WriteString(header("ascii", "double"))
	obj.WriteString("# a cube\no cube\n")
	for i := 0; i < 24; i += 3 {
		fmt.Fprintf(&text, "%v 200 %v %v\r\n", m.Vertices[i], m.Vertices[i+1], m.Vertices[i+2])
		fmt.Fprintf(&obj, "v %v %v %v 1 0.5 0\n", m.Vertices[i], m.Vertices[i+1], m.Vertices[i+2])
	}
	obj.WriteString("vn 0 0 1\n")
	for i := 0; i < 36; i += 6 {
		f := m.Faces[i : i+6]
		fmt.Fprintf(&text, "3 %d %d %d\n\n3 %d %d %d\n", f[0], f[1], f[2], f[3], f[4], f[5])
		fmt.Fprintf(&obj, "f %d/1 %d/2/1 %d//1 %d\n", f[0]+1, f[1]+1, int(f[2])-8, f[5]+1)
	}
	text.WriteString("2 0 1\n")
	stl, soup := bytes.NewBufferString("solid a cube\n"), append(make([]byte, 80), 12, 0, 0, 0)
	for f := range 12 {
		fmt.Fprintf(stl, "facet normal 0 0 0\n outer loop\n")
		soup = append(soup, make([]byte, 12)...)
		for k := range int32(3) {
			v := m.Vertex(m.Faces[3*f+int(k)])
			fmt.Fprintf(stl, "  vertex %v %v %v\n", v[0], v[1], v[2])
			for _, v := range v {
				soup = binary.LittleEndian.AppendUint32(soup, math.Float32bits(float32(v)))
			}
		}
		fmt.Fprintf(stl, " endloop\nendfacet\n")
		soup = append(soup, 0, 0)
	}
	stl.WriteString("endsolid\n")
	copy(soup, "solid")
	out["text.stl"], out["binary.stl"] = stl.Bytes(), soup
	out["cube.ply"], out["cube.obj"] = text.Bytes(), obj.Bytes()
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		b := []byte(header("binary_"+name+"_endian", "float"))
		for i := 0; i < 24; i += 3 {
			b = order.AppendUint32(b, math.Float32bits(float32(m.Vertices[i])))
			b = append(b, 200)
			b = order.AppendUint32(b, math.Float32bits(float32(m.Vertices[i+1])))
			b = order.AppendUint32(b, math.Float32bits(float32(m.Vertices[i+2])))
		}
		for i := 0; i < 36; i += 3 {
			b = append(b, 3)
			for _, v := range m.Faces[i : i+3] {
				b = order.AppendUint32(b, uint32(v))
			}
		}
		b = order.AppendUint16(b, 2)
		b = append(b, 0, 0, 0, 1)
		out[name+".ply"] = b
	}
	return out
}

func read(t testing.TB, name string, data []byte) (*Mesh, error) {
	path := filepath.Join(t.TempDir(), name)
	testkit.OK(t, os.WriteFile(path, data, 0o666))
	return Read(path)
}

func TestRead(t *testing.T) {
	for name, data := range testkit.Ordered(files()) {
		m := testkit.Must(read(t, name, data))
		testkit.Keep(t, "%s %.6g %v", name, m.Vertices, m.Faces)
		if strings.HasSuffix(name, ".stl") { // vertices are numbered as the triangles come
			got := fmt.Sprint(m.Merged, len(m.Vertices)/3, math.Round(1e12*m.Volume()), m.Area())
			testkit.Equal(t, got, "28 8 1e+12 6", "%s", name)
		} else {
			testkit.Equal(t, fmt.Sprint(m), fmt.Sprint(cube()), "%s: %v", name, m)
		}
		if f := m.Check(); f != nil {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// Every type of number, with its sign, in both orders of bytes; and polygons as fans from their first corner.
func TestPLYTypes(t *testing.T) {
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		for _, k := range []struct {
			name   string
			add    func(b []byte, v float64) []byte
			lo, hi float64
		}{
			{"char", func(b []byte, v float64) []byte { return append(b, byte(int8(v))) }, -128, 127},
			{"uint8", func(b []byte, v float64) []byte { return append(b, byte(v)) }, 0, 255},
			{"short", func(b []byte, v float64) []byte { return order.AppendUint16(b, uint16(int16(v))) },
				-1 << 15, 1<<15 - 1},
			{"uint16", func(b []byte, v float64) []byte { return order.AppendUint16(b, uint16(v)) }, 0, 1<<16 - 1},
			{"int32", func(b []byte, v float64) []byte { return order.AppendUint32(b, uint32(int32(v))) },
				-1 << 31, 1<<31 - 1},
			{"uint", func(b []byte, v float64) []byte { return order.AppendUint32(b, uint32(v)) }, 0, 1<<32 - 1},
			{"float32", func(b []byte, v float64) []byte { return order.AppendUint32(b, math.Float32bits(float32(v))) },
				-2.5e7, 0.125},
			{"double", func(b []byte, v float64) []byte { return order.AppendUint64(b, math.Float64bits(v)) },
				-math.Pi, 1e40},
		} {
			want := &Mesh{
				Vertices: []float64{k.lo, 0, 0, k.hi, 0, 1, k.hi, k.hi, 0, 1, k.hi, 0, k.lo, 3, 0},
				Faces:    []int32{0, 1, 2, 0, 2, 3, 0, 3, 4, 4, 3, 2},
			}
			b := []byte("ply\nformat binary_" + name + "_endian 1.0\nelement vertex 5\nproperty " + k.name +
				" x\nproperty " + k.name + " y\nproperty " + k.name +
				" z\nelement face 2\nproperty list uchar short vertex_index\nend_header\n")
			for _, v := range want.Vertices {
				b = k.add(b, v)
			}
			for _, face := range [][]uint16{{0, 1, 2, 3, 4}, {4, 3, 2}} {
				b = append(b, byte(len(face)))
				for _, v := range face {
					b = order.AppendUint16(b, v)
				}
			}
			if m, err := read(t, "a.ply", b); err != nil || fmt.Sprint(m) != fmt.Sprint(want) {
				t.Errorf("%s, %s: %v, %v, want %v", k.name, name, m, err, want)
			}
		}
	}
	pentagon := "ply\nformat ascii 1.0\nelement vertex 5\nproperty int x\nproperty int y\nproperty int z\nelement " +
		"face 1\nproperty list uchar uint vertex_indices\nend_header\n" +
		"0 0 0\n2 0 0\n3 1 0\n2 2 0\n0 2 -1\n5 0 1 2 3 4\n"
	if m, err := read(t, "a.ply", []byte(pentagon)); err != nil || fmt.Sprint(m.Faces) != "[0 1 2 0 2 3 0 3 4]" ||
		m.Vertices[14] != -1 {
		t.Errorf("a pentagon: %v, %v", m, err)
	}
	if m, err := read(t, "a.obj", []byte("v 0 0 0\nv 2 0 0\nv 3 1 0\nv 2 2 0\nv 0 2 0\nf 1 2 3 4 -1\n")); err != nil ||
		fmt.Sprint(m.Faces) != "[0 1 2 0 2 3 0 3 4]" {
		t.Errorf("a pentagon: %v, %v", m, err)
	}
}

// A concave polygon is cut within itself, wherever it begins, however it lies and in either sense; vertices of open
// edges that are at one place are one.
func TestPolygons(t *testing.T) {
	u := [][2]float64{{-1, -1}, {1, -1}, {1, 1}, {0.5, 1}, {0.5, -0.5}, {-0.5, -0.5}, {-0.5, 1}, {-1, 1}}
	// A square with a square hole, as one loop that goes to the hole and back.
	ring := [][2]float64{{0, 0}, {3, 0}, {3, 3}, {0, 3}, {0, 0}, {1, 1}, {1, 2}, {2, 2}, {2, 1}, {1, 1}}
	star := [][2]float64{{0, 3}, {-1, 1}, {-3, 0}, {-1, -1}, {0, -3}, {1, -1}, {2, -0.5}, {3, 0}, {1, 1}}
	for name, c := range map[string]struct {
		loop [][2]float64
		area float64
	}{"u": {u, 2.5}, "ring": {ring, 8}, "star": {star, 12}} {
		for turn := range 2 * len(c.loop) {
			obj, face := "", "f"
			for k := range c.loop {
				p, sense := c.loop[(k+turn)%len(c.loop)], k+1
				if turn%2 == 1 {
					sense = len(c.loop) - k
				}
				// A plane that no axis lies in, and points off it by 1e-3, as a polygon with rounded numbers has.
				z := p[0] - 2*p[1] + 1e-3*float64(k%2)
				obj += fmt.Sprintf("v %v %v %v\n", p[0]+0.5*p[1], p[1], z)
				face += fmt.Sprintf(" \\\n%d", sense)
			}
			m := testkit.Must(read(t, "a.obj", []byte("# not continued \\\n"+obj+face+" # a face\n")))
			got, n := m.Area()/math.Sqrt(1+1+2.5*2.5), len(m.Faces)/3
			if math.Abs(got/c.area-1) > 2e-3 || n != len(c.loop)-2 {
				t.Errorf("%s from corner %d: area %v in %d triangles, want %v", name, turn, got, n, c.area)
			}
		}
	}
	soup, closed := "", ""
	c := cube()
	for f := range c.Faces {
		v := c.Vertex(c.Faces[f])
		soup += fmt.Sprintf("v %v -%v %v\n", v[0], v[1], v[2])
		if f%3 == 2 {
			soup += "f -1 -2 -3\n"
		}
	}
	for body := range 2 { // two cubes with a common side
		for i := range int32(8) {
			v := c.Vertex(i)
			closed += fmt.Sprintf("v %v %v %v\n", v[0]+float64(body), v[1], v[2])
		}
		for f := 0; f < 36; f += 3 {
			closed += fmt.Sprintf("f %d %d %d\n", c.Faces[f]-8, c.Faces[f+1]-8, c.Faces[f+2]-8)
		}
	}
	for text, want := range map[string]string{soup: "28 1 []", closed: "0 2 []"} {
		m := testkit.Must(read(t, "a.obj", []byte(text)))
		testkit.Equal(t, fmt.Sprint(m.Merged, m.Components(), m.Check()), want, "merged, parts and faults")
	}
}

func TestReadFaults(t *testing.T) {
	f := files()
	edit := func(name, old, new string) []byte {
		if !bytes.Contains(f[name], []byte(old)) {
			t.Fatalf("%s has no %q", name, old)
		}
		return bytes.Replace(f[name], []byte(old), []byte(new), 1)
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"a.off", nil},
		{"a.stl", nil},
		{"a.stl", f["binary.stl"][:600]},
		{"a.stl", f["text.stl"][:500]},
		{"a.stl", edit("text.stl", "endloop", "vertex 0 0 0\nendloop")},
		{"a.stl", edit("text.stl", "vertex 0 0 0", "vertex 0 0")},
		{"a.stl", edit("text.stl", "vertex 0 0 0", "vertex 0 0 x")},
		{"a.stl", edit("text.stl", "outer", "inner")},
		{"a.obj", []byte("v 0 0 0\nv 1 1 0\nv 1 0 0\nv 0 1 0\n\nf 1 2 3 4\n")},
		{"a.obj", []byte("v 0 0 0\nf 1 1 \\\n1 \\\n")},
		{"a.ply", nil},
		{"a.ply", []byte("ply\nformat ascii 1.0\n")},
		{"a.ply", edit("cube.ply", "ascii 1.0", "ascii 2.0")},
		{"a.ply", edit("cube.ply", "format ascii", "format utf8")},
		{"a.ply", edit("cube.ply", "element face 12", "element face -1")},
		{"a.ply", edit("cube.ply", "element edge", "element face")},
		{"a.ply", edit("cube.ply", "property double y", "property half y")},
		{"a.ply", edit("cube.ply", "double y", "double u")},
		{"a.ply", edit("cube.ply", "vertex_indices", "corners")},
		{"a.ply", edit("cube.ply", "comment a cube", "remark")},
		{"a.ply", edit("cube.ply", "uchar int vertex", "float int vertex")},
		{"a.ply", edit("cube.ply", "uchar int vertex", "uchar float vertex")},
		{"a.ply", edit("cube.ply", "200 0 0", "200 0 x")},
		{"a.ply", edit("cube.ply", "200 0 0", "200 0")},
		{"a.ply", edit("cube.ply", "200 0 0", "200 0 0 7")},
		{"a.ply", edit("cube.ply", "200 0 0", "200 0 NaN")},
		{"a.ply", edit("cube.ply", "200 0 0", "200 1e99 0")},
		{"a.ply", edit("cube.ply", "3 0 2 3", "3 0 2 8")},
		{"a.ply", edit("cube.ply", "3 0 2 3", "3 0 2 -1")},
		{"a.ply", edit("cube.ply", "3 0 2 3", "2 0 2")},
		{"a.ply", edit("cube.ply", "3 0 2 3", "3 0 2 1.5")},
		{"a.ply", edit("cube.ply", "vertex 8", "vertex 700000000")},
		{"a.ply", edit("little.ply", "vertex 8", "vertex 700000000")},
		{"a.ply", f["big.ply"][:len(f["big.ply"])-20]},
		{"a.ply", []byte("ply\nformat ascii 1.0\nelement vertex 700000000\nend_header\n")},
		{"a.ply", []byte("ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\nproperty " +
			"float z\nelement face 0\nproperty list uchar int vertex_index\nend_header\n")},
		{"a.obj", []byte("v 1 2\n")},
		{"a.obj", []byte("v 1 2 nan\nv 0 0 0\nv 1 1 1\nf 1 2 3\n")},
		{"a.obj", []byte("v 1 2 3\n")},
		{"a.obj", []byte("v 1 2 3\nf 1 1 0\n")},
		{"a.obj", []byte("v 1 2 3\nf 1 1 -2\n")},
		{"a.obj", []byte("v 1 2 3\nf 1 1 2\n")},
		{"a.obj", []byte("v 1 2 3\nf 1 1\n")},
		{"a.obj", []byte("v 1 2 3\nf 1 1 1\n")},
		{"a.obj", []byte("v 1 2 3 " + strings.Repeat("x", 1<<17))},
		{"a.obj", []byte(strings.Repeat("v 1 2 3 "+strings.Repeat("x", 1<<15)+"\\\n", 3))},
	} {
		_, err := read(t, c.name, c.data)
		testkit.KeepValue(t, fmt.Sprint(fault.KindOf(err), " ", err))
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.ply")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Any bytes give a mesh that is in order or an error, in memory bounded by the bytes.
func FuzzRead(f *testing.F) {
	for _, data := range files() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, decode := range decoders {
			m, err := finished(name, newSource(bytes.NewReader(data), int64(len(data))),
				func(file string, src *source) (*Mesh, error) {
					m, err := decode(file, src)
					// A face of n corners takes at least n bytes and gives n − 2 triangles.
					if m != nil && (cap(m.Vertices) > 1000+64*len(data) || cap(m.Faces) > 1000+64*len(data)) {
						t.Fatalf("%d and %d numbers from %d bytes", cap(m.Vertices), cap(m.Faces), len(data))
					}
					return m, err
				})
			if err != nil {
				continue
			}
			m.Check()
			NewTree(m).Nearest([3]float64{1, 2, 3})
		}
	})
}

func TestMeasure(t *testing.T) {
	m := cube()
	lo, hi := m.Bounds()
	if m.Area() != 6 || math.Abs(m.Volume()-1) > 1e-15 || lo != (vec{}) || hi != (vec{1, 1, 1}) ||
		m.Size() != math.Sqrt(3) || m.Components() != 1 {
		t.Errorf("area %v, volume %v, box %v %v, size %v, %d parts", m.Area(), m.Volume(), lo, hi,
			m.Size(), m.Components())
	}
	testkit.Equal(t, m.Normal(0), (vec{0, 0, -1}), "normal")
	far := &Mesh{Vertices: append(cube().Vertices, 9, 9, 9), Faces: cube().Faces}
	testkit.Equal(t, far.Size(), m.Size(), "a vertex without a face changes the size")
	s := m.Scaled([3]float64{1, 2, 3}, 2)
	if math.Abs(s.Area()-24) > 1e-12 || math.Abs(s.Volume()-8) > 1e-12 || s.Vertices[0] != -2 || s.Vertices[2] != -6 {
		t.Errorf("scaled: area %v, volume %v", s.Area(), s.Volume())
	}
}

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(m *Mesh)
		want string
	}{
		"hole":       {func(m *Mesh) { m.Faces = m.Faces[3:] }, "[0 3 from vertex 0 to 2]"},
		"flipped":    {func(m *Mesh) { m.Faces[0], m.Faces[1] = m.Faces[1], m.Faces[0] }, "[2 3 from vertex 0 to 2]"},
		"manifold":   {func(m *Mesh) { m.Faces = append(m.Faces, 0, 2, 3, 3, 2, 0) }, "[1 3 from vertex 0 to 2]"},
		"fin":        {func(m *Mesh) { m.Faces = append(m.Faces, 0, 2, 6) }, "[1 3 from vertex 0 to 2]"},
		"degenerate": {func(m *Mesh) { m.Faces = append(m.Faces, 4, 4, 4) }, "[4 1 face 12]"},
		"unused":     {func(m *Mesh) { m.Vertices = append(m.Vertices, 9, 9, 9) }, "[5 1 vertex 8]"},
		"inside out": {func(m *Mesh) {
			for f := 0; f < 36; f += 3 {
				m.Faces[f], m.Faces[f+1] = m.Faces[f+1], m.Faces[f]
			}
		}, "[3 1 ]"},
	} {
		m := cube()
		c.edit(m)
		got := ""
		for _, f := range m.Check() {
			got += fmt.Sprintf("[%d %d %s]", f.Kind, f.Count, f.First)
			if !strings.Contains(f.String(), "; ") || strings.Contains(f.String(), "()") {
				t.Errorf("%s: %q does not say what the fault does", name, f)
			}
		}
		testkit.Equal(t, got, c.want, "%s", name)
	}
	// With a hole the sign of the volume says nothing.
	open := cube()
	for f := 0; f < 36; f += 3 {
		open.Faces[f], open.Faces[f+1] = open.Faces[f+1], open.Faces[f]
	}
	open.Faces = open.Faces[3:]
	if faults := open.Check(); len(faults) != 1 || faults[0].Kind != Hole {
		t.Errorf("an open mesh with normals inwards: %v", faults)
	}
	one := &Mesh{Vertices: append(cube().Vertices[:9:9], 9, 9, 9), Faces: []int32{0, 1, 2}}
	testkit.Equal(t, one.Components(), 1, "a triangle, and a vertex without a face")
	two := cube()
	for _, v := range cube().Vertices {
		two.Vertices = append(two.Vertices, v+3)
	}
	for _, i := range cube().Faces {
		two.Faces = append(two.Faces, i+8)
	}
	testkit.Equal(t, two.Components(), 2, "two cubes")
}

// A shell with a cavity, with a ball in the cavity, and another beside it, wherever they are.
func TestCavities(t *testing.T) {
	m := &Mesh{}
	add := func(at, scale float64, inwards bool) {
		c := cube().Scaled(vec{0.5, 0.5, 0.5}, scale)
		n := int32(len(m.Vertices) / 3)
		for _, v := range c.Vertices {
			m.Vertices = append(m.Vertices, v+at)
		}
		for f := 0; f < len(c.Faces); f += 3 {
			a, b := c.Faces[f]+n, c.Faces[f+1]+n
			if inwards {
				a, b = b, a
			}
			m.Faces = append(m.Faces, a, b, c.Faces[f+2]+n)
		}
	}
	for i, want := range []int{0, 1, 1, 1} {
		add([]float64{100, 100, 100, -50}[i], []float64{4, 3, 1, 2}[i], i == 1)
		if m.Components() != i+1 || m.Cavities() != want {
			t.Errorf("%d parts with %d cavities, want %d with %d", m.Components(), m.Cavities(), i+1, want)
		}
	}
}

// brute is Tree.Nearest by looking at all faces.
func brute(m *Mesh, p vec) (face int, distance float64) {
	_, n := m.N()
	var all []candidate
	for f := range n {
		a, b, c := m.Corners(f)
		q := nearestOnTriangle(p, a, b, c)
		d := sub(p, q)
		all = append(all, candidate{int32(f), q, dot(d, d)})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].d2 < all[j].d2 })
	k := 0
	tie := tie(m.Size())
	if n > 1 && all[0].d2 > tie && all[1].d2-all[0].d2 < tie {
		t := Tree{mesh: m}
		if t.facing(p, &all[1]) > t.facing(p, &all[0]) {
			k = 1
		}
	}
	return int(all[k].face), math.Sqrt(all[k].d2)
}

// The tree finds what a look at all faces finds, ties included: points of a grid
// are as near to edges and corners as to faces.
func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := cube()
		if rapid.Bool().Draw(t, "soup") {
			m = &Mesh{}
			for i := range rapid.IntRange(1, 60).Draw(t, "faces") {
				for range 9 {
					m.Vertices = append(m.Vertices, float64(rapid.IntRange(-4, 4).Draw(t, "v")))
				}
				m.Faces = append(m.Faces, int32(3*i), int32(3*i+1), int32(3*i+2))
			}
		}
		tree := NewTree(m)
		for range 20 {
			var p vec
			for j := range p {
				p[j] = float64(rapid.IntRange(-20, 20).Draw(t, "p")) / 4
			}
			face, q, d := tree.Nearest(p)
			wantFace, want := brute(m, p)
			if face != wantFace || math.Abs(d-want) > 1e-12 {
				t.Fatalf("%v: face %d at %v, want %d at %v", p, face, d, wantFace, want)
			}
			if e := sub(p, q); math.Abs(math.Sqrt(dot(e, e))-d) > 1e-12 {
				t.Fatalf("%v: the point %v is not at distance %v", p, q, d)
			}
			_, n := m.N()
			known := rapid.IntRange(0, n-1).Draw(t, "known")
			if f, at, far := tree.NearestFrom(p, known); f != face || at != q || far != d {
				t.Fatalf("%v from face %d: face %d at %v, want %d at %v", p, known, f, far, face, d)
			}
		}
	})
}

// Points without a nearest face: no panic, and nothing that looks like a face. At
// the largest coordinates of a mesh, faces are found.
func TestNearestDomain(t *testing.T) {
	tree := NewTree(cube())
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e61, -math.MaxFloat64} {
		for j := range 3 {
			p := vec{0.5, 0.5, 0.5}
			p[j] = v
			if f, q, d := tree.Nearest(p); f != -1 || q[0] == q[0] || d == d {
				t.Errorf("%v: face %d, point %v, distance %v", p, f, q, d)
			}
		}
	}
	big := cube().Scaled(vec{}, 1e60)
	for _, tree := range []*Tree{tree, NewTree(big)} {
		p := vec{-1e60, 1e60, 1e60}
		if f, _, d := tree.Nearest(p); f < 0 || d-d != 0 {
			t.Errorf("%v: face %d, distance %v", p, f, d)
		}
	}
}

// The last vertex and the last face of the largest mesh have places that int32 holds.
func TestLargestMesh(t *testing.T) {
	last := int32(maxVertices - 1)
	testkit.Equal(t, int64(3*last+2), 3*int64(last)+2, "place")
	testkit.OK(t, fits("m.ply", maxVertices, maxVertices))
	for _, n := range [][2]int{{maxVertices + 1, 1}, {3, maxVertices + 1}} {
		if err := fits("m.ply", n[0], n[1]); fault.Of(err) != (fault.Place{Kind: fault.Data, File: "m.ply"}) {
			t.Errorf("%d vertices and %d faces: %v", n[0], n[1], err)
		}
	}
	header := fmt.Sprintf("ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty "+
		"float z\nend_header\n", maxVertices+1)
	path := filepath.Join(t.TempDir(), "m.ply")
	testkit.OK(t, os.WriteFile(path, []byte(header), 0o666))
	testkit.Refused(t, testkit.Err(Read(path)), "expected 0 to 715827882", "a count of vertices beyond int32")
}

// A mesh of another size has the same nearest faces: scaling by powers of two is
// exact, and points near an edge tie alike.
func TestNearestIsScaleFree(t *testing.T) {
	m := cube()
	tree := NewTree(m)
	z := make([]float64, 3)
	for _, scale := range []float64{0x1p-30, 0x1p-10, 0x1p10, 0x1p40} {
		scaled := NewTree(m.Scaled(vec{}, scale))
		for i := range uint64(2000) {
			// Beside an edge by 1e-6, where squared distances to its faces differ by as much as the tie, and anywhere.
			keyed.New(1, keyed.Probe, 7).Normals(z, i, 0)
			p := vec{z[0], z[1], z[2]}
			if i%2 == 0 {
				p = vec{1 + 0.1*math.Abs(z[0]), 1 + 1e-8*z[1], 0.5 + 0.1*z[2]}
			}
			want, _, d := tree.Nearest(p)
			got, _, ds := scaled.Nearest(vec{scale * p[0], scale * p[1], scale * p[2]})
			if got != want || ds != scale*d {
				t.Fatalf("scale %g, %v: face %d at %v, want %d at %v", scale, p, got, ds, want, scale*d)
			}
		}
	}
}

func TestNearestOnTriangle(t *testing.T) {
	a, b, c := vec{0, 0, 0}, vec{2, 0, 0}, vec{0, 2, 0}
	for _, k := range [][2]vec{
		{{0.5, 0.5, 3}, {0.5, 0.5, 0}}, {{-1, -1, 1}, {0, 0, 0}}, {{1, -3, 2}, {1, 0, 0}}, {{2, 2, 1}, {1, 1, 0}},
		{{5, -1, 0}, {2, 0, 0}}, {{-1, 1, 0}, {0, 1, 0}},
	} {
		if q := nearestOnTriangle(k[0], a, b, c); q != k[1] {
			t.Errorf("nearest to %v is %v, want %v", k[0], q, k[1])
		}
	}
	testkit.Equal(t, nearestOnTriangle(vec{1, 1, 1}, a, b, b), (vec{1, 0, 0}), "nearest on a segment")
}

// The nearest point q of a triangle is the one of its points with (p − q)·(v − q) ≤ 0
// for each corner v. Random triangles, some of them thin, and points around them.
func TestNearestOnRandomTriangles(t *testing.T) {
	st := keyed.New(1, keyed.Probe, 3)
	z := make([]float64, 12)
	area := func(a, b, c vec) float64 { n := cross(sub(b, a), sub(c, a)); return math.Sqrt(dot(n, n)) / 2 }
	for i := range uint64(3000) {
		st.Normals(z, i, 0)
		p, a, b, c := vec(z[:3]), vec(z[3:6]), vec(z[6:9]), vec(z[9:])
		if i%3 == 0 {
			c = along(a, 1e-3*z[9]+0.5, sub(b, a))
			c[0] += 0.1
		}
		if i%5 == 0 {
			p = along(along(a, 0.3*z[1], sub(b, a)), 0.3*z[2], sub(c, a))
		}
		q := nearestOnTriangle(p, a, b, c)
		if out := area(q, b, c) + area(a, q, c) + area(a, b, q) - area(a, b, c); out > 1e-12 {
			t.Fatalf("triangle %d: %v is outside by %.3g", i, q, out)
		}
		for _, v := range []vec{a, b, c} {
			if e := dot(sub(p, q), sub(v, q)); e > 1e-11 {
				t.Fatalf("triangle %d: from %v towards %v the distance to %v falls (%.3g)", i, q, v, p, e)
			}
		}
	}
	a, b := vec{0, 0, 0}, vec{2, 0, 0} // and triangles that are a segment or a point
	for _, k := range [][2]vec{{{-1, 1, 0}, a}, {{3, 1, 0}, b}, {{0.5, 1, 2}, {0.5, 0, 0}}} {
		for _, c := range [][3]vec{{a, b, b}, {b, a, b}, {b, b, a}, {a, b, {1, 0, 0}}} {
			if q := nearestOnTriangle(k[0], c[0], c[1], c[2]); q != k[1] {
				t.Errorf("nearest to %v of %v is %v, want %v", k[0], c, q, k[1])
			}
		}
	}
	testkit.Equal(t, nearestOnTriangle(b, a, a, a), a, "nearest on a point")
}

// Outside an edge the face that looks towards the point is the nearest, unless the
// point is within 1e-4 of the mesh, where it is the first.
func TestNearestAroundAnEdge(t *testing.T) {
	m := cube()
	tree := NewTree(m)
	var first, bottom, side int
	for f := range 12 { // the faces at the edge from (0, 0, 0) to (1, 0, 0)
		a, b, c := m.Corners(f)
		on := 0
		for _, v := range []vec{a, b, c} {
			if v == (vec{}) || v == (vec{1, 0, 0}) {
				on++
			}
		}
		if on < 2 {
			continue
		}
		if m.Normal(f) == (vec{0, 0, -1}) {
			bottom = f
		} else {
			side = f
		}
	}
	first = min(bottom, side)
	for _, c := range []struct {
		p    vec
		want int
	}{
		{vec{0.4, -0.01, -0.03}, bottom}, {vec{0.4, -0.03, -0.01}, side}, {vec{0.4, -0.02, -0.02}, first},
		{vec{0.4, -1e-5, -3e-5}, first}, {vec{0.4, -3e-5, -1e-5}, first},
	} {
		if f, q, _ := tree.Nearest(c.p); f != c.want || q != (vec{0.4, 0, 0}) {
			t.Errorf("nearest to %v are face %d and %v, want face %d", c.p, f, q, c.want)
		}
	}
}

// Points are on their faces, and uniform: χ² of 12 000 points over the 4 quarters (by midpoints) of the 12 faces, 47
// degrees of freedom; 99 is passed by chance once in 10⁵ seeds.
func TestSample(t *testing.T) {
	m := cube()
	m.Vertices[0] = -1 // faces of several areas
	s, st := NewSampler(m, nil), keyed.New(1, keyed.Probe, 0)
	count := make([]float64, 48)
	const n = 12_000
	x := make([]float64, 3)
	for i := range n {
		f, b := s.Sample(x, st, uint64(i), 0)
		quarter := 3
		for k := range 3 {
			if b[k] > 0.5 {
				quarter = k
			}
		}
		count[4*f+quarter]++
		a, e, c := m.Corners(f)
		q := vec{}
		for k, corner := range [3]vec{a, e, c} {
			q = along(q, b[k], corner)
		}
		if d := sub(vec(x), q); dot(d, d) > 1e-28 || min(b[0], b[1], b[2]) < 0 {
			t.Fatalf("sample %d is %v off the point of its face with coordinates %v", i, d, b)
		}
	}
	chi2 := 0.0
	for k, c := range count {
		want := n * m.FaceArea(k/4) / 4 / m.Area()
		chi2 += (c - want) * (c - want) / want
	}
	if chi2 > 99 {
		t.Errorf("χ² = %.1f", chi2)
	}
	weight := make([]float64, 12)
	weight[3], weight[7] = 1, 3
	w, sevens := NewSampler(m, weight), 0
	for i := range 4000 { // 3000 ± 27; 5 deviations pass once in 10⁶ seeds
		f, _ := w.Sample(x, st, uint64(i), 1)
		if f != 3 && f != 7 {
			t.Fatalf("face %d has weight 0", f)
		}
		sevens += f / 7
	}
	testkit.Near(t, float64(sevens), 3000, 137, "face 7 was drawn %d times of 4000", sevens)
}

// The published meshes are closed, and of the sizes that they say.
func TestPublishedMeshes(t *testing.T) {
	for name, faces := range map[string]int{"bunny.ply": 5000, "bunny.obj": 5000, "spot.ply": 5856, "spot.obj": 5856} {
		m := testkit.Must(Read(testkit.Shared(t, "data/mesh/"+name)))
		if _, n := m.N(); n != faces || m.Components() != 1 {
			t.Errorf("%s: %d faces in %d parts", name, n, m.Components())
		}
		for _, f := range m.Check() {
			t.Errorf("%s: %v", name, f)
		}
	}
}

func TestWritePLY(t *testing.T) {
	m := cube()
	m.Vertices[4] = math.Pi
	var b bytes.Buffer
	testkit.OK(t, m.WritePLY(&b))
	back, err := read(t, "a.ply", b.Bytes())
	if err != nil || fmt.Sprint(back) != fmt.Sprint(m) {
		t.Errorf("%v, %v", back, err)
	}
}

// A density integrates to the counts, and one in proportion to area is flat.
func TestDensity(t *testing.T) {
	m := cube()
	m.Vertices[0] = -1
	count := make([]float64, 12)
	for f := range count {
		count[f] = 7 * m.FaceArea(f)
	}
	for v, d := range m.Density(count) {
		if math.Abs(d-7) > 1e-12 {
			t.Errorf("density %v at vertex %d, want 7", d, v)
		}
	}
	clear(count)
	count[3] = 6
	d := m.Density(count)
	for v, got := range d {
		area, want := 0.0, 0.0
		for f := range 12 {
			for _, i := range m.Faces[3*f : 3*f+3] {
				if int(i) == v {
					area += m.FaceArea(f) / 3
					want += count[f] / 3
				}
			}
		}
		testkit.Near(t, got*area, want, 1e-12, "vertex %d: %v on an area of %v", v, got, area)
	}
}

// Cutting leaves area, volume, box and faults as they are, the old vertices in
// place, and each face's four parts in it with a quarter of its area.
func TestSubdivided(t *testing.T) {
	hole := cube()
	hole.Faces = hole.Faces[3:]
	for name, m := range map[string]*Mesh{"cube": cube(), "hole": hole} {
		s := m.Subdivided()
		n, faces := m.N()
		if _, got := s.N(); got != 4*faces || !slices.Equal(s.Vertices[:3*n], m.Vertices) {
			t.Errorf("%s: %d faces of %d", name, got, faces)
		}
		if name == "cube" && len(s.Vertices) != 3*(8+18) {
			t.Errorf("a cube of 18 edges has %d vertices", len(s.Vertices)/3)
		}
		if math.Abs(s.Area()-m.Area()) > 1e-12 || math.Abs(s.Volume()-m.Volume()) > 1e-12 || s.Size() != m.Size() {
			t.Errorf("%s: area %v, volume %v, size %v; want %v, %v, %v", name, s.Area(), s.Volume(), s.Size(), m.Area(),
				m.Volume(), m.Size())
		}
		for f := range 4 * faces {
			if part, whole := s.FaceArea(f), m.FaceArea(f/4); math.Abs(part-whole/4) > 1e-12 ||
				s.Normal(f) != m.Normal(f/4) {
				t.Errorf("%s: face %d has area %v of %v, normal %v of %v", name, f, part, whole,
					s.Normal(f), m.Normal(f/4))
			}
		}
		was, is := m.Check(), s.Check()
		if len(was) != len(is) || len(was) > 0 && (is[0].Kind != Hole || is[0].Count != 2*was[0].Count) {
			t.Errorf("%s: faults %v, before %v", name, is, was)
		}
	}
}

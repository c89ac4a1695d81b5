package keyed

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// The known answers of Random123's kat_vectors for philox4x32-10.
func TestPhiloxKnownAnswers(t *testing.T) {
	const ff = 0xffffffff
	for _, c := range []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ff, ff, ff, ff}, [2]uint32{ff, ff}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{
			[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
		},
	} {
		if got := philox(c.ctr, c.key); got != c.want {
			t.Errorf("philox(%x, %x) = %x, want %x", c.ctr, c.key, got, c.want)
		}
	}
}

// Every address holds its own numbers, and a longer read begins with the shorter one.
func TestAddresses(t *testing.T) {
	seen := map[float64][4]uint64{}
	var buf [5]float64
	for seed := range uint64(3) {
		for p := ForwardNoise; p <= Prior; p++ {
			for index := range uint64(3) {
				s := New(seed, p, index)
				for sample := range uint64(4) {
					for step := range 4 {
						s.Normals(buf[:], sample, step)
						for _, v := range buf {
							at := [4]uint64{seed, uint64(p)<<8 | index, sample, uint64(step)}
							if other, dup := seen[v]; dup {
								t.Fatalf("%v and %v share %v", at, other, v)
							}
							seen[v] = at
						}
						var short [2]float64
						s.Normals(short[:], sample, step)
						if short != [2]float64(buf[:2]) {
							t.Fatalf("a short read differs from a long one")
						}
					}
				}
			}
		}
	}
}

// The first four moments and one tail of n normals. Each bound is 5 standard errors: false-alarm rate below 6e-7 a
// bound, 3e-6 in all (and the seed is fixed, so it fires always or never).
func TestNormalMoments(t *testing.T) {
	const n = 200_000
	s := New(7, Probe, 0)
	x := make([]float64, 3)
	var m1, m2, m3, m4, tail, cross float64
	for i := range n / 2 {
		s.Normals(x, uint64(i), 3)
		for _, v := range x[:2] {
			m1 += v
			m2 += v * v
			m3 += v * v * v
			m4 += v * v * v * v
			if math.Abs(v) > 3 {
				tail++
			}
		}
		cross += x[0] * x[2]
	}
	p := math.Erfc(3 / math.Sqrt2)
	check := func(name string, got, want, sd float64, n int) {
		if z := (got/float64(n) - want) / (sd / math.Sqrt(float64(n))); math.Abs(z) > 5 {
			t.Errorf("%s: %v standard errors off", name, z)
		}
	}
	check("mean", m1, 0, 1, n)
	check("variance", m2, 1, math.Sqrt(2), n)
	check("skewness", m3, 0, math.Sqrt(15), n)
	check("kurtosis", m4, 3, math.Sqrt(96), n)
	check("3σ tail", tail, p, math.Sqrt(p*(1-p)), n)
	check("covariance across blocks", cross, 0, 1, n/2)
}

// Sequences are promised: these change only with a new major version.
func TestGolden(t *testing.T) {
	var x [3]float64
	New(1, ForwardNoise, 2).Normals(x[:], 3, 4)
	want := goldenNormals
	for i := range x {
		if math.Abs(x[i]-want[i]) > 1e-14 {
			t.Errorf("Normals = %.17g, want %.17g", x, want)
			break
		}
	}
}

// Samples beyond 2³² have their own numbers.
func TestLargeSamples(t *testing.T) {
	s := New(1, Probe, 0)
	var a, b [1]float64
	s.Normals(a[:], 5, 0)
	s.Normals(b[:], 5+1<<32, 0)
	if a == b {
		t.Error("samples 5 and 5 + 2³² are the same")
	}
}

func TestPermutationIsOne(t *testing.T) {
	for _, n := range []int{0, 1, 2, 17, 1000} {
		p := make([]int, n)
		New(5, Shuffle, 9).Permutation(p, 0, 0)
		seen := make([]bool, n)
		for _, v := range p {
			if seen[v] {
				t.Fatalf("n = %d: %d twice", n, v)
			}
			seen[v] = true
		}
	}
}

// Each of the 24 orders of 4 things comes up equally often: χ² with 23 degrees
// of freedom stays below 64.5 except with probability 1e-5.
func TestPermutationUniform(t *testing.T) {
	const n = 24_000
	counts := map[[4]int]int{}
	p := make([]int, 4)
	s := New(11, Probe, 1)
	for i := range n {
		s.Permutation(p, uint64(i), 0)
		counts[[4]int(p)]++
	}
	chi2 := 0.0
	for _, c := range counts {
		d := float64(c) - n/24.0
		chi2 += d * d / (n / 24.0)
	}
	if len(counts) != 24 || chi2 > 64.5 {
		t.Errorf("%d orders, χ² = %v", len(counts), chi2)
	}
}

func TestNormalsAllocateNothing(t *testing.T) {
	s := New(1, Probe, 0)
	x := make([]float64, 7)
	if n := testing.AllocsPerRun(100, func() { s.Normals(x, 3, 4) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

var goldenNormals = [3]float64{0.027642962900707422, -1.2381728311802143, 0.065303533436201225}

// The parts of a sample, parts of parts, and the sample itself have different numbers,
// and those of two parts are not correlated: of 20 000 products of standard normals the
// mean is within 5/√20000 = 0.035 with a false-alarm rate of 6·10⁻⁷. They are promised.
func TestParts(t *testing.T) {
	s := New(1, Probe, 40)
	streams := []Stream{s, s.Part(0), s.Part(1), s.Part(1 << 40), s.Part(0).Part(0), s.Part(0).Part(1),
		s.Part(1).Part(0)}
	const n = 20_000
	x := make([][]float64, len(streams))
	for i, st := range streams {
		x[i] = make([]float64, n)
		for k := range n {
			st.Normals(x[i][k:k+1], uint64(k), 0)
		}
	}
	for i := range x {
		for j := range i {
			sum := 0.0
			for k, v := range x[i] {
				if v == x[j][k] {
					t.Fatalf("streams %d and %d share a number", j, i)
				}
				sum += v * x[j][k]
			}
			if math.Abs(sum/n) > 0.035 {
				t.Errorf("streams %d and %d: mean product %v", j, i, sum/n)
			}
		}
	}
	if got := s.Part(7).key; got != [2]uint32{0x105643d1, 0xcc46a79b} {
		t.Errorf("the key of a part is %#x", got)
	}
}

// No two uses of a purpose share an index, but for data sets, which number theirs
// each for itself; nor do two sets of forward paths.
func TestLedgerDisjoint(t *testing.T) {
	apart := func(a, b Block, what, other string) {
		if a.First > a.Last || a.First <= b.Last && b.First <= a.Last {
			t.Errorf("%q and %q share indices: %v, %v", what, other, a, b)
		}
	}
	for i, u := range ledger {
		for _, v := range ledger[:i] {
			if u.what == v.what {
				t.Errorf("two uses are called %q", u.what)
			}
			if u.purpose == v.purpose && u.scope == v.scope {
				apart(u.block, v.block, u.what, v.what)
			}
		}
		if (u.scope != "") != (u.purpose == Synthetic) {
			t.Errorf("%q: scope %q of purpose %d", u.what, u.scope, u.purpose)
		}
	}
	for i, b := range refreshes {
		for _, c := range refreshes[:i] {
			apart(*b, *c, "forward paths", "others")
		}
	}
	if len(ledger) < 30 || len(refreshes) != 7 {
		t.Errorf("%d uses, %d sets of paths", len(ledger), len(refreshes))
	}
}

// The addresses of a few uses, which old runs rest on.
func TestLedgerValues(t *testing.T) {
	for _, c := range []struct {
		use  *Use
		i    uint64
		want Stream
	}{
		{PathNoise, PriorPaths.At(0), New(3, ForwardNoise, 1<<40)},
		{PathMomentum, CheckPaths.At(0), New(3, ForwardMomentum, 1<<41)},
		{PathNoise, TerminalPaths.At(0), New(3, ForwardNoise, 1<<42)},
		{PathNoise, StartPaths.At(0), New(3, ForwardNoise, 1<<43)},
		{PathNoise, HeldPaths.At(0), New(3, ForwardNoise, 1<<44)},
		{PathLastMomentum, WindowPaths.At(0), New(3, LastMomentum, 1<<64-1)},
		{PathNoise, TrainingPaths.At(7), New(3, ForwardNoise, 7)},
		{GeneratedMomentum, 0, New(3, Prior, 1)},
		{RowOrder, 5, New(3, Shuffle, 5)},
		{PathRows, 5, New(3, Shuffle, 1<<40+5)},
		{FloorDraws, 5, New(3, Evaluation, 5)},
		{Relabelling, 0, New(3, Evaluation, 1<<32+1)},
		{UniformScore, 0, New(3, Evaluation, 1<<33)},
		{StartDraws, 9, New(3, Evaluation, 1<<34+9)},
		{ChainPoints, 0, New(3, ChainStart, 1)},
		{EvidencePoints, 0, New(3, Probe, 0xd0c)},
		{OwnData, 11, New(3, Synthetic, 11)},
		{EigenfunctionData, 50, New(3, SurfaceData, 50)},
	} {
		if got := c.use.Stream(3, c.i); got != c.want {
			t.Errorf("%s %d: %v, want %v", c.use.what, c.i, got, c.want)
		}
	}
	for _, c := range []struct {
		training, held *Use
		refresh        uint64
		want           Stream
	}{
		{LevelNoise, HeldLevelNoise, 7, New(3, FewStep, 7)},
		{LevelNoise, HeldLevelNoise, HeldPaths.At(0), New(3, FewStep, 1<<44)},
		{Hands, HeldHands, 7, New(3, FewStep, 1<<43+7)},
		{Hands, HeldHands, HeldPaths.At(0), New(3, FewStep, 1<<44+1)},
		{FlowTimes, HeldTimes, 7, New(3, FlowTime, 7)},
		{FlowTimes, HeldTimes, HeldPaths.At(0), New(3, FlowTime, 1<<44)},
	} {
		if got := Refreshed(c.training, c.held, 3, c.refresh); got != c.want {
			t.Errorf("%s, refresh %d: %v, want %v", c.training.what, c.refresh, got, c.want)
		}
	}
	if Round(5, 0) != 5 || Round(5, 2) != 5+2<<32 {
		t.Error("Round")
	}
}

func TestBlockEnds(t *testing.T) {
	Block{3, 5}.At(2)
	defer func() {
		if recover() == nil {
			t.Error("index 3 of a block of 3 to 5")
		}
	}()
	Block{3, 5}.At(3)
}

// Production code takes its streams and its sets of forward paths from the
// ledger: it never calls New, nor numbers paths by a literal.
func TestEveryUseIsInTheLedger(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			switch name := d.Name(); {
			case name == "keyed", name == "constrainttest", name == "testkit", name == "testdata", len(name) > 2 &&
				name[0] == '.':
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, _ := f.X.(*ast.Ident)
			switch {
			case f.Sel.Name == "New" && pkg != nil && pkg.Name == "keyed":
				t.Errorf("%v: keyed.New; use a name of base/keyed/keyed.go", files.Position(call.Pos()))
			case f.Sel.Name == "Stream" && len(call.Args) == 2:
				seen++
			case f.Sel.Name == "EmpiricalPrior", f.Sel.Name == "Forward" && len(call.Args) == 5:
				seen++
				switch call.Args[len(call.Args)-1].(type) {
				case *ast.BasicLit, *ast.BinaryExpr:
					t.Errorf("%v: a set of paths by its number; use a block of base/keyed/keyed.go",
						files.Position(call.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 30 {
		t.Errorf("%d uses found in the source; the test looks past them", seen)
	}
}

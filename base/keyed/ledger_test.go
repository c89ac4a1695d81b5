package keyed

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

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

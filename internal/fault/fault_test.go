package fault

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// The kind of an error is the first in the order of kinds, wherever it is wrapped; only configuration and output have
// a place.
func TestOf(t *testing.T) {
	data := Errorf(Data, "a.csv", "%d rows", 3)
	open := &fs.PathError{Op: "open", Path: "b", Err: syscall.ENOENT}
	full := &fs.PathError{Op: "open", Path: "b", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err  error
		want Place
	}{
		{errors.New("x"), Place{Kind: Failure}},
		{fmt.Errorf("x: %w", data), Place{Kind: Data, File: "a.csv"}},
		{errors.Join(open, errors.Join(data)), Place{Kind: Data, File: "a.csv"}},
		{errors.Join(data, Errorf(Check, "", "x")), Place{Kind: Check}},
		{errors.Join(data, context.Canceled), Place{Kind: Interrupted}},
		{errors.Join(context.Canceled, Errorf(Time, "", "x")), Place{Kind: Time}},
		{open, Place{Kind: File, File: "b"}},
		{full, Place{Kind: Write, File: "b"}},
		{errors.Join(full, data), Place{Kind: Write, File: "a.csv"}},
		{syscall.EPIPE, Place{Kind: Write}},
		{Errorf(Config, "", "x: %w", open), Place{Kind: File, File: "b"}},
		{&fs.PathError{Path: "a/.tmp-1", Err: syscall.ENOENT}, Place{Kind: Config}},
	} {
		testkit.Equal(t, Of(c.err), c.want, "%v", c.err)
	}
	testkit.Equal(t, data.Error(), "a.csv: 3 rows", "got %q", data)
}

// without are error types without a place, by what becomes of them.
var without = map[string]string{
	"a caller puts them into an error with a file, a line or a key": `domain/conformation.Error constraint/formula.Error
		domain/trajectory.Error constraint/zoo.DomainError problem/discover.Error
		base/expr.Error base/expr.NonFinite base/expr.fault langevin.PriorError
		domain/molecule.NameError base/superpose.DegenerateError
		base/superpose.ReferenceError internal/parquetfile.Error internal/parquetfile.NumberError problem/sets.Error
		learn/score.OptionError
		learn/score/networks.KindError learn/score/networks.UnitError`,
	"the command makes usage errors of them": `study/work.ListError`,
	"they wrap others":                       `cmd/landing.kept cmd/landing.keptFolder study/sweep.RefusedError`,
	"the service answers with them":          `study/engine.PanicError study/serve.fault`,
}

// Every error type says of what kind it is, or stands in the table above: otherwise it would be exit code 1 unnoticed.
func TestEveryErrorHasAKind(t *testing.T) {
	root := os.DirFS("../..")
	methods := map[string]map[string]bool{} // of a type
	err := fs.WalkDir(root, ".", func(at string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case err != nil:
			return err
		case e.IsDir() && at != "." && (strings.HasPrefix(name, ".") || name == "testdata"):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(root, at)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), at, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "Error" && fn.Name.Name != "Place" {
				continue
			}
			on := fn.Recv.List[0].Type
			if star, ok := on.(*ast.StarExpr); ok {
				on = star.X
			}
			if id, ok := on.(*ast.Ident); ok {
				name := path.Dir(at) + "." + id.Name
				if methods[name] == nil {
					methods[name] = map[string]bool{}
				}
				methods[name][fn.Name.Name] = true
			}
		}
		return nil
	})
	testkit.OK(t, err)
	known := map[string]string{}
	for reason, names := range without {
		for name := range strings.FieldsSeq(names) {
			known[name] = reason
		}
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		has := methods[name]
		if known[name] == "" && has["Error"] && !has["Place"] {
			t.Errorf("%s needs a method Place, or a row that says what becomes of it", name)
		} else if known[name] != "" && has["Place"] {
			t.Errorf("%s has a place, and needs no row that says: %s", name, known[name])
		}
	}
}

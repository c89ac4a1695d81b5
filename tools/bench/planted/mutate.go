package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A mutant is a fault planted in a source file.
type mutant struct {
	Path     string // of the file, from the module's root, with slashes
	Line     int
	Column   int
	Function string
	Kind     string // what was changed: operator, condition, constant, …
	Was, Is  string // the expression or statement
	Within   string // the line of a constant, which else would not say which one

	// A mutation is a faulty copy of its function, a fault that is written down a whole file:
	Package string
	hook    *hook
	copy    string
	source  []byte
	number  int // in the environment of the tests, from 1
}

// name identifies a mutant without line numbers, so that a list of equivalent ones
// survives edits elsewhere.
func (m *mutant) name() string {
	name := fmt.Sprintf("%s %s: %s: %s -> %s", m.Path, m.Function, m.Kind, m.Was, m.Is)
	if m.Within != "" {
		name += " in " + m.Within
	}
	return name
}

// operators maps each operator to what it is mistaken for.
var operators = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
}

// A site is a place where a fault can be planted: apply changes the syntax tree and
// returns what was and is there; undo takes it back.
type site struct {
	node  ast.Node // whose line is told
	kind  string
	show  ast.Node // printed before and after
	apply func()
	undo  func()
}

// sites lists the places of a function in the order of the source.
func sites(f *ast.FuncDecl) []site {
	var out []site
	add := func(s site) { out = append(out, s) }
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && id.Name == "panic" {
				return false // messages of programmers' mistakes
			}
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok &&
					(pkg.Name == "fmt" || pkg.Name == "errors" || pkg.Name == "strings" || infinite(sel, n.Args)) {
					return false // texts, and +∞, which Inf(2) is too
				}
				swapSelector(sel, add)
			}
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "min" || id.Name == "max") {
				was, is := id.Name, map[string]string{"min": "max", "max": "min"}[id.Name]
				add(site{n, "call", n, func() { id.Name = is }, func() { id.Name = was }})
			}
		case *ast.BinaryExpr:
			if to, ok := operators[n.Op]; ok && !textual(n) {
				was := n.Op
				add(site{n, "operator", n, func() { n.Op = to }, func() { n.Op = was }})
			}
		case *ast.AssignStmt:
			if to, ok := operators[n.Tok]; ok {
				was := n.Tok
				add(site{n, "operator", n, func() { n.Tok = to }, func() { n.Tok = was }})
			}
		case *ast.UnaryExpr:
			if n.Op == token.SUB {
				add(site{n, "sign", n, func() { n.Op = token.ADD }, func() { n.Op = token.SUB }})
			}
		case *ast.IfStmt:
			was := n.Cond
			add(site{n.Cond, "condition", n.Cond,
				func() { n.Cond = &ast.UnaryExpr{Op: token.NOT, X: &ast.ParenExpr{X: was}} }, func() { n.Cond = was }})
		case *ast.IndexExpr:
			if id, ok := n.Index.(*ast.Ident); ok {
				add(site{n, "index", n, func() {
					n.Index = &ast.BinaryExpr{X: id, Op: token.SUB, Y: &ast.BasicLit{Kind: token.INT, Value: "1"}}
				}, func() { n.Index = id }})
			}
		case *ast.BasicLit:
			if was, is := n.Value, constant(n); is != "" {
				add(site{n, "constant", n, func() { n.Value = is }, func() { n.Value = was }})
			}
		case *ast.BlockStmt:
			for i, s := range n.List {
				if !removable(s) {
					continue
				}
				add(site{s, "statement", nil, func() { n.List[i] = &ast.EmptyStmt{} }, func() { n.List[i] = s }})
			}
		}
		return true
	})
	return out
}

// swapSelector mistakes sin for cos and the like.
func swapSelector(sel *ast.SelectorExpr, add func(site)) {
	swaps := map[string]string{"Sin": "Cos", "Cos": "Sin", "Max": "Min", "Min": "Max", "Floor": "Ceil", "Ceil": "Floor"}
	was := sel.Sel.Name
	is, ok := swaps[was]
	if pkg, isPkg := sel.X.(*ast.Ident); !ok || !isPkg || pkg.Name != "math" {
		return
	}
	add(site{sel, "call", sel, func() { sel.Sel.Name = is }, func() { sel.Sel.Name = was }})
}

// textual reports whether an expression joins strings, of which one is a literal.
func textual(n *ast.BinaryExpr) bool {
	for _, x := range []ast.Expr{n.X, n.Y} {
		switch x := x.(type) {
		case *ast.BasicLit:
			if x.Kind == token.STRING {
				return true
			}
		case *ast.BinaryExpr:
			if textual(x) {
				return true
			}
		}
	}
	return false
}

// infinite reports whether a call is math.Inf or math.IsInf(…, 1).
func infinite(f *ast.SelectorExpr, of []ast.Expr) bool {
	return f.Sel.Name == "Inf" || f.Sel.Name == "IsInf" && len(of) == 2 && literal(of[1]) == "1"
}

// literal returns the text of a literal, "" of anything else.
func literal(e ast.Expr) string {
	if b, ok := e.(*ast.BasicLit); ok {
		return b.Value
	}
	return ""
}

// constant returns another value: a whole number plus one, any other doubled, or 1 for 0.
func constant(n *ast.BasicLit) string {
	switch n.Kind {
	case token.INT:
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return strconv.FormatInt(v+1, 10)
		}
	case token.FLOAT:
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil && v == 0 {
			return "1.0"
		}
		return "(2 * " + n.Value + ")"
	}
	return ""
}

// removable reports whether a statement can be left out and the file still build.
func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return s.Tok != token.DEFINE
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := call.Fun.(*ast.Ident)
		return !ok || id.Name != "panic"
	}
	return false
}

// plant returns the mutants of a package's production files, in the order of the
// source. root is the module's folder.
func plant(root, folder string) ([]*mutant, error) {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var out []*mutant
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if !builds(path, source) {
			continue
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		of, err := mutants(filepath.ToSlash(rel), source)
		if err != nil {
			return nil, err
		}
		out = append(out, of...)
	}
	return out, nil
}

// mutants returns those of one file.
func mutants(path string, source []byte) ([]*mutant, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	text := func(n any) string {
		var b bytes.Buffer
		if err := printer.Fprint(&b, set, n); err != nil {
			return err.Error()
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	lines := strings.Split(string(source), "\n")
	var out []*mutant
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || skipped(f.Name.Name) {
			continue
		}
		h := newHook(f, set)
		for _, s := range sites(f) {
			at := set.Position(s.node.Pos())
			m := &mutant{
				Path: path, Line: at.Line, Column: at.Column, Function: f.Name.Name, Kind: s.kind,
				Package: file.Name.Name, hook: h,
			}
			show := func() string {
				if s.show == nil {
					return text(s.node)
				}
				return text(s.show)
			}
			m.Was = show()
			s.apply()
			switch s.kind {
			case "statement":
				m.Is = "nothing"
			case "condition":
				m.Is = "!(" + m.Was + ")"
			default:
				m.Is = show()
			}
			if s.kind == "constant" {
				m.Within = strings.Join(strings.Fields(lines[at.Line-1]), " ")
			}
			m.copy, err = faultyCopy(f, set)
			s.undo()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.name(), err)
			}
			out = append(out, m)
		}
	}
	return out, nil
}

// skipped names functions whose faults show in words only.
func skipped(function string) bool {
	return function == "String" || function == "Error" || function == "Name"
}

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// A mutant is a fault planted in a function.
type mutant struct {
	Package  string
	Path     string // of the file, from the module's root, with slashes
	Line     int
	Column   int
	Function string
	Kind     string // what was changed: operator, condition, constant, …
	Was, Is  string // the expression or statement
	Within   string // the line of a constant, which else would not say which one

	brace   int    // offset in the source after the brace of the function's body
	body    string // with the fault
	returns bool   // the function returns something
	number  int    // in the environment of the tests, from 1
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

// A source is a file that is parsed.
type source struct {
	path string
	set  *token.FileSet
	tree *ast.File
}

func parse(path string, text []byte) (*source, error) {
	s := &source{path: path, set: token.NewFileSet()}
	var err error
	s.tree, err = parser.ParseFile(s.set, path, text, parser.ParseComments)
	return s, err
}

// print writes a part of the tree as Go.
func (s *source) print(n any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, s.set, n); err != nil {
		panic("planted: " + err.Error()) // there is no such node
	}
	return b.String()
}

// short writes a part of the tree in one line.
func (s *source) short(n any) string { return strings.Join(strings.Fields(s.print(n)), " ") }

// mutant returns one of a function, with no fault yet.
func (s *source) mutant(f *ast.FuncDecl) *mutant {
	return &mutant{Package: s.tree.Name.Name, Path: s.path, Function: f.Name.Name,
		brace: s.set.Position(f.Body.Lbrace).Offset + 1, returns: f.Type.Results != nil}
}

// body prints the body of a function for a copy beside the sound one: its labels have names of its own.
func (s *source) body(f *ast.FuncDecl) string {
	var labels []*ast.Ident
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.LabeledStmt:
			labels = append(labels, n.Label)
		case *ast.BranchStmt:
			if n.Label != nil {
				labels = append(labels, n.Label)
			}
		}
		return true
	})
	for _, l := range labels {
		l.Name += numberMark
		defer func() { l.Name = strings.TrimSuffix(l.Name, numberMark) }()
	}
	return s.print(f.Body)
}

// operators maps each operator to what it is mistaken for.
var operators = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
}

// functions maps functions of package math, and min and max, to what they are mistaken for.
var functions = map[string]string{"Sin": "Cos", "Cos": "Sin", "Max": "Min", "Min": "Max", "Floor": "Ceil",
	"Ceil": "Floor", "min": "max", "max": "min"}

// A site is a place where a fault can be planted: plant changes the syntax tree, and what it returns takes that back.
type site struct {
	node  ast.Node
	kind  string
	plant func() (undo func())
}

// change plants a value.
func change[T any](at *T, to T) func() (undo func()) {
	return func() func() {
		was := *at
		*at = to
		return func() { *at = was }
	}
}

// sites lists the places of a function in the order of the source.
func sites(f *ast.FuncDecl) (out []site) {
	add := func(node ast.Node, kind string, plant func() (undo func())) {
		out = append(out, site{node, kind, plant})
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			switch called := n.Fun.(type) {
			case *ast.Ident:
				if called.Name == "panic" {
					return false // messages of programmers' mistakes
				}
				if to := functions[called.Name]; to == "min" || to == "max" {
					add(n, "call", change(&called.Name, to))
				}
			case *ast.SelectorExpr:
				pkg, ok := called.X.(*ast.Ident)
				if !ok {
					break
				}
				if slices.Contains([]string{"fmt", "errors", "strings"}, pkg.Name) || infinite(called, n.Args) {
					return false // texts, and +∞, which Inf(2) is too
				}
				if to := functions[called.Sel.Name]; pkg.Name == "math" && to != "" {
					add(called, "call", change(&called.Sel.Name, to))
				}
			}
		case *ast.BinaryExpr:
			if to, ok := operators[n.Op]; ok && !textual(n) {
				add(n, "operator", change(&n.Op, to))
			}
		case *ast.AssignStmt:
			if to, ok := operators[n.Tok]; ok {
				add(n, "operator", change(&n.Tok, to))
			}
		case *ast.UnaryExpr:
			if n.Op == token.SUB {
				add(n, "sign", change(&n.Op, token.ADD))
			}
		case *ast.IfStmt:
			not := &ast.UnaryExpr{Op: token.NOT, X: &ast.ParenExpr{X: n.Cond}}
			add(n.Cond, "condition", change(&n.Cond, ast.Expr(not)))
		case *ast.IndexExpr:
			if _, ok := n.Index.(*ast.Ident); ok {
				before := &ast.BinaryExpr{X: n.Index, Op: token.SUB, Y: &ast.BasicLit{Kind: token.INT, Value: "1"}}
				add(n, "index", change(&n.Index, ast.Expr(before)))
			}
		case *ast.BasicLit:
			if is := constant(n); is != "" {
				add(n, "constant", change(&n.Value, is))
			}
		case *ast.BlockStmt:
			for i, s := range n.List {
				if removable(s) {
					add(s, "statement", change(&n.List[i], ast.Stmt(&ast.EmptyStmt{})))
				}
			}
		}
		return true
	})
	return out
}

// textual reports whether an expression joins strings, of which one is a literal.
func textual(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING
	case *ast.BinaryExpr:
		return textual(e.X) || textual(e.Y)
	}
	return false
}

// infinite reports whether a call is math.Inf or math.IsInf(…, 1).
func infinite(f *ast.SelectorExpr, args []ast.Expr) bool {
	if f.Sel.Name == "IsInf" && len(args) == 2 {
		sign, ok := args[1].(*ast.BasicLit)
		return ok && sign.Value == "1"
	}
	return f.Sel.Name == "Inf"
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

// mutants returns those of one file, in the order of the source, but for functions whose faults show in words only.
func mutants(path string, text []byte) ([]*mutant, error) {
	s, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	var out []*mutant
	for _, d := range s.tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || slices.Contains([]string{"String", "Error", "Name"}, f.Name.Name) {
			continue
		}
		for _, site := range sites(f) {
			m, at := s.mutant(f), s.set.Position(site.node.Pos())
			m.Line, m.Column, m.Kind, m.Was = at.Line, at.Column, site.kind, s.short(site.node)
			undo := site.plant()
			switch m.Is = s.short(site.node); site.kind {
			case "statement":
				m.Is = "nothing"
			case "condition":
				m.Is = "!(" + m.Was + ")"
			case "constant":
				m.Within = strings.Join(strings.Fields(lines[at.Line-1]), " ")
			}
			m.body = s.body(f)
			undo()
			out = append(out, m)
		}
	}
	return out, nil
}

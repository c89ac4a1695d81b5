package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// A mutant is a fault planted in a function: the source from an offset to another is replaced by text.
type mutant struct {
	path     string // of the file, from the module's root, with slashes
	line     int
	function string
	kind     string // what was changed: operator, condition, constant, …
	was, is  string // the expression or statement
	within   string // the line of a constant, which else would not say which one

	from, to int
	text     string
}

// name identifies a mutant without line numbers, so that a list of equivalent ones
// survives edits elsewhere.
func (m *mutant) name() string {
	name := fmt.Sprintf("%s %s: %s: %s -> %s", m.path, m.function, m.kind, m.was, m.is)
	if m.within != "" {
		name += " in " + m.within
	}
	return name
}

// planted returns the source with the fault.
func (m *mutant) planted(source []byte) []byte {
	return slices.Concat(source[:m.from], []byte(m.text), source[m.to:])
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

// mutants returns those of one file, in the order of the source, but for functions whose faults show in words only.
func mutants(path string, source []byte) ([]*mutant, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, source, 0)
	if err != nil {
		return nil, err
	}
	p := &planter{path: path, source: string(source), set: set}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Body != nil && !slices.Contains([]string{"String", "Error", "Name"}, f.Name.Name) {
			p.function = f.Name.Name
			ast.Inspect(f.Body, p.visit)
		}
	}
	return p.out, nil
}

// A planter gathers the mutants of a file.
type planter struct {
	path, source, function string
	set                    *token.FileSet
	out                    []*mutant
}

func (p *planter) offset(at token.Pos) int { return p.set.Position(at).Offset }

// add plants a text, which replaces the text at a position in a node.
func (p *planter) add(node ast.Node, kind string, at token.Pos, was, text string) {
	begin, end := p.offset(node.Pos()), p.offset(node.End())
	m := &mutant{path: p.path, line: p.set.Position(node.Pos()).Line, function: p.function, kind: kind,
		from: p.offset(at), text: text}
	m.to = m.from + len(was)
	m.was = oneLine(p.source[begin:end])
	m.is = oneLine(p.source[begin:m.from] + text + p.source[m.to:end])
	p.out = append(p.out, m)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// visit looks for faults in a node, and reports whether to look below it.
func (p *planter) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return p.call(n)
	case *ast.BinaryExpr:
		if to, ok := operators[n.Op]; ok && !textual(n) {
			p.add(n, "operator", n.OpPos, n.Op.String(), to.String())
		}
	case *ast.AssignStmt:
		if to, ok := operators[n.Tok]; ok {
			p.add(n, "operator", n.TokPos, n.Tok.String(), to.String())
		}
	case *ast.UnaryExpr:
		if n.Op == token.SUB {
			p.add(n, "sign", n.OpPos, "-", "+")
		}
	case *ast.IfStmt:
		cond := p.source[p.offset(n.Cond.Pos()):p.offset(n.Cond.End())]
		p.add(n.Cond, "condition", n.Cond.Pos(), cond, "!("+cond+")")
	case *ast.IndexExpr:
		if i, ok := n.Index.(*ast.Ident); ok {
			p.add(n, "index", i.Pos(), i.Name, i.Name+"-1")
		}
	case *ast.BasicLit:
		if is := constant(n); is != "" {
			p.add(n, "constant", n.Pos(), n.Value, is)
			line := p.set.Position(n.Pos()).Line
			p.out[len(p.out)-1].within = oneLine(strings.Split(p.source, "\n")[line-1])
		}
	case *ast.BlockStmt:
		for _, s := range n.List {
			if removable(s) {
				p.add(s, "statement", s.Pos(), p.source[p.offset(s.Pos()):p.offset(s.End())], "")
				p.out[len(p.out)-1].is = "nothing"
			}
		}
	}
	return true
}

// call looks for faults in what is called. Below calls that make messages there is nothing to plant.
func (p *planter) call(n *ast.CallExpr) bool {
	switch called := n.Fun.(type) {
	case *ast.Ident:
		if called.Name == "panic" {
			return false // messages of programmers' mistakes
		}
		if to := functions[called.Name]; to == "min" || to == "max" {
			p.add(n, "call", called.Pos(), called.Name, to)
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
			p.add(called, "call", called.Sel.Pos(), called.Sel.Name, to)
		}
	}
	return true
}

// textual reports whether an expression joins strings, one of them a literal.
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

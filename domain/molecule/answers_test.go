package molecule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// An input is the atoms' names, bonds (1-2, 1=2 or 1#2) and references (?CA). Answers are all that molecules tell of
// names and the graph, and bonds and angles of two conformations: walks along the bonds in steps of 1.3 Å.
func TestAnswers(t *testing.T) {
	testkit.Cases(t, func(input string) string {
		var names, refs []string
		var bonds []Bond
		order := map[Bond]int{}
		for word := range strings.FieldsSeq(input) {
			var b Bond
			var kind rune
			if n, _ := fmt.Sscanf(word, "%d%c%d", &b[0], &kind, &b[1]); n == 3 {
				bonds, order[ordered(b[0], b[1])] = append(bonds, b), 1+strings.IndexRune("-=#", kind)
			} else if ref, is := strings.CutPrefix(word, "?"); is {
				refs = append(refs, ref)
			} else {
				names = append(names, word)
			}
		}
		m, err := FromNames(names)
		if err == nil {
			err = m.SetBonds(bonds)
		}
		if err != nil {
			return err.Error()
		}
		var out strings.Builder
		say := func(what string, v ...any) {
			fmt.Fprintf(&out, "%s: %s\n", what, strings.TrimSpace(fmt.Sprintln(v...)))
		}
		for _, b := range m.Bonds {
			if len(order) > 0 && m.N() > 3 {
				m.Orders = append(m.Orders, order[b])
			}
		}
		class, short := map[int]int{}, []int{}
		for i, c := range m.Classes() {
			if _, met := class[c]; !met {
				class[c] = i
			}
			short = append(short, class[c])
		}
		say("formula, bonds, classes, exchanges", m.Formula(), m.Bonds, short, m.Exchanges())
		say("rings, angles, torsions", m.Rings(), m.Angles(), m.Torsions())
		for _, b := range m.Bonds {
			say(m.Label(b[0])+"–"+m.Label(b[1]), m.Beyond(b[0], b[1]), m.Beyond(b[1], b[0]))
		}
		part := m.Part([]int{m.N() - 1, 1, 0}[:min(m.N(), 3)])
		say("heavy atoms, a part", m.Heavy(), part.Formula(), part.Bonds, part.Orders, part.Guessed)
		for _, ref := range refs {
			i, err := m.Select(ref)
			say(ref, i, err)
		}
		x := make([][]float64, 2)
		for k := range x {
			x[k] = make([]float64, 3*m.N())
			keyed.New(3, keyed.Probe, 0).Normals(x[k], uint64(k), 0)
			for i := 3; i < len(x[k]); i += 3 {
				a, from := x[k][i:i+3], x[k][:3]
				for _, b := range m.Bonds {
					if b[1] == i/3 {
						from = x[k][3*b[0]:][:3]
						break
					}
				}
				size := Distance(append([]float64{0, 0, 0}, a...), 0, 1)
				for j := range a {
					a[j] = from[j] + 1.3*a[j]/size
				}
			}
			named, doubt := m.Described(x[k])
			say("conformation", m.GuessBonds(x[k]), named, doubt)
		}
		if m.N() > 3 {
			say("picked", fmt.Sprintf("%.6g", Picked(x[0], []int{2, 0})))
			most, by := m.Turned(x[0], x[1])
			say("turned", most, fmt.Sprintf("%.6g", by))
			say("geometry", fmt.Sprintf("%.6g %.6g %.6g %.6g", Distance(x[0], 0, 3), Angle(x[0], 3, 0, 2),
				Torsion(x[0], 3, 1, 0, 2), Volume(x[0], 2, 3, 1, 0)))
		}
		return strings.TrimSpace(out.String())
	})
}

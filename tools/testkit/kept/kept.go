// Package kept compares all that a kind of data does with points with what is kept: texts in full, pictures and files
// by a checksum.
package kept

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A Canvas keeps what is drawn on it.
type Canvas struct{ T testing.TB }

var digits = regexp.MustCompile(`-?\d+\.\d+(e[-+]?\d+)?`)

// rounded returns a text with at most six digits of each number: kernels round the others differently.
func rounded(text string) string {
	return digits.ReplaceAllStringFunc(text, func(s string) string {
		v, _ := strconv.ParseFloat(s, 64)
		if math.Abs(v) < 1e-9 {
			return "0"
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	})
}

// short returns a text, or of a long one the beginning and a checksum.
func short(text string) string {
	const most = 300
	if text = rounded(text); len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes, %08x)", strings.ToValidUTF8(text[:most], ""), len(text),
		crc32.ChecksumIEEE([]byte(text)))
}

func (c Canvas) Add(name string, ref figure.FigureRef, pic figure.Picture) {
	var b bytes.Buffer
	testkit.OK(c.T, pic.WriteSVG(&b))
	testkit.Keep(c.T, "picture %s: %q %q wide %v row %v, %08x", name, ref.Title, rounded(ref.Caption), ref.Wide,
		ref.Row, crc32.ChecksumIEEE([]byte(rounded(b.String()))))
}

func (c Canvas) PNG(name string, _ figure.Picture) { testkit.Keep(c.T, "file %s", name) }
func (c Canvas) Note(remark string)                { testkit.Keep(c.T, "note %s", remark) }

func (c Canvas) Scene(s figure.Scene) {
	text, err := json.Marshal(s)
	if err != nil {
		text = []byte(fmt.Sprintf("%+v", s))
	}
	testkit.Keep(c.T, "scene %s", short(string(text)))
}

// Domain keeps all that a domain does with rows of d numbers. Findings of names that begin with `but`, if it is not
// empty, depend on the machine.
func Domain(t testing.TB, d *domain.Domain, data, samples []float64, dim int, but string) {
	testkit.Keep(t, "samples %d more %v unit %s %.6g, faults %q", d.Samples, d.More, d.Unit, d.PerUnit, d.Faults)
	view := domain.View{Dim: dim, Data: data, Samples: samples, Worst: 1e-9, Seed: 3}
	if own := d.Distance; own != nil {
		view.Reference = own.Against(data, data[:len(data)/dim/2*dim], data[len(data)/dim/2*dim:])
		view.Marks = own.Marks(samples)
		_, view.Parts = view.Reference.Score(view.Marks, 3)
		testkit.Keep(t, "distance %s in R^%d, parts %q: %s", own.Name, own.Dim, own.Parts, own.Note)
		testkit.Keep(t, "%s to itself %s", short(fmt.Sprint(view.Marks)),
			rounded(fmt.Sprint(own.Compare(view.Marks, view.Reference.Full))))
	}
	if o := d.Observables; o != nil {
		values := make([]float64, len(samples)/dim*len(o.List))
		o.Values(values, samples, len(samples)/dim)
		testkit.Keep(t, "observables %s, %s\nvalues %s", rounded(fmt.Sprintf("%+v", o.List)), o.Note,
			short(fmt.Sprint(values)))
	}
	if d.Lay != nil {
		testkit.Keep(t, "laid %s", short(fmt.Sprint(d.Lay(samples))))
	}
	if d.Say != nil {
		testkit.Keep(t, "say %s", d.Say(samples[:dim]))
	}
	if d.Find != nil {
		for _, f := range d.Find(samples) {
			if but == "" || !strings.HasPrefix(f.Name, but) {
				testkit.Keep(t, "found %s", rounded(fmt.Sprintf("%+v", f)))
			}
		}
	}
	if d.Draw != nil {
		d.Draw(Canvas{t}, view)
	}
	if d.Scene != nil {
		d.Scene(Canvas{t}, view)
	}
	if d.Table != nil {
		testkit.Keep(t, "table %q %s", d.Table.Header, d.Table.Format)
	}
	whole := make([]float64, len(samples)) // kernels round the last digits of samples differently
	for i, v := range samples {
		whole[i] = math.Round(1e6*v)/1e6 + 0 // no −0
	}
	for _, ext := range []string{".csv", ".npy", ".parquet", ".pdb", ".xyz", ".sdf", ".dcd", ".xtc", ".npz", ".json"} {
		var b bytes.Buffer
		if write := d.Writer(ext); write != nil {
			if err := write(&b, arrayfile.RowsOf(whole, dim)); err != nil {
				fmt.Fprint(&b, err)
			}
			testkit.Keep(t, "%s %q", ext, short(b.String()))
		}
		if round := d.Rounded[ext]; round != nil {
			testkit.Keep(t, "rounded in %s: %.17g of %v", ext, round(math.Pi), math.Pi)
		}
	}
}

package molecules

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

// mostEnergies bounds the pictures of free energies.
const mostEnergies = 2

// Bins of a free energy: those of a window, and of the whole circle.
const (
	energyBins = 30
	circleBins = 36
)

// kT at 300 K, for people who think in kJ/mol.
const kT300 = 2.494

// energy draws the free energy along the k-th coordinate: F = −kT ln p.
func (g *guide) energy(c domain.Canvas, v domain.View, k int, of domain.Observable) {
	b := metric.Bins{Lo: of.Feasible[0], Hi: of.Feasible[1], N: energyBins}
	if b.Lo == b.Hi {
		b = metric.Bins{Lo: of.Lo, Hi: of.Hi, N: circleBins, Circular: true}
	}
	dim := v.Reference.Dim
	data := energyOf("data", b, metric.Column(v.Reference.Full, k, dim))
	samples := energyOf("samples", b, metric.Column(v.Marks, k, dim))
	low := math.Inf(1)
	for _, f := range data.Y {
		if f < low { // false for NaN
			low = f
		}
	}
	if math.IsInf(low, 1) {
		return // no value is in the window
	}
	for _, e := range []figure.Series{data, samples} {
		for k := range e.Y {
			e.Y[k], e.Lo[k], e.Hi[k] = e.Y[k]-low, e.Lo[k]-low, e.Hi[k]-low
		}
	}
	caption := fmt.Sprintf("F = −kT ln p in units of kT (%.2f kJ/mol at 300 K), from %d bins; least 0 in the "+
		"data. Bands: "+
		"95 %% by the counts, as if conformations were independent, which samples are and frames of a trajectory "+
		"are not.", kT300, b.N)
	curves := []figure.Series{data}
	if len(v.Samples) > 0 {
		curves = append(curves, samples)
	}
	c.Add("energy-"+of.File, figure.FigureRef{Title: "Free energy along " + of.Name, Caption: caption},
		figure.Lines(figure.LineOptions{XLabel: of.Name + ", °", YLabel: "F, kT"}, curves...))
}

// energyOf returns −ln p(x) of values in bins, p a density per bin width times the number of bins, and a 95 % band by
// the variance (1 − q)/(n q) of ln q for a share q of n values. Bins that are empty have none.
func energyOf(name string, b metric.Bins, values []float64) (e figure.Series) {
	counts, n := make([]float64, b.N), 0.0
	for _, v := range values {
		if v-v == 0 && (b.Circular || v >= b.Lo && v <= b.Hi) {
			counts[b.Bin(v)]++
			n++
		}
	}
	for k, count := range counts {
		q := count / n
		f, σ := -math.Log(q*float64(b.N)), math.Sqrt((1-q)/count)
		if count == 0 {
			f, σ = math.NaN(), math.NaN()
		}
		e.X = append(e.X, b.Lo+(float64(k)+0.5)*(b.Hi-b.Lo)/float64(b.N))
		e.Y, e.Lo, e.Hi = append(e.Y, f), append(e.Lo, f-1.96*σ), append(e.Hi, f+1.96*σ)
	}
	e.Name = name
	return e
}

package amber

import (
	"fmt"
	"sync"
)

// A Potential is f = U/kT, a langevin.Energy. Several goroutines may use it at once.
type Potential struct {
	field *ForceField
	scale float64 // 1/kT
	start []float64
	free  sync.Pool // of *Evaluator
}

// NewPotential returns f at a temperature in kelvin. start is a conformation to begin chains from, or nil.
func NewPotential(s *System, solvent Solvent, kelvin float64, start []float64) (*Potential, error) {
	if !(kelvin > 0) || kelvin > MaxKelvin {
		return nil, fmt.Errorf("a temperature of %v K; expected a number above 0 and at most %v", kelvin,
			float64(MaxKelvin))
	}
	field, err := New(s, solvent)
	if err != nil {
		return nil, err
	}
	if start != nil {
		if err := s.Plausible(start); err != nil {
			return nil, err
		}
	}
	p := &Potential{field: field, scale: 1 / (Boltzmann * kelvin), start: start}
	p.free.New = func() any { return field.NewEvaluator() }
	return p, nil
}

// MaxKelvin bounds a temperature.
const MaxKelvin = 1e6

func (p *Potential) Gradient(dst, x []float64, n int) {
	e, d := p.free.Get().(*Evaluator), p.field.Dim()
	for i := range n {
		e.Energy(dst[i*d:(i+1)*d], x[i*d:(i+1)*d])
	}
	for i := range dst[:n*d] {
		dst[i] *= p.scale
	}
	p.free.Put(e)
}

func (p *Potential) Value(dst, x []float64, n int) {
	e, d := p.free.Get().(*Evaluator), p.field.Dim()
	for i := range n {
		dst[i] = p.scale * e.Energy(nil, x[i*d:(i+1)*d]).Sum()
	}
	p.free.Put(e)
}

// Begin returns the conformation that chains begin from, or nil: langevin.Start projects it onto Σ.
func (p *Potential) Begin() []float64 { return p.start }

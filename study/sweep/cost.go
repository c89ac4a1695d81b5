package sweep

import (
	"context"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/score/networks"
)

// A Cost is what a cell's training takes, as far as it is known before it runs.
type Cost struct {
	Parameters int          `json:"parameters"`         // of the network
	Rows       metric.Float `json:"trained_rows"`       // null where a clock or held-out rows decide
	Seconds    metric.Float `json:"seconds"`            // of the cell, by its budget or by cells like it that ended
	Operations metric.Float `json:"network_operations"` // additions and multiplications of the training's passes
}

// operations of a row and a parameter: one product and sum forward, two backward.
const operations = 6

// Costs reads the data of each cell that is to be run and says what its training takes. Errors are those of Load, as
// *RefusedError: what Plan could not see without the data. seconds are what Status of the folder dir knows of cells
// that ended; dir may be empty.
func (p *Plan) Costs(ctx context.Context, dir string, pool *parallel.Pool) (map[string]Cost, error) {
	s := p.session(Runner{Dir: dir})
	if err := s.look(); err != nil {
		return nil, err
	}
	type loaded struct {
		parameters int
		rows       int64 // an epoch
		epochs     int   // 0: a clock or held-out rows decide
		err        error
	}
	known, out := map[string]loaded{}, map[string]Cost{}
	refused := refusals{RefusedError: &RefusedError{Origin: p.File.origin}, at: map[string]int{}}
	for _, c := range p.Cells {
		if c.Unit == nil {
			continue
		}
		line := c.line()
		l, ok := known[line]
		if !ok {
			l.parameters, l.rows, l.epochs, l.err = c.measure(ctx, pool)
			known[line] = l
		}
		if l.err != nil {
			refused.add(c.Name, l.err)
			continue
		}
		cost := Cost{Parameters: l.parameters, Rows: metric.NaN, Operations: metric.NaN, Seconds: s.seconds(c)}
		epochs := int64(l.epochs)
		if c.Budget.Epochs > 0 {
			epochs = int64(c.Budget.Epochs)
		}
		if rows := c.Budget.Rows; rows > 0 {
			epochs = epochsOf(rows, l.rows)
		}
		if epochs > 0 && c.Budget.Seconds == 0 {
			cost.Rows = metric.Float(epochs) * metric.Float(l.rows)
			cost.Operations = operations * cost.Rows * metric.Float(l.parameters)
		}
		if s.later[c] { // which its training was counted with
			cost.Rows, cost.Operations = 0, 0
		}
		out[c.Name] = cost
	}
	if len(refused.Refused) > 0 {
		return out, refused.RefusedError
	}
	return out, nil
}

// measure reads a cell's data, and returns the size of its network, the rows of an epoch and the epochs that its
// problem says, 0 where it says none.
func (c *Cell) measure(ctx context.Context, pool *parallel.Pool) (parameters int, rows int64, epochs int, err error) {
	p, err := c.load()
	if err != nil {
		return 0, 0, 0, err
	}
	l, err := experiment.Load(ctx, p, pool, nil)
	if err != nil {
		return 0, 0, 0, err
	}
	size, err := networks.Parameters(l.Problem.NetworkConfig(l.Method, l.Process.Set))
	if err != nil {
		return 0, 0, 0, err
	}
	if t := l.Problem.Train; t.MaxSeconds == 0 && !t.HeldOut() {
		epochs = t.Epochs
	}
	return int(size), epochRows(l), epochs, nil
}

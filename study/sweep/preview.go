package sweep

import (
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/work"
)

// A Preview is what a sweep would do.
type Preview struct {
	Folder  string       `json:"folder"`
	Shard   string       `json:"shard"`
	Cells   []Previewed  `json:"cells"`   // of the part
	Seconds metric.Float `json:"seconds"` // to run; null: not known
	Refused []Refusal    `json:"refused,omitempty"`
}

// Previewed is a cell of a Preview.
type Previewed struct {
	Name   string     `json:"name"`
	State  work.State `json:"state"`
	Reason string     `json:"reason,omitempty"`
}

// Refused is the state of a cell that cannot be run.
const Refused work.State = "refused"

// Preview says what a part of a plan would do in a folder. refused is the error of the plan; nil: there is none.
func (p *Plan) Preview(dir string, part work.Shard, refused *RefusedError) (*Preview, error) {
	out := &Preview{Folder: dir, Shard: part.String(), Cells: []Previewed{}, Seconds: metric.NaN}
	why := map[string]string{}
	var state *Outcome
	if refused == nil {
		var err error
		if state, err = p.Status(dir, part); err != nil {
			return nil, err
		}
		out.Seconds = state.Left
	} else {
		out.Refused = refused.Refused
		for _, r := range refused.Refused {
			for _, name := range r.Cells {
				why[name] = r.Why
			}
		}
	}
	takes := part.ByName()
	for i, c := range p.Cells {
		e := Previewed{Name: c.Name, State: work.Waiting}
		if state != nil {
			e.State, e.Reason = state.Cells[i].State, state.Cells[i].Reason
		}
		if c.Skipped != "" {
			e.State, e.Reason = Skipped, c.Skipped
		}
		if said, ok := why[c.Name]; ok {
			e.State, e.Reason = Refused, said
		}
		if c.Skipped != "" || takes(c.Training) {
			out.Cells = append(out.Cells, e)
		}
	}
	return out, nil
}

package settle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/choose"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/problem"
)

// tune gives what the file leaves to the program the numbers that package choose says, from the training rows and
// the set. What the file says stays, and the rest follows from it.
func (s *Settled) tune(ctx context.Context, rows *Rows, pool *parallel.Pool, report func(string)) error {
	p := s.Problem
	kind, _ := methods.Of(p.Process.Method)
	ruled := slices.ContainsFunc(p.Chosen(), func(c choose.Choice) bool { return c.Key != problem.KeyNetworkKind })
	if kind.Forward == nil && !kind.Velocity || ruled || !p.Leaves() {
		return nil // another kind of process; motions of an arm, which have rules of their own; nothing is left
	}
	report("measuring the rows and the set")
	forward := *s.Process
	if kind.Forward != nil {
		forward = kind.Forward(forward)
	}
	m, err := choose.Measure(ctx, forward.Set, rows.Train, p.Seed, pool)
	if err != nil {
		return err
	}
	_, m.Torsions = constraint.As[*conformation.Internal](forward.Set)
	for _, note := range m.Notes {
		s.Notes = append(s.Notes, "what follows from the data: "+note)
	}
	if !(m.Spread > 0) { // one point has no lengths
		return nil
	}
	var chosen, learning []choose.Choice
	if kind.Velocity {
		learning = choose.Velocity(m, kind.Kept/2, forward.Set.NewEvaluator(1).Exp == nil)
	} else {
		open := Noise(p, forward.Method.Underdamped())
		open.Far = p.Prior == "uniform" || len(forward.Set.Capabilities().Held) > 0
		open.Projected = forward.Method.Projected()
		var noise choose.Noise
		noise, chosen = choose.Schedule(m, open)
		s.Notes = append(s.Notes, choose.Strain(m, open, noise)...)
		if learning = choose.Learning(m, noise); kind.Draws {
			learning = choose.Draws(m, noise, int(p.Process.Options["levels"]))
		}
	}
	learning = slices.DeleteFunc(learning, func(c choose.Choice) bool { return !serves(p.Network.Kind, c.Key) })
	for i, c := range learning {
		if center, ok := c.Value.([]float64); ok {
			learning[i].Value = center[:p.Condition.Free(m.Coordinates)]
		}
	}
	last, note := ends(p, m.Rows, rows.Validation, p.With(chosen).Process.Steps, learning)
	if note != "" {
		s.Notes = append(s.Notes, note)
	}
	s.Problem = p.With(slices.Concat(chosen, learning, last))
	s.Process, err = s.Problem.Build()
	return err
}

// fewestUpdates is how many updates a training has at least that nothing judges, where neither epochs nor a time are
// said; of more rows than that it has one a row. Of longer ones samples kept to their rows (docs/auto.md).
const fewestUpdates = 50

// mostRows bounds the rows of the network that a training has where held-out losses end it, and neither epochs nor a
// time are said: as many as the longest of the recipes' trainings. What data tell is learned by then however many rows
// they have, and the rate falls to 0 by the end.
const mostRows = 50_000_000

// unjudged returns the number of epochs of a training that nothing judges.
func unjudged(rows, batch int) int {
	each := (rows + batch - 1) / batch // updates of an epoch
	return max(1, max(fewestUpdates, rows)/each)
}

// ends returns what ends a training, if the problem leaves that open: held-out losses, or a number of epochs if there
// are too few validation rows to judge by. steps is the number of steps of a path. The user alone sets a time; the note
// says what it may do.
func ends(p *problem.Problem, rows, held, steps int, learning []choose.Choice) (chosen []choose.Choice, note string) {
	budget := p.Train.MaxSeconds > 0
	if !budget && !p.Left(problem.KeyTrainEpochs) || !p.Left(problem.KeyTrainStop) {
		return nil, ""
	}
	if held >= train.FewestJudged {
		chosen = []choose.Choice{{Key: problem.KeyTrainStop, Value: "held_out_loss",
			Reason: "training stops when the held-out loss stops improving, to prevent overfitting"}}
		if !budget {
			chosen = append(chosen, mostEpochs(p.With(learning).Train, rows, steps))
		}
		return chosen, ""
	}
	n := unjudged(rows, p.With(learning).Train.Batch)
	chosen = []choose.Choice{{Key: problem.KeyTrainStop, Value: "epochs", Reason: tooFew(held)}}
	if budget {
		return chosen, fmt.Sprintf("%s; a long training overfits %d rows. Without a time budget it has %d "+
			"epochs", tooFew(held), rows, n)
	}
	return append(chosen, choose.Choice{Key: problem.KeyTrainEpochs, Value: n,
		Reason: fmt.Sprintf("more epochs overfit %d rows, and no held-out loss would show it", rows)}), ""
}

// mostEpochs bounds the epochs of a training that held-out losses end.
func mostEpochs(t problem.Train, rows, steps int) choose.Choice {
	paths := rows
	if t.Paths > 0 {
		paths = min(t.Paths, rows)
	}
	epoch := t.Config(0, 0).Resolved(paths, steps).Terms(paths)
	c := choose.Choice{Key: problem.KeyTrainEpochs, Value: train.MostJudged, Reason: "at most"}
	if n := max(1, mostRows/epoch); n < train.MostJudged {
		c.Value, c.Reason = n, fmt.Sprintf("at most, of %d rows of the network each", epoch)
	}
	return c
}

// Noise returns what a problem's file says of its schedule and friction.
func Noise(p *problem.Problem, underdamped bool) choose.Noise {
	n := choose.Noise{Steps: p.Process.Steps, Horizon: p.Process.Horizon, Min: p.Process.Sigma.Min,
		Max: p.Process.Sigma.Max, Friction: p.Process.Friction, Geometric: p.Process.Sigma.Schedule == "geometric",
		Underdamped: underdamped, Splits: splits(p)}
	if p.Left(problem.KeyProcessSteps) {
		n.Steps = 0
	}
	for key, to := range map[string]*float64{"horizon": &n.Horizon, "sigma.min": &n.Min, "sigma.max": &n.Max,
		"friction": &n.Friction} {
		if p.Left("process." + key) {
			*to = 0
		}
	}
	return n
}

// serves reports whether what is chosen for an mlp serves a kind of network: aligned is one inside, which lays
// points on a reference before it reads them; others have numbers of their own.
func serves(kind, key string) bool {
	switch {
	case kind == "" || kind == "mlp" || !strings.HasPrefix(key, "network."):
		return true
	case kind == "temporal":
		return !slices.Contains([]string{problem.KeyNetworkWidth, problem.KeyNetworkLayers, "network.scales"}, key)
	case networks.Refers(kind):
		return slices.Contains([]string{problem.KeyNetworkWidth, problem.KeyNetworkLayers, problem.KeyNetworkTime,
			problem.KeyNetworkTimeOctaves, problem.KeyNetworkOutput}, key)
	}
	return false
}

// splits reports whether a problem's backward steps can split their noise: of the paper's underdamped methods, in the
// convention in which it is known how.
func splits(p *problem.Problem) bool {
	m, err := langevin.ParseMethod(p.Process.Method)
	return err == nil && m.Underdamped() && p.Convention == langevin.Reference.String()
}

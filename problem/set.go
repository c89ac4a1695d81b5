package problem

import (
	"errors"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/molecules"
	"github.com/landing-diffusion/landing/problem/sets"
)

// buildSet builds the feasible set, and settles what follows from it: the names of a condition where it leaves numbers
// open and has names for them, and the defaults of sequences. The error is a *KeyError.
func buildSet(p *Problem) (constraint.Set, error) {
	if err := p.Condition.checkNames(p.origins); err != nil {
		return nil, err
	}
	set, err := p.Set.BuildGiven("set", p.Condition.Columns)
	var e *sets.Error
	if errors.As(err, &e) {
		if e.Fault != "" {
			return nil, p.fault(e.Key, "%s", e.Fault)
		}
		return nil, p.key(e.Key, e.Value, e.Want)
	}
	if err != nil {
		return nil, err
	}
	if len(p.Condition.Columns) == 0 {
		p.Condition.Columns = set.Capabilities().HeldNames
		if err := p.Condition.checkNames(p.origins); err != nil {
			return nil, err
		}
	}
	chooseKind(p, set)
	chooseSequence(p, set)
	return set, p.Condition.check(p.origins, set, p.Generate.Guidance)
}

// TaughtKey is the key of the file of points that are learned in place of the training rows.
const TaughtKey = "data.train"

// paths are the paths in the problem, the set apart, by key.
func paths(p *Problem) map[string]*string {
	return map[string]*string{KeyDataPath: &p.Data.Path, referenceKey: &p.Network.Reference,
		molecules.ReferenceKey: &p.Data.Reference, prmtopKey: &p.Potential.Prmtop,
		coordinatesKey: &p.Potential.Coordinates, conditionKey: &p.Condition.Path, TaughtKey: &p.Data.Train}
}

// Files returns the paths in the problem, by key; that of the data may be empty.
func (p *Problem) Files() map[string]string {
	files := map[string]string{}
	for key, path := range paths(p) {
		if *path != "" || key == KeyDataPath {
			files[key] = *path
		}
	}
	for key, path := range p.Set.Files() {
		files["set."+key] = path
	}
	return files
}

// SetFile changes a path that Files names.
func (p *Problem) SetFile(key, path string) {
	if to, ok := paths(p)[key]; ok {
		*to = path
		return
	}
	p.Set = p.Set.WithFile(strings.TrimPrefix(key, "set."), path)
}

package problem

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/choose"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/conformation"
	"github.com/landing-diffusion/landing/domain/kinds"
	"github.com/landing-diffusion/landing/domain/molecules"
	formats "github.com/landing-diffusion/landing/molecule/files"
)

// kind gives data.kind, where nothing is written, the kind that the points of the set are of: motions of an arm, or
// of a molecule conformations, where the file is of a format that only these have. Run folders hold the key.
func (p *Problem) kind(set constraint.Set) {
	if !p.silent(KeyDataKind) {
		return
	}
	free := constraint.At(set, make([]float64, len(set.Capabilities().Held)))
	if k, ok := kinds.WithEnds(set); ok {
		if _, fits := kinds.Of(k.Data, free); fits {
			p.choose(choose.Choice{Key: KeyDataKind, Value: k.Data, Reason: "points of the set are motions of an arm"})
		}
		return
	}
	ext := strings.ToLower(filepath.Ext(p.Data.Path))
	frames := slices.Contains(formats.Extensions, ext) && ext != ".npy" && ext != ".npz"
	if _, ok := constraint.As[*conformation.Set](free); ok && frames {
		if _, fits := kinds.Of(molecules.Kind.Data, free); fits {
			p.choose(choose.Choice{Key: KeyDataKind, Value: molecules.Kind.Data,
				Reason: "points of the set are conformations of a molecule, and the file has frames"})
		}
	}
}

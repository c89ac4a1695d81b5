// Package kinds is the registry of kinds of data: a list of rows. A new kind is a
// package that has a domain.Kind, and its row here.
package kinds

import (
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/earth"
	"github.com/landing-diffusion/landing/domain/molecules"
	"github.com/landing-diffusion/landing/domain/points"
	"github.com/landing-diffusion/landing/domain/rotation"
	"github.com/landing-diffusion/landing/domain/surface"
	"github.com/landing-diffusion/landing/domain/trajectories"
)

// All are the kinds. Of several with one data.kind the first that fits the set is taken.
var All = []domain.Kind{earth.Kind, rotation.Kind, surface.Kind, points.Kind, molecules.Kind, molecules.Internal,
	trajectories.Kind, earth.Demo}

// Names returns the values that data.kind can have.
func Names() []string {
	var out []string
	for _, k := range All {
		if !slices.Contains(out, k.Data) {
			out = append(out, k.Data)
		}
	}
	return out
}

// Extensions returns those of the files that points of some kind can be written to.
func Extensions() []string {
	out := []string{".npy", ".csv", ".parquet"}
	for _, k := range All {
		for _, ext := range k.Writes {
			if !slices.Contains(out, ext) {
				out = append(out, ext)
			}
		}
	}
	return out
}

// Of returns the kind of data on a set. If none fits, ok is false and the kind is the
// first of the name, which says the dimension that it needs.
func Of(data string, set constraint.Set) (kind domain.Kind, ok bool) {
	for _, k := range All {
		if k.Data != data {
			continue
		}
		if (k.Dim == 0 || k.Dim == set.Dim()) && (k.Fits == nil || k.Fits(set)) {
			return k, true
		}
		if kind.Data == "" {
			kind = k
		}
	}
	return kind, false
}

// WithEnds returns the kind of points on a set that have a start and a goal, whatever kind its data is called.
func WithEnds(set constraint.Set) (kind domain.Kind, ok bool) {
	for _, k := range All {
		if k.Ends != nil && k.Fits(set) {
			return k, true
		}
	}
	return kind, false
}

package points

import (
	"fmt"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/metric"
)

const most = 4 // components

// Components returns the leading principal components of the training rows as
// observables: at most four, those that vary. They are nil if the rows do not vary.
func Components(train []float64, d int) *domain.Observables {
	mean, axes, share := metric.Principal(train, d, most)
	o := &domain.Observables{}
	for k := range axes {
		o.List = append(o.List, domain.Observable{
			Name: fmt.Sprintf("principal component %d", k+1), File: fmt.Sprintf("component-%d", k+1),
			Bins: metric.Bins{N: domain.DefaultBins},
		})
	}
	if len(axes) == 0 {
		return nil
	}
	o.Note = fmt.Sprintf("Principal components of the training rows, %.3g %% of their variance in all; "+
		"observe in the problem file names numbers that say more.", 100*share)
	o.Values = func(dst, x []float64, n int) {
		for i := range n {
			for k, v := range axes {
				dst[i*len(axes)+k] = metric.Project(x[i*d:(i+1)*d], mean, v)
			}
		}
	}
	return o
}

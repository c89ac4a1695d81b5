package discover

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// polar finds plane curves about the origin whose distance from it is a short sum of waves of the
// angle: r = c + Σ_k a_k cos kθ + b_k sin kθ, k ≤ 6, to round-off.
func (s *search) polar(i, j int) {
	const waves, rows = 6, 3000
	p := 2*waves + 1
	chosen := some(s.fit, rows)
	if len(chosen) < p+spare {
		return
	}
	phi := make([]float64, 0, len(chosen)*p)
	for _, row := range chosen {
		x, y := s.X[row*s.D+i], s.X[row*s.D+j]
		phi = append(phi, math.Hypot(x, y))
		for k := 1; k <= waves; k++ {
			sin, cos := math.Sincos(float64(k) * math.Atan2(y, x))
			phi = append(phi, cos, sin)
		}
	}
	rounding := s.rounding([]int{i, j})
	f, ok := combine(phi, p, rounding)
	if !ok || len(f.exact) != 1 || !f.clear {
		return
	}
	a := coefficients(f.exact[0], f.sd, 1e-9)
	if a[0] == 0 { // the waves alone: the angle itself hardly varies
		return
	}
	write := func(tolerance float64) *Relation {
		c, sum := f.mean[0], ""
		for k := 1; k < p; k++ {
			v := -a[k] / a[0]
			c -= v * f.mean[k]
			if math.Abs(v)*f.sd[k] <= 1e-7*f.sd[0] {
				continue
			}
			wave := "cos"
			if k%2 == 0 {
				wave = "sin"
			}
			v = s.plain(v, tolerance)
			sign := " + "
			if v < 0 {
				sign, v = " - ", -v
			}
			angle := "atan2(x[@1], x[@0])"
			if n := (k + 1) / 2; n > 1 {
				angle = strconv.Itoa(n) + "*" + angle
			}
			sum += fmt.Sprintf("%s%s*%s(%s)", sign, number(v), wave, angle)
		}
		if !strings.Contains(sum, "atan2") {
			return nil // a circle, which is found as one
		}
		text := fmt.Sprintf("norm([x[@0], x[@1]]) = %s%s", number(s.plain(c, tolerance)), sum)
		return relation(Polar, 0, text, "curve", i, j)
	}
	r := write(max(s.fine, 1e-7))
	if r == nil {
		return
	}
	r.alt = write(0)
	s.offer([]*Relation{r})
}

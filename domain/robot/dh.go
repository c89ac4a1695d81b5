package robot

import (
	"fmt"
	"math"
)

// A DH is a row of a table of modified Denavit–Hartenberg parameters (Craig's): the frame of a joint is
// Rx(Alpha)·Tx(A)·Rz(θ)·Tz(δ) in the one before. A turning joint has θ = Offset + its angle and δ = D; a sliding one θ
// = Offset and δ = D + its displacement; a fixed one θ = Offset, δ = D.
type DH struct {
	A, D, Alpha, Offset float64 // metres, metres, radians, radians
	Kind                Kind

	// Lower and Upper limit the joint's value, if they are not both 0; Velocity limits its speed, if it is not 0.
	Lower, Upper, Velocity float64
}

// FromDH returns the arm of a table, its links named link1, link2, … from the base,
// "base", and its joints joint1, joint2, …. The error is that of Check.
func FromDH(name string, rows []DH) (*Arm, error) {
	a := &Arm{Name: name, Base: "base"}
	for i, r := range rows {
		if r.Lower == 0 && r.Upper == 0 {
			r.Lower, r.Upper = math.Inf(-1), math.Inf(1)
		}
		if r.Velocity == 0 {
			r.Velocity = math.Inf(1)
		}
		sα, cα := quarter(r.Alpha)
		sθ, cθ := quarter(r.Offset)
		a.Joints = append(a.Joints, Joint{
			Name: fmt.Sprint("joint", i+1), Link: fmt.Sprint("link", i+1), Kind: r.Kind,
			Origin: Pose{ // Rx(α)·Tx(a)·Tz(d)·Rz(θ)
				R: [9]float64{cθ, -sθ, 0, cα * sθ, cα * cθ, -sα, sα * sθ, sα * cθ, cα},
				P: [3]float64{r.A, -sα * r.D, cα * r.D},
			},
			Axis:  [3]float64{0, 0, 1},
			Lower: r.Lower, Upper: r.Upper, Velocity: r.Velocity,
		})
	}
	if err := a.Check(); err != nil {
		return nil, err
	}
	return a, nil
}

// quarter returns the sine and cosine, which of whole quarters of a turn are whole:
// cos(π/2) in floating point is 6e-17.
func quarter(θ float64) (sin, cos float64) {
	sin, cos = math.Sincos(θ)
	if n := math.Round(θ / (math.Pi / 2)); math.Abs(n) < 1e3 && math.Abs(θ-n*math.Pi/2) < 1e-15*max(1, math.Abs(θ)) {
		return math.Round(sin), math.Round(cos)
	}
	return sin, cos
}

// Panda returns Franka Emika's arm of seven joints: the manufacturer's table of modified Denavit–Hartenberg parameters
// and limits. Links 0 to 6 are panda_link1 to panda_link7, link 7 the flange, panda_link8, 0.107 m along the last axis;
// the base is panda_link0. Spheres are none: the published trajectories look at the origins of links.
func Panda() *Arm {
	const q = math.Pi / 2
	a, err := FromDH("panda", []DH{
		{D: 0.333, Lower: -2.8973, Upper: 2.8973, Velocity: 2.175},
		{Alpha: -q, Lower: -1.7628, Upper: 1.7628, Velocity: 2.175},
		{Alpha: q, D: 0.316, Lower: -2.8973, Upper: 2.8973, Velocity: 2.175},
		{Alpha: q, A: 0.0825, Lower: -3.0718, Upper: -0.0698, Velocity: 2.175},
		{Alpha: -q, A: -0.0825, D: 0.384, Lower: -2.8973, Upper: 2.8973, Velocity: 2.61},
		{Alpha: q, Lower: -0.0175, Upper: 3.7525, Velocity: 2.61},
		{Alpha: q, A: 0.088, Lower: -2.8973, Upper: 2.8973, Velocity: 2.61},
		{D: 0.107, Kind: Fixed},
	})
	if err != nil {
		panic("robot: " + err.Error())
	}
	a.Base = "panda_link0"
	for i := range a.Joints {
		a.Joints[i].Name = fmt.Sprint("panda_joint", i+1)
		a.Joints[i].Link = fmt.Sprint("panda_link", i+1)
	}
	return a
}

// Package grid is the steady states of an alternating-current power grid: MATPOWER case files, and the set of the
// states that keep the balances of all buses and the limits of voltages, generation, flows and angles.
//
// All is in per unit of the case's baseMVA and in radians.
package grid

import (
	"fmt"
	"strconv"
)

// A Grid is the buses and the branches in service of a case.
type Grid struct {
	Name      string
	Base      float64 // MVA
	Buses     []Bus
	Branches  []Branch
	Reference int      // the bus whose angle is fixed, at Theta
	Notes     []string // what of the file was left out, a line each
}

// Power is active and reactive power.
type Power struct{ P, Q float64 }

// A Bus is a node of the grid.
type Bus struct {
	Number     int
	Name       string  // may be empty
	G, B       float64 // the shunt draws G V² and feeds in B V²
	V, Theta   float64 // of the state in the file
	VMin, VMax float64
	Load       Power
	Generates  bool  // it has generators in service; the following fields are their sums
	Generation Power // of the state in the file
	Min, Max   Power
}

// Label is the bus's number, and its name in brackets if it has one.
func (b Bus) Label() string {
	if b.Name == "" {
		return strconv.Itoa(b.Number)
	}
	return fmt.Sprintf("%d (%s)", b.Number, b.Name)
}

// A Branch is a line or a transformer: MATPOWER's π model, with the tap at its first end.
type Branch struct {
	Row                int // in the file, from 1
	From, To           int // indices of buses
	Y                  complex128
	Charging           float64 // total
	Tap, Shift         float64 // 1 and 0 of a line
	Rate               float64 // largest apparent power at either end; 0: none
	AngleMin, AngleMax float64 // of θ_from − θ_to; infinite: none
}

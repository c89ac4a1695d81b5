// Command energies is our side of openmm_amber.py: energies and gradients of conformations by
// package domain/molecule/amber, and how fast they are.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("energies: ")
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	prmtop := flag.String("prmtop", "", "parameters; built-in alanine dipeptide without")
	inpcrd := flag.String("inpcrd", "", "where -speed begins")
	solvent := flag.String("solvent", "vacuum", "vacuum, obc2 or obc2-polar")
	points := flag.String("x", "", "NPY file of conformations, n × 3A, in Å")
	gradient := flag.String("gradient", "", "NPY file to write the gradients to")
	start := flag.Bool("start", false, "print the built-in conformation")
	speed := flag.String("speed", "", "energies or steps: time these")
	seconds := flag.Float64("seconds", 5, "of -speed")
	flag.Parse()
	out := json.NewEncoder(os.Stdout)
	if *start {
		return out.Encode(amber.AlanineStart())
	}
	system, x0 := amber.AlanineDipeptide(), amber.AlanineStart()
	var err error
	if *prmtop != "" {
		if system, err = amber.ReadPrmtop(*prmtop); err != nil {
			return err
		}
	}
	if *inpcrd != "" {
		if x0, err = amber.ReadCoordinates(*inpcrd, len(system.Atoms)); err != nil {
			return err
		}
	}
	kind, err := amber.ParseSolvent(*solvent)
	if err != nil {
		return err
	}
	if *speed != "" {
		million, err := measure(*speed, system, kind, x0, *seconds)
		if err != nil {
			return err
		}
		return out.Encode(map[string]float64{"seconds_per_million": million})
	}
	field, err := amber.New(system, kind)
	if err != nil {
		return err
	}
	x, err := arrayfile.ReadNPY(*points)
	if err != nil {
		return err
	}
	d := field.Dim()
	if len(x.Shape) != 2 || x.Shape[1] != d {
		return fmt.Errorf("%s has the shape %v; expected n × %d", *points, x.Shape, d)
	}
	e, data, n := field.NewEvaluator(), x.AsFloat64(), x.Shape[0]
	grad, terms, total := make([]float64, n*d), make([][]float64, n), make([]float64, n)
	for i := range n {
		t := e.Energy(grad[i*d:(i+1)*d], data[i*d:(i+1)*d])
		terms[i] = []float64{t.Bonds, t.Angles, t.Dihedrals, t.Impropers, t.LennardJones, t.Coulomb, t.LennardJones14,
			t.Coulomb14, t.Polar + t.Surface}
		total[i] = t.Sum()
	}
	f, err := os.Create(*gradient)
	if err != nil {
		return err
	}
	if err := arrayfile.EncodeNPY(f, arrayfile.Array{Shape: []int{n, d}, Float64: grad}); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return out.Encode(map[string]any{"terms": terms, "total": total})
}

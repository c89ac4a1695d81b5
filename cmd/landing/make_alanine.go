package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/amber"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
)

// alanineOptions are the flags of make alanine.
type alanineOptions struct {
	dataset.Conformations
	outFile
	phi                                   float64
	psi, solvent, atoms, prmtop, position string
	given                                 givenField
}

func (o *alanineOptions) flags(f *pflag.FlagSet) {
	o.outFile.flags(f, "alanine.npy", "file to write")
	f.IntVarP(&o.Count, "number", "n", 10_000, "number of frames")
	f.Float64Var(&o.phi, "phi", -70, "φ in degrees")
	f.StringVar(&o.psi, "psi", "130:170", "window of ψ in degrees, or free")
	f.StringVar(&o.solvent, "solvent", "obc2", "obc2, obc2-polar or vacuum")
	f.Float64Var(&o.Kelvin, "temperature", 300, "in kelvin")
	f.StringVar(&o.atoms, "atoms", "heavy", "which atoms are written: heavy or all")
	f.StringVar(&o.prmtop, "prmtop", "", "parameters of your own (AMBER prmtop)")
	f.StringVar(&o.position, "coordinates", "", "conformation to begin with (inpcrd or rst7), for --prmtop")
	f.IntVar(&o.Every, "every", 100, "steps between frames of a chain")
	f.IntVar(&o.Chains, "chains", 64, "chains")
	f.IntVar(&o.Burn, "burn", 4000, "steps of a chain before its first frame")
	f.Float64Var(&o.Step, "step", 0, "length of a step (default: from the stiffest bond)")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of all random numbers")
}

// Atoms of φ and ψ, as molecules name them.
var (
	alaninePhi = []string{"ACE:C", "ALA:N", "ALA:CA", "ALA:C"}
	alaninePsi = []string{"ALA:N", "ALA:CA", "ALA:C", "NME:N"}
)

func makeAlanineVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "alanine",
		Short: "Make conformations of alanine dipeptide by constrained Langevin dynamics",
		Long: `alanine simulates alanine dipeptide with the force field ff14SB in implicit water. The dihedral φ is
fixed, and ψ stays in a window. The frames go to an NPY (n × atoms × 3), PDB, XYZ, SDF or DCD file, in
ångström. A JSON file beside it says how they were made. With --prmtop and --coordinates the
parameters are your own. Train from NPY or XYZ, which keep the digits. PDB, SDF and DCD files are for
viewers: rounding to 0.001 Å takes φ off by up to 0.1°.

The law is that of the molecule given φ: exp(−U/kT) δ(φ − φ₀). Frames are laid on the start. They are
the same for a seed, whatever the number of workers.`,
		Example: "  landing make alanine -o alanine.npy\n" +
			"  landing make alanine --psi free --atoms all -n 1000 -o free.pdb",
	}, new(alanineOptions), runMakeAlanine)
}

func runMakeAlanine(ctx context.Context, a *app, o *alanineOptions, _ []string) (answer, error) {
	start := time.Now()
	tick, end := counting[int](&a.out, "step")
	f, err := o.Generate(ctx, a.workersPool(), tick)
	end()
	if e := new(dataset.Error); errors.As(err, &e) {
		return answer{}, usage("--%s is %s; expected %s", e.Column, e.Value, e.Want)
	}
	if err != nil {
		return answer{}, err
	}
	m, x := o.pick(f)
	data, err := o.save(func(w io.Writer) error {
		return files.Writers[strings.ToLower(filepath.Ext(o.path))](w, m, arrayfile.RowsOf(x, m.Dim()))
	})
	if err != nil {
		return answer{}, err
	}
	facts, story := o.facts(f, m, data, time.Since(start).Seconds()), o.beside(".json")
	if err := story.saveStory(facts); err != nil {
		return answer{}, err
	}
	ψ := f.Watched[0]
	if ψ.Rhat > 1.05 {
		a.out.say("warning: %s: ψ has not mixed (split-R̂ is %.3g, expected below 1.05): take more --every", o.path,
			ψ.Rhat)
	}
	return answer{facts, func(w io.Writer) {
		fmt.Fprintf(w, "%s of %s in %s, how they were made in %s\n", plural(f.Count, "frame"), plural(m.N(), "atom"),
			o.path, story.path)
		independent := fmt.Sprintf("as good as %.0f independent frames (split-R̂ %.3f)", min(ψ.ESS, float64(f.Count)),
			ψ.Rhat)
		if math.IsNaN(ψ.ESS) {
			independent = "too few frames a chain to say how independent"
		}
		fmt.Fprintf(w, "ψ %.1f° ± %.1f°, %s; worst violation %.1g\n", ψ.Mean*180/math.Pi, ψ.SD*180/math.Pi,
			independent, f.Worst)
	}}, nil
}

// check turns the flags into what is to be generated.
func (o *alanineOptions) check(given func(flag string) bool, _ []string) error {
	if _, err := o.ready(slices.Sorted(maps.Keys(files.Writers))...); err != nil {
		return err
	}
	if _, err := o.beside(".json").ready(".json"); err != nil {
		return err
	}
	err := bounds(positive("number", o.Count), positive("temperature", o.Kelvin), positive("every", o.Every),
		positive("chains", o.Chains), bound{"step", !given("step") || o.Step > 0, o.Step, "a number above 0"},
		oneOfWords("atoms", o.atoms, "heavy", "all"),
		bound{"phi", math.Abs(o.phi) <= 180, o.phi, "degrees from −180 to 180"})
	if err != nil {
		return err // zero stands for a default in the library
	}
	if o.Solvent, err = amber.ParseSolvent(o.solvent); err != nil {
		return usage("--%w", err)
	}
	lo, hi, ok := rangeOf(o.psi)
	if o.psi != "free" && !(ok && lo < hi && hi < lo+360 && math.Abs(lo) <= 360) {
		return badFlag("psi", o.psi, "free, or LOW:HIGH in degrees, less than a turn apart (130:170; 160:200 goes "+
			"across 180)")
	}
	if (o.prmtop == "") != (o.position == "") {
		return usage("--prmtop and --coordinates go together: parameters, and a conformation to begin with")
	}
	o.System, o.Start = amber.AlanineDipeptide(), amber.AlanineStart()
	if o.prmtop != "" {
		if o.System, err = amber.ReadPrmtop(o.prmtop); err != nil {
			return err
		}
		if o.Start, err = amber.ReadCoordinates(o.position, len(o.System.Atoms)); err != nil {
			return err
		}
		o.given = givenField{Prmtop: o.prmtop, Coordinates: o.position}
		for path, hash := range map[string]*string{o.prmtop: &o.given.PrmtopSHA, o.position: &o.given.CoordinatesSHA} {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			*hash = run.Hash(data)
		}
		if err := o.System.Plausible(o.Start); err != nil {
			return fault.Errorf(fault.Data, o.position, "%w", err)
		}
	}
	angle := func(names []string) (conformation.Coordinate, error) {
		atoms, err := o.System.Molecule.SelectAll(names)
		if err != nil {
			err = fault.Errorf(fault.Data, o.prmtop, "%w", err)
		}
		return conformation.Coordinate{Kind: conformation.Dihedral, Atoms: atoms}, err
	}
	φ, err := angle(alaninePhi)
	if err != nil {
		return err
	}
	ψ, err := angle(alaninePsi)
	if err != nil {
		return err
	}
	const degree = math.Pi / 180
	at := o.phi * degree
	o.Conditions = []conformation.Condition{{Name: "phi", Coordinate: φ, Low: at, High: at}}
	if o.psi != "free" {
		o.Conditions = append(o.Conditions, conformation.Condition{Name: "psi", Coordinate: ψ, Low: lo * degree,
			High: hi * degree})
	}
	o.Watch = []conformation.Coordinate{ψ}
	return nil
}

// pick returns the atoms that are written, and their frames.
func (o *alanineOptions) pick(f *dataset.Frames) (*molecule.Molecule, []float64) {
	m := o.System.Molecule
	if o.atoms == "all" {
		return m, f.X
	}
	heavy := m.Heavy()
	x := make([]float64, 0, f.Count*3*len(heavy))
	for i := range f.Count {
		for _, a := range heavy {
			x = append(x, f.X[i*f.D+3*a:i*f.D+3*a+3]...)
		}
	}
	return m.Part(heavy), x
}

// alanineStory is how frames were made: what make alanine prints, and writes beside them.
type alanineStory struct {
	File    string       `json:"file"`
	SHA256  string       `json:"sha256"`
	Version string       `json:"version"`
	Frames  int          `json:"frames"`
	Atoms   []string     `json:"atoms"`
	Unit    string       `json:"unit"`
	Field   string       `json:"force_field"`
	Solvent string       `json:"solvent"`
	Kelvin  float64      `json:"temperature"`
	Phi     float64      `json:"phi"`
	Psi     string       `json:"psi"`
	Law     string       `json:"law"`
	Seed    uint64       `json:"seed"`
	Chains  int          `json:"chains"`
	Burn    int          `json:"burn"`
	Every   int          `json:"every"`
	Step    float64      `json:"step"`
	Seconds float64      `json:"seconds"`
	Worst   float64      `json:"worst_violation"`
	Failed  float64      `json:"failed_projections"` // share
	Turned  float64      `json:"turned_back"`        // share of flights
	Energy  float64      `json:"mean_energy_kcal_mol"`
	PsiMean float64      `json:"psi_mean"` // degrees
	PsiSD   float64      `json:"psi_sd"`
	PsiESS  metric.Float `json:"psi_ess"`
	PsiRhat metric.Float `json:"psi_rhat"`
	givenField
}

// A givenField is a force field of the user's own.
type givenField struct {
	Prmtop         string `json:"prmtop,omitempty"`
	Coordinates    string `json:"coordinates,omitempty"`
	PrmtopSHA      string `json:"prmtop_sha256,omitempty"`
	CoordinatesSHA string `json:"coordinates_sha256,omitempty"`
}

// facts are how the frames were made.
func (o *alanineOptions) facts(f *dataset.Frames, m *molecule.Molecule, data []byte, seconds float64) alanineStory {
	names := make([]string, m.N())
	for i := range names {
		names[i] = m.Label(i)
	}
	ψ := f.Watched[0]
	return alanineStory{File: o.path, SHA256: run.Hash(data), Version: run.Version(), Frames: f.Count, Atoms: names,
		Unit: "ångström", Field: f.System.Origin, Solvent: o.Solvent.String(), Kelvin: o.Kelvin,
		Phi: o.phi, Psi: o.psi, Law: "exp(−U/kT) δ(φ − φ₀), ψ in its window; all coordinates of one mass",
		Seed: o.Seed, Chains: o.Chains, Burn: o.Burn, Every: o.Every, Step: f.Step, Seconds: seconds,
		Worst: f.Worst, Failed: f.Failed, Turned: f.Turned, Energy: f.Energy,
		PsiMean: ψ.Mean * 180 / math.Pi, PsiSD: ψ.SD * 180 / math.Pi, PsiESS: metric.Float(ψ.ESS),
		PsiRhat: metric.Float(ψ.Rhat), givenField: o.given}
}

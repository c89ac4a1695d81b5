package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/proof"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
)

// verified is what verify prints.
type verified struct {
	File    string  `json:"file"`
	Proofs  string  `json:"proofs"` // the file of proofs
	Set     string  `json:"set"`
	Size    float64 `json:"size"`   // of the samples: the largest range of a coordinate
	Within  float64 `json:"within"` // largest δ of a proof
	Seconds float64 `json:"seconds"`
	*proof.Summary
}

// verifyOptions are the flags of verify.
type verifyOptions struct {
	source
	outFile
	run, problem string
	within       float64
	checker      bool
}

func (o *verifyOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.problem, "problem", "", "a recipe or a problem file whose set the points are to be in")
	f.StringVar(&o.run, "run", "", "run folder of the samples (default: what the record beside the file says)")
	f.StringArrayVar(&o.settings, "set", nil, "replace one key of --problem, as in set.radius=2 (repeatable)")
	f.StringVar(&o.variant, "variant", "", "variants of --problem to apply")
	f.Float64Var(&o.within, "within", 0, "largest distance δ of a proof (default: 1e-6 of the largest range of a "+
		"coordinate, 1e-3 for formats that round)")
	f.BoolVar(&o.checker, "checker", false, "print the Python program that replays files of proofs")
	o.outFile.flags(f, "", "file of proofs to write (default: DATA"+proofEnd+")")
}

// roundedShare is which share of the largest coordinate a range must have, to be one.
const roundedShare = 1e-6

// proofEnd is how files of proofs end.
const proofEnd = ".proof.jsonl"

func (o *verifyOptions) check(given func(flag string) bool, args []string) error {
	switch {
	case o.checker == (len(args) > 0):
		return usage("expected a data file, or --checker")
	case given("within") && !(o.within > 0 && o.within < math.Inf(1)):
		return badFlag("within", o.within, "a distance above 0")
	case o.problem != "" && o.run != "":
		return usage("--problem and --run do not go together: a run has its problem")
	case o.problem == "" && (given("set") || given("variant")):
		return usage("--set and --variant need --problem")
	}
	return nil
}

func verifyVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "verify [DATA]",
		Short: "Prove that samples are beside true points of the set",
		Long: `verify shows, by interval arithmetic, that a point with h = 0 and g ≤ 0 exactly lies within δ of each
sample. It reads samples that landing generate wrote, or any table of points of the set of --problem.
It writes the proofs to a file, a line for each sample. --checker prints a Python program that replays
this file without landing.

It exits with 4 if a sample has no proof, or if δ is above --within. The answer says why: components whose
gradients depend on each other, components that are not covered, or samples that are far from the set.`,
		Example: "  landing verify samples.npy\n  landing verify points.csv --problem problem.yaml\n" +
			"  landing verify --checker > check_proof.py && python3 check_proof.py samples.npy" + proofEnd,
	}, new(verifyOptions), runVerify)
}

func runVerify(ctx context.Context, a *app, o *verifyOptions, args []string) (answer, error) {
	if o.checker {
		_, err := a.out.stdout.Write(proof.Checker)
		return answer{}, unlessLeft(err)
	}
	file, folder := args[0], o.run
	if o.problem != "" {
		p, _, err := o.load(o.problem)
		if err != nil {
			return answer{}, err
		}
		process, err := p.Assemble()
		if err != nil {
			return answer{}, err
		}
		points, err := dataset.ReadPoints(file)
		if err != nil {
			return answer{}, err
		}
		if err := experiment.Ordered(p, process.Set, points.Names, file); err != nil {
			return answer{}, err
		}
		switch d := process.Set.Dim(); {
		case points.D%d != 0:
			return answer{}, fault.Errorf(fault.Data, file, "points of %d coordinates; expected %d of %s", points.D, d,
				constraint.Name(process.Set))
		case points.D > d: // chains, as mcmc writes them
			a.out.say("note: a row of %s has %d points of %d coordinates", file, points.D/d, d)
		}
		v, err := a.verify(ctx, process.Set, file, points.X, nil, 0, o.within, onSet, &o.outFile)
		return v.answer(), err
	}
	if folder == "" {
		record, err := experiment.ReadRecord(file)
		if err != nil {
			return answer{}, err
		}
		if _, err := os.Stat(file); err != nil {
			return answer{}, err
		}
		if record == nil {
			return answer{}, usage("there is no %s, which says what run %s is of; expected --problem or --run",
				experiment.RecordName(file), file)
		}
		folder = record.Run
	}
	r, err := a.open(ctx, folder, "", experiment.OpenToDraw)
	if err != nil {
		return answer{}, err
	}
	v, err := a.verifyRun(ctx, r, file, o.within, &o.outFile)
	return v.answer(), err
}

// The largest δ is a share of the samples' size, unless --within says it.
const (
	onSet   = 1e-6
	rounded = 1e-3 // of files that round coordinates
)

// verifyRun verifies samples of a run, and that they keep what their record says that was given.
func (a *app) verifyRun(ctx context.Context, r *experiment.Run, file string, within float64, out *outFile) (*verified,
	error) {
	s, record, err := r.ReadSamples(file)
	if err != nil {
		return nil, err
	}
	first := uint64(0)
	if record != nil {
		first = record.First
	}
	share := onSet
	if files.Rounded[strings.ToLower(filepath.Ext(file))] != nil {
		share = rounded
	}
	set, name := r.Process.Set, constraint.Name(r.Process.Set)
	switch {
	case record == nil || record.Given == nil:
	case record.Given.Text == "":
		a.out.say("note: the record of %s is of an earlier version: the proof is of the run's set alone", file)
	default:
		g, err := r.Given([]byte(record.Given.Text), experiment.RecordName(file))
		if err != nil {
			return nil, err
		}
		set, name = g.Judged().Process.Set, name+", with what is given"
	}
	v, err := a.verify(ctx, set, file, s.X, s.Lost, first, within, share, out)
	if v != nil {
		v.Set = name
	}
	return v, err
}

// verify proves points of a set, those that are lost left out, and writes the proofs: true points are to be within a
// distance, or 0 for a share of the points' size. The answer may come with an error that says that some have none.
func (a *app) verify(ctx context.Context, set constraint.Set, file string, x []float64, lost []bool, first uint64,
	within, share float64, out *outFile) (*verified, error) {
	begin, v := time.Now(), &verified{File: file, Proofs: cmp.Or(out.path, file+proofEnd), Set: constraint.Name(set)}
	if err := run.Free(v.Proofs); err != nil && !out.force {
		return nil, err
	}
	d, largest := set.Dim(), 0.0
	low, high := slices.Repeat([]float64{math.Inf(1)}, d), slices.Repeat([]float64{math.Inf(-1)}, d)
	var kept []float64
	var number []uint64
	for i, point := range arrayfile.RowsOf(x, d).Each() {
		if lost == nil || !lost[i] {
			number, kept = append(number, first+uint64(i)), append(kept, point...)
			for j, c := range point {
				low[j], high[j] = min(low[j], c), max(high[j], c)
				v.Size, largest = max(v.Size, high[j]-low[j]), max(largest, math.Abs(c))
			}
		}
	}
	size := max(v.Size, roundedShare*largest) // points that are one, but for rounding, have no range
	v.Within = cmp.Or(within, share*cmp.Or(size, 1))
	tick, end := counting[int](&a.out, "verified")
	err := run.WriteStream(v.Proofs, out.force, func(w io.Writer) (err error) {
		b := bufio.NewWriterSize(w, 1<<20)
		v.Summary, err = proof.New(set).Write(ctx, b, kept, number, v.Within, a.workersPool(), tick)
		return errors.Join(err, b.Flush())
	})
	end()
	if err != nil {
		return nil, err
	}
	if v.Seconds = time.Since(begin).Seconds(); v.Proved < v.Samples {
		err = fault.Errorf(fault.Check, file, "%d of %d samples have no proof", v.Samples-v.Proved, v.Samples)
	}
	return v, err
}

func (v *verified) answer() answer {
	if v == nil {
		return answer{}
	}
	return answer{v, v.print}
}

func (v *verified) print(w io.Writer) {
	fmt.Fprintf(w, "%d of %d samples are proved (%.2f s); set: %s\n", v.Proved, v.Samples, v.Seconds, v.Set)
	if v.Proved > 0 {
		fmt.Fprintf(w, "a true point lies within %.2g of each (at most %.2g: --within); their largest range is %.3g\n",
			v.Delta, v.Within, v.Size)
	}
	if len(v.NotCovered) > 0 {
		few := v.NotCovered[:min(len(v.NotCovered), maxNamed)]
		fmt.Fprintf(w, "not covered: %s: %s\n", plural(len(v.NotCovered), "component"), strings.Join(few, ", "))
	}
	for _, r := range v.Reasons[:min(len(v.Reasons), maxNamed)] {
		fmt.Fprintf(w, "no proof of %s, the first number %d: %s\n", plural(r.Samples, "sample"), r.First, r.Reason)
	}
	fmt.Fprintf(w, "proofs: %s (landing verify --checker prints a program that repeats them)\n", v.Proofs)
}

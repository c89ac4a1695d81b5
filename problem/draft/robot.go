package draft

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/plan"
	"github.com/landing-diffusion/landing/domain/robot/urdf"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/internal/vec3"
	"github.com/landing-diffusion/landing/problem"
)

// mostSpheres is how many spheres cover a link, at most.
const mostSpheres = 12

// plannedRows is how many motions the drafted command plans: a network copied 500.
const plannedRows = 2000

// Robot drafts a problem for the arm of a URDF file: motions from drawn starts to drawn goals, past a ball that stands
// for what the arm must not hit. out is the problem file's path, for the commands that go on.
func Robot(o Options, out string) (*Draft, error) {
	u := urdf.Options{Base: o.Base, Tip: o.Tip, Longest: true}
	arm, _, err := urdf.Read(o.Path, u)
	if err != nil {
		return nil, err
	}
	var covers []urdf.Cover
	if reach := arm.Reach(); !o.NoVolume {
		u.Cover, u.Excess = mostSpheres, max(0.03*reach, 1e-6)
		if arm, covers, err = urdf.Covered(o.Path, u); err != nil {
			return nil, err
		}
	}
	d := &Draft{Data: o.Path, Format: "URDF", Name: name(o.Path), Kind: "trajectory"}
	tip := arm.Joints[len(arm.Joints)-1].Link
	said, doubt := arm.Described()
	d.Read = said
	d.Notes = append(d.Notes, arm.Notes...)
	if doubt != "" {
		d.Notes = append(d.Notes, doubt)
	}
	see := func(label, format string, v ...any) {
		d.Robot = append(d.Robot, fmt.Sprintf("%-11s", label)+fmt.Sprintf(format, v...))
	}
	see("robot", "%s", said)
	see("chain", "from %s to %s (--base and --tip choose others)", arm.Base, tip)
	for _, i := range arm.Places() {
		see("joint", "%s", jointLine(&arm.Joints[i]))
	}
	for _, c := range covers {
		what := "primitive shapes"
		if len(c.Meshes) > 0 {
			what = text.Counted(len(c.Meshes), "mesh", "meshes")
		}
		see("volume", "%s: %s over %s, standing out by %.0f mm at most", c.Link,
			text.Counted(c.Spheres, "sphere", "spheres"), what, 1000*c.Excess)
	}
	if len(arm.Spheres) == 0 {
		d.note("no link has a volume: obstacles are kept from the origins of links alone; " +
			"set.spheres gives links a volume")
	}
	// A stout arm finds no way around a large ball. The ball may lie in what never moves.
	for _, share := range []float64{1, 0.5, 0} {
		if ok, err := d.compose(arm, o, out, said, share); ok || share == 0 {
			return d, err
		}
	}
	return d, nil
}

// compose writes the problem file, with a ball as the example of an obstacle, and the next commands. The ball's share
// of its largest radius is 0 where it stays a comment. It returns false if the planner finds no motions past it.
func (d *Draft) compose(arm *robot.Arm, o Options, out, said string, share float64) (bool, error) {
	data, tip := d.Name+".npy", arm.Joints[len(arm.Joints)-1].Link
	lines, boxes := surroundings(arm, share)
	body := fmt.Sprintf("name: %s\n\ndata: {kind: trajectory, path: %s}\n\nset:\n  kind: arm\n  urdf: %s\n  base: %s\n"+
		"  tip: %s\n  waypoints: 16\n", strconv.Quote(d.Name), strconv.Quote(data),
		strconv.Quote(pathFrom(o.Folder, o.Path)), strconv.Quote(arm.Base), strconv.Quote(tip)) +
		strings.Join(lines, "\n") + "\n"
	p, err := problem.Load([]byte(body), filepath.Join(o.Folder, "the draft"), "", nil)
	if err != nil {
		return false, err
	}
	p.SetFile("set.urdf", o.Path) // the body has it from the problem's folder
	proc, err := p.Build()
	if err != nil {
		return false, err
	}
	flags := ""
	for e, box := range boxes {
		var ranges []string
		for k := range 3 {
			ranges = append(ranges, rounded(box[0][k])+":"+rounded(box[1][k]))
		}
		flags += fmt.Sprintf(" --%s=%s", []string{"starts", "goals"}[e], strings.Join(ranges, ","))
	}
	if boxes != nil {
		count := 100
		if share > 0 && share < 1 {
			count = 25 // hard to find
		}
		q, err := posture(proc.Set, boxes, count)
		switch {
		case err != nil && share > 0:
			return false, err
		case err != nil:
			d.note("the planner found no motions between the drafted places: %v", err)
		default:
			flags += " --near=" + q
		}
		if share == 0 {
			d.note("the example of an obstacle stays a comment: the planner found no way past it, or it touches what " +
				"never moves")
		}
		motions, _ := constraint.As[*trajectory.Set](proc.Set)
		if o := motions.Spec().Obstacles; len(o) > 0 { // a network blurs rooms that are all alike
			flags += " --reserve=" + rounded(0.2*o[0].Radius) + ":" + rounded(0.6*o[0].Radius)
		}
	}
	planning := fmt.Sprintf("landing make arm %s -n %d%s -o %s", text.Shell(out), plannedRows, flags,
		text.Shell(filepath.Join(o.Folder, data)))
	train := "landing train " + text.Shell(out)
	d.YAML = problem.SchemaLine + "\n" + comment("", "Drafted from %s: %s.", o.Path, said)
	for _, n := range d.Notes {
		d.YAML += comment("", "Note: %s.", strings.TrimSuffix(n, "."))
	}
	d.YAML += comment("", "Look it over, then:") + "#   " + planning + "\n#   " + train + "\n" + body
	d.Robot = append(d.Robot, "next       "+planning, "           "+train)
	return true, nil
}

// posture returns joint values that motions are planned about: the start of a planned motion that is no longer than
// half of them, with its joints nearest to the middle of their ranges. Motions from all postures of the arm at a place
// differ so much that a network would need far more of them.
func posture(set constraint.Set, boxes [][2]plan.Point3, count int) (string, error) {
	motions, _ := constraint.As[*trajectory.Set](set)
	spec := motions.Spec()
	b := plan.Batch{Set: set, Spec: spec, Tip: spec.Tip(), Count: count, Seed: 1, Start: boxes[0], Goal: boxes[1],
		Failing: 3, Options: plan.Options{Nodes: 1000, Segments: true, Reserve: 0.02}}
	found, err := b.Run(context.Background(), parallel.New(runtime.NumCPU()))
	if err != nil {
		return "", err
	}
	var lengths []float64
	for _, p := range found.Paths {
		lengths = append(lengths, p.Length)
	}
	slices.Sort(lengths)
	var values []string
	q, least := make([]float64, spec.Arm.Moving()), math.Inf(1)
	for i, p := range found.Paths {
		off := 0.0
		spec.Arm.Angles(q, found.X[i*found.Dim:][:spec.Arm.Dim()])
		for j, at := range spec.Arm.Places() {
			low, high := rangeOf(&spec.Arm.Joints[at])
			off += math.Pow((q[j]-(low+high)/2)/(high-low), 2)
		}
		if off < least && p.Length <= lengths[len(lengths)/2] {
			least, values = off, nil
			for _, v := range q {
				values = append(values, number(math.Round(v*100)/100))
			}
		}
	}
	return strings.Join(values, ","), nil
}

// rangeOf returns a joint's range, at most a whole turn or 4 m about 0.
func rangeOf(j *robot.Joint) (low, high float64) {
	most := math.Pi
	if j.Kind == robot.Prismatic {
		most = 2
	}
	if j.Kind == robot.Continuous {
		return -most, most
	}
	return max(j.Lower, -most), min(j.Upper, most)
}

func rounded(v float64) string { return number(math.Round(v*1000) / 1000) }

// jointLine says what a joint does: its limits in radians and degrees, or metres.
func jointLine(j *robot.Joint) (s string) {
	const degree = 180 / math.Pi
	unit := "rad"
	switch wide := j.Upper - j.Lower; {
	case j.Kind == robot.Prismatic:
		unit, s = "m", fmt.Sprintf("%s slides from %.4g to %.4g m", j.Name, j.Lower, j.Upper)
	case j.Kind == robot.Continuous || math.Abs(wide-2*math.Pi) < 1e-3:
		s = j.Name + " turns all the way round"
	default:
		s = fmt.Sprintf("%s turns from %.4g to %.4g rad (%.4g° to %.4g°)", j.Name, j.Lower, j.Upper, j.Lower*degree,
			j.Upper*degree)
	}
	if !math.IsInf(j.Velocity, 1) {
		s += fmt.Sprintf(", at most %.4g %s/s", j.Velocity, unit)
	}
	return s
}

// surroundings writes the set's lines about places and obstacles, and where starts and goals are drawn from: to both
// sides of a ball, at 0.6 of how far the tip gets in the direction that the arm mostly reaches. Where the tip of random
// configurations does not fill space, joints tell start and goal.
func surroundings(arm *robot.Arm, share float64) (lines []string, boxes [][2]plan.Point3) {
	const draws = 2000
	k, x, z := arm.NewKinematics(), make([]float64, arm.Dim()), make([]float64, arm.Moving())
	q, places := make([]float64, arm.Moving()), arm.Places()
	k.At(x)
	from := k.Pose(places[0]).P
	var at [][3]float64
	var mean [3]float64
	reach := 0.0
	for i := range draws {
		keyed.ReachStart.Stream(1, 0).Normals(z, uint64(i), 0)
		trajectory.Random(q, arm, z)
		arm.Coordinates(x, q)
		k.At(x)
		p := vec3.Minus(k.Pose(len(arm.Joints)-1).P, from)
		at, mean, reach = append(at, p), vec3.Add(mean, 1.0/draws, p), max(reach, vec3.Norm(p))
	}
	ahead := [3]float64{1}
	if flat := ([3]float64{mean[0], mean[1]}); vec3.Norm(flat) > reach/4 {
		ahead = vec3.Unit(flat)
	}
	var heights []float64
	var spread [3][3]float64
	far := 0.0
	for _, p := range at {
		flat, c := [3]float64{p[0], p[1]}, vec3.Minus(p, mean)
		if vec3.Dot(flat, ahead) > 0.7*vec3.Norm(flat) {
			heights, far = append(heights, p[2]), max(far, vec3.Norm(flat))
		}
		for i := range spread {
			spread[i] = vec3.Add(spread[i], c[i]/draws, c)
		}
	}
	slices.Sort(heights)
	volume := vec3.Dot(spread[0], vec3.Cross(spread[1], spread[2])) // of the spread: the product of its three variances
	if len(heights) == 0 || volume < math.Pow(reach, 6)*1e-7 || far < reach/10 {
		for e, key := range []string{"start", "goal"} {
			var values []string
			for _, i := range places {
				lo, hi := max(arm.Joints[i].Lower, -2), min(arm.Joints[i].Upper, 2)
				values = append(values, rounded(lo+[]float64{0.3, 0.7}[e]*(hi-lo)))
			}
			lines = append(lines, fmt.Sprintf("  %s: {joints: [%s]}", key, strings.Join(values, ", ")))
		}
	} else {
		side := [3]float64{-ahead[1], ahead[0]}
		middle := vec3.Add(vec3.Add(from, 0.6*far, ahead), heights[len(heights)/2], [3]float64{2: 1})
		half := [3]float64{reach / 20, reach / 20, reach / 20}
		for _, sign := range []float64{-1, 1} {
			at := vec3.Add(middle, 0.4*far*sign, side)
			boxes = append(boxes, [2]plan.Point3{vec3.Minus(at, half), vec3.Add(at, 1, half)})
		}
		lines = []string{"  start: {position: condition}  # the tip's place is given with each motion",
			"  goal: {position: condition}",
			"  # path: [{name: down, upright: [0, 0, -1]}]  # what all way points keep: the tip's z axis points down",
			"  obstacles:  # an example: put what stands around your robot here",
			fmt.Sprintf("    - {name: ball, sphere: [%s, %s, %s], radius: %s}", rounded(middle[0]), rounded(middle[1]),
				rounded(middle[2]), rounded(max(share, 0.5)*reach/10)),
			"    # - {name: table, box: [0, 0, -0.1], size: [2, 2, 0.1]}  # its top is 5 cm below the base",
			"  margin: " + rounded(reach/100) + "  # m", "  clearance: segments  # kept between way points too"}
		for i := 3; i < len(lines) && share == 0; i++ {
			lines[i] = "  #" + lines[i][1:]
		}
	}
	if len(arm.Spheres) > 0 {
		lines = append(lines, "  spheres:  # they cover the collision shapes; in the links' frames, m")
	}
	for _, s := range arm.Spheres {
		c := s.Centre
		lines = append(lines, fmt.Sprintf("    - {link: %s, at: [%.4f, %.4f, %.4f], radius: %.4f}",
			strconv.Quote(arm.Joints[s.Link].Link), c[0], c[1], c[2], s.Radius+1e-4)) // for what is rounded
	}
	return lines, boxes
}

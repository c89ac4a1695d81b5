package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot/plan"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/study/engine"
	"github.com/landing-diffusion/landing/study/serve"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var (
	scenes    = flag.Int("scenes", 0, "scenes of TestGivenScenes, each with a new ball and a query between new places")
	sceneDraw = flag.String("draw", "repair", "draw of the request of TestGivenScenes")
	sceneRows = flag.String("scene-rows", "", "NPY file of motions that the scenes are about, as make arm writes it; "+
		"held-out rows unless given")
	sceneNoise = flag.Uint64("scene-seed", 1, "seed of the scenes")
)

// A service with a run of an arm gets a request for a motion past the run's obstacles and a ball of 6 cm that training
// never saw. The ball stands about the way of a motion of the data, 3 cm at least from the arm at both ends of it.
// The planner gets the same query, 20 times at most. Where the run's condition has ball_x, ball_y and ball_z, they say
// where the ball is. Plain motions are those of the run alone.
func TestGivenScenes(t *testing.T) {
	if *scenes == 0 || *runFolder == "" {
		t.Skip("expected -folder RUN -scenes 100")
	}
	pool := parallel.New(1)
	t.Cleanup(pool.Close)
	r := testkit.Must(experiment.Open(t.Context(), *runFolder, "", pool, nil))
	inner := r.Process.Set
	if free, ok := constraint.Free(inner); ok {
		inner = free
	}
	set, ok := constraint.As[*trajectory.Set](inner)
	if !ok {
		t.Fatal("expected a run of an arm")
	}
	spec, names := set.Spec(), r.Problem.Condition.Columns
	size, dim, tip := spec.Arm.Dim(), r.Process.Set.Dim(), spec.Tip()
	send := serving(t)
	rng := rand.New(rand.NewPCG(*sceneNoise, 0))
	rows, width := r.HeldOutRows, dim
	if *sceneRows != "" {
		file := testkit.Must(arrayfile.ReadNPY(*sceneRows))
		rows, width = file.Float64, file.Shape[1]
	}
	kin, held := spec.Arm.NewKinematics(), len(rows)/width
	at := func(x []float64, l int) [3]float64 {
		kin.At(x[l*size : (l+1)*size])
		return kin.Point(tip.Link, tip.Local)
	}
	const radius, off = 0.06, 0.03
	var asDrawn, found, clear, margin, planned, both int
	var waits, processors, plans []float64
	for i := 0; i < *scenes; {
		row := rows[rng.IntN(held)*width:][:spec.Waypoints*size]
		first, last := at(row, 0), at(row, spec.Waypoints-1)
		ball := at(row, 3+rng.IntN(spec.Waypoints-6))
		for k := range ball {
			ball[k] += 0.08 * rng.NormFloat64()
		}
		with := spec
		with.Obstacles = append(slices.Clone(spec.Obstacles), scene.Obstacle{Name: "new", A: ball, Radius: radius})
		all := &scene.Scene{Arm: spec.Arm, Bodies: spec.Volume, Obstacles: with.Obstacles}
		checker := all.NewChecker()
		far := math.Inf(1)
		for _, l := range []int{0, spec.Waypoints - 1} {
			room, _ := checker.Clearance(row[l*size : (l+1)*size])
			far = min(far, room)
		}
		if far < off {
			continue
		}
		condition := map[string]float64{}
		for _, name := range names {
			place, axis, _ := strings.Cut(name, "_")
			of := map[string][3]float64{"start": first, "goal": last, "ball": ball}[place]
			condition[name] = of[strings.Index("xyz", axis)]
		}
		ask := map[string]any{"n": 1, "first": i}
		if len(names) > 0 {
			ask["condition"] = condition
		}
		if x := send(ask).X; len(x) > 0 { // the run alone
			if s, _ := checker.Path(x[0][:spec.Waypoints*size], spec.Waypoints); s.Lower > 0 {
				asDrawn++
			}
		}
		ask["given"] = map[string]any{"draw": *sceneDraw, "obstacles": []any{map[string]any{"sphere": ball,
			"radius": radius}}}
		if i == 0 {
			send(ask) // warm
		}
		start, before := time.Now(), processor.Seconds()
		got := send(ask)
		waits = append(waits, 1e3*time.Since(start).Seconds())
		processors = append(processors, 1e3*(processor.Seconds()-before))
		there := len(got.X) > 0
		if ms := processors[i]; ms > 60 && there {
			t.Logf("scene %d: %.0f ms, %d drawn, %d moved", i, ms, got.Given.Attempts, got.Given.Moved)
		}
		if there {
			found++
			s, _ := checker.Path(got.X[0][:spec.Waypoints*size], spec.Waypoints)
			if s.Lower > 0 {
				clear++
			}
			if s.Lower >= spec.Margin {
				margin++
			}
		}
		b := plan.Batch{Set: testkit.Must(trajectory.New(with)), Spec: with, Tip: tip, Count: 1, Seed: uint64(i),
			Failing: 2, Start: [2]plan.Point3{first, first}, Goal: [2]plan.Point3{last, last}}
		near := make([]float64, spec.Arm.Moving())
		spec.Arm.Angles(near, row[:size])
		b.Options = plan.Options{Segments: true, Near: [][]float64{near}, Reserve: 0.02}
		before = processor.Seconds()
		paths, err := b.Run(t.Context(), pool)
		plans = append(plans, 1e3*(processor.Seconds()-before))
		if err == nil && paths.Count == 1 {
			if planned++; there {
				both++
			}
		} else if !there {
			t.Logf("scene %d: neither: ball %.3g, %v; %s", i, ball, err, got.Detail)
		} else {
			t.Logf("scene %d: the planner alone: %v", i, err)
		}
		if !there && err == nil {
			t.Logf("scene %d: ball %.3g: %s", i, ball, got.Detail)
		}
		i++
	}
	t.Logf("%d scenes: %d plain motions are clear; given: %d motions, %d clear along segments, %d with the margin; "+
		"planner: %d, both %d", *scenes, asDrawn, found, clear, margin, planned, both)
	for name, of := range map[string][]float64{"first motion, ms": waits, "processor ms": processors,
		"planner, processor ms": plans} {
		slices.Sort(of)
		t.Logf("%s: p50 %.1f, p90 %.1f, p99 %.1f, most %.1f", name, of[len(of)/2], of[len(of)*9/10],
			of[(len(of)*99+99)/100-1], of[len(of)-1])
	}
}

// An answer of the service: samples, or why there are none.
type reply struct {
	X      [][]float64 `json:"samples"`
	Detail string      `json:"detail"`
	Given  *experiment.GivenReport
}

// serving starts a service with the run of -folder, and returns what asks it.
func serving(t *testing.T) func(ask any) reply {
	e := engine.New(runtime.GOMAXPROCS(0))
	s := serve.New(e, serve.Options{Local: true, Load: func(ctx context.Context) ([]*engine.Run, error) {
		r, err := experiment.OpenToDraw(ctx, *runFolder, "", parallel.New(1), nil)
		if err != nil {
			return nil, err
		}
		ready, err := e.Ready(ctx, "arm", r)
		return []*engine.Run{ready}, err
	}})
	l := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(end)
	go s.Serve(ctx, l, nil)
	url := fmt.Sprintf("http://%s/v1/runs/arm/samples", l.Addr())
	return func(ask any) (out reply) {
		for {
			got, err := http.Post(url, "application/json", bytes.NewReader(testkit.Must(json.Marshal(ask))))
			testkit.OK(t, err)
			if got.StatusCode != http.StatusServiceUnavailable {
				testkit.OK(t, json.NewDecoder(got.Body).Decode(&out))
				got.Body.Close()
				return out
			}
			got.Body.Close()
			time.Sleep(100 * time.Millisecond)
		}
	}
}

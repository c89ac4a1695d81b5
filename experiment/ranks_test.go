package experiment

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// led runs f on rank 0 of a group of `size` ranks. The other ranks follow it. spoil changes what these receive.
func led(size int, f func(g ranks.Group), spoil func(g ranks.Group) ranks.Group) {
	var wait sync.WaitGroup
	for rank, g := range ranks.Local(size) {
		if rank > 0 && spoil != nil {
			g = spoil(g)
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			if rank == 0 {
				f(g)
				End(g)
				return
			}
			Follow(g, parallel.New)
		}()
	}
	wait.Wait()
}

// keptBytes returns the bytes of the newest checkpoint's weights, and the epochs of a run without their times.
func keptBytes(t *testing.T, r *Run) (weights []byte, told []train.Epoch) {
	t.Helper()
	names, err := r.Folder.Checkpoints().Names()
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	weights = testkit.Must(os.ReadFile(r.Folder.Path("checkpoints/" + names[len(names)-1] + "/weights.safetensors")))
	records := testkit.Must(r.Folder.Metrics())
	told = run.Decode[train.Epoch](records, "epoch")
	for i := range told {
		told[i].Seconds, told[i].Simulated = 0, 0
	}
	return weights, told
}

// A run folder has the same weights however many ranks made it: with evaluations and held-out distances on the way,
// of a training that goes back to an earlier checkpoint and one that is stopped and gone on with.
func TestRanksMakeTheSameRun(t *testing.T) {
	for name, settings := range map[string][]string{
		"plain":    {"train.epochs=4", "train.evaluate_every=2", "prior=empirical", "train.window=0"},
		"held out": {"train.epochs=200", "train.stop=held_out", "train.batch=20", "train.refresh=3"},
		"loss":     {"train.epochs=12", "train.stop=held_out_loss", "train.batch=20", "process.steps=10"},
	} {
		if name == "held out" && !testkit.Long() { // half a minute
			continue
		}
		alone := begin(t, settings...)
		testkit.OK(t, alone.Train(t.Context(), "", Observer{}))
		want, epochs := keptBytes(t, alone)
		for _, size := range []int{3, 2}[:1+len(name)%2] { // plain: both
			led(size, func(g ranks.Group) {
				r := begin(t, settings...)
				r.Group = g
				ctx, cancel := context.WithCancel(t.Context())
				stop := Observer{Epoch: func(e train.Epoch) {
					if e.Epoch == 2 {
						cancel()
					}
				}}
				if err := r.Train(ctx, "", stop); !train.Interrupted(err) {
					t.Errorf("%s, %d ranks: %v", name, size, err)
				}
				if err := r.Train(t.Context(), "", Observer{}); err != nil {
					t.Errorf("%s, %d ranks: %v", name, size, err)
					return
				}
				weights, told := keptBytes(t, r)
				testkit.EqualSlices(t, weights, want, "%s, %d ranks: other weights", name, size)
				if a, b := len(told), len(epochs); a != b || told[a-1].Loss != epochs[b-1].Loss {
					t.Errorf("%s, %d ranks: %d epochs, alone %d", name, size, a, b)
				}
			}, nil)
		}
	}
}

// A rank that is not as rank 0 ends the training before it begins, and says where it is and what is not alike; the
// ranks are ready for another one.
func TestRanksThatDiffer(t *testing.T) {
	for what, damage := range map[string][2]string{
		"cannot load what rank 0 trains": {"kind: demo", "kind: dumo"},
		"has a network with parameters":  {"width: 8", "width: 9"},
	} {
		led(3, func(g ranks.Group) {
			r := begin(t, "train.window=0")
			r.Group = g
			err := r.Train(t.Context(), "", Observer{})
			if err == nil || !strings.HasPrefix(err.Error(), "rank 2 of the MPI job") ||
				!strings.Contains(err.Error(), what) {
				t.Errorf("got %v", err)
			}
			again := begin(t, "train.window=0")
			again.Group = g
			if err := again.Train(t.Context(), "", Observer{}); err != nil {
				t.Errorf("after it: %v", err)
			}
		}, func(g ranks.Group) ranks.Group {
			if g.Rank() != 2 {
				return g
			}
			return &spoiled{Group: g, damage: damage}
		})
	}
	here := fingerprint{Version: "1", Kernel: "avx2", Products: "float32", Data: "aa", Parameters: 3}
	for _, change := range []func(m *fingerprint){
		func(m *fingerprint) { m.Version = "2" }, func(m *fingerprint) { m.Kernel = "avx512" },
		func(m *fingerprint) { m.Products = "bfloat16" }, func(m *fingerprint) { m.Data = "ab" },
		func(m *fingerprint) { m.Parameters++ }, func(m *fingerprint) { m.Constants = "c" },
		func(m *fingerprint) { m.Fault = "no memory" },
	} {
		there := here
		if change(&there); here.differs(there) == "" || here.differs(here) != "" {
			t.Errorf("%+v and %+v", here, there)
		}
	}
}

// spoiled changes the first words of rank 0 that are a job.
type spoiled struct {
	ranks.Group
	damage [2]string
	done   bool
}

func (s *spoiled) Broadcast(from int, b []byte) {
	s.Group.Broadcast(from, b)
	if !s.done && bytes.HasPrefix(b, []byte(`{"problem"`)) {
		s.done = true
		copy(b, bytes.Replace(b, []byte(s.damage[0]), []byte(s.damage[1]), 1))
	}
}

// Resuming says where kernels, the architecture or what products run as are others.
func TestKernelWarning(t *testing.T) {
	was := run.Machine{Arch: "amd64", Kernel: "avx2", Products: map[string]string{"bfloat16": "float32"}}
	for want, here := range map[string]run.Machine{
		"": was,
		"avx2 kernels on amd64, here are portable on amd64": {Arch: "amd64", Kernel: "portable"},
		"avx2 kernels on amd64, here are avx2 on arm64":     {Arch: "arm64", Kernel: "avx2"},
		"on amd64, here are avx2 on amd64, fused":           {Arch: "amd64, fused", Kernel: "avx2"},
		"ran as float32 and run as bfloat16 here": {Arch: "amd64", Kernel: "avx2",
			Products: map[string]string{"bfloat16": "bfloat16"}},
	} {
		got := kernelWarning(was, here, "bfloat16")
		testkit.Contains(t, got, want)
		testkit.Equal(t, got == "", want == "", "a warning: %q", got)
	}
}

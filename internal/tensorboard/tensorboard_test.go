package tensorboard_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"image"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/internal/tensorboard"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/eventfile"
)

func records(t *testing.T, b []byte) [][]byte {
	t.Helper()
	return testkit.Must(eventfile.Records(b))
}

// The checksum that the format's description gives for 32 zeros (RFC 3720), masked.
func TestMasked(t *testing.T) {
	c := uint32(0x8a9136aa)
	testkit.Equal(t, tensorboard.Masked(make([]byte, 32)), c>>15|c<<17+0xa282ead8)
}

func TestEvents(t *testing.T) {
	var b bytes.Buffer
	w := tensorboard.NewWriter(&b, 1000.5)
	w.Restart(1000.5, 7)
	w.Scalar(1001, 8, "loss", 0.25)
	w.Scalar(1001, 8, "nothing", math.NaN())
	w.Histogram(1002, 9, "violation", []float64{1, math.Inf(1), 0, -2, 0, 1e-20, math.NaN(), 1})
	testkit.Equal(t, b.Len(), 0, "events are written before they are whole")
	testkit.OK(t, w.Flush())
	all := records(t, b.Bytes())
	if len(all) != 4 {
		t.Fatalf("%d records", len(all))
	}
	e := eventfile.Fields(all[0])
	if string(e[3][0]) != tensorboard.Version || eventfile.Doubles(e[1][0])[0] != 1000.5 {
		t.Errorf("the first event is %x", e)
	}
	if e := eventfile.Fields(all[1]); e[2][0][0] != 7 || !bytes.Equal(e[7][0], []byte{8, 1}) {
		t.Errorf("where it goes on: %x", e)
	}
	v := eventfile.Fields(eventfile.Fields(eventfile.Fields(all[2])[5][0])[1][0])
	if string(v[1][0]) != "loss" || math.Float32frombits(binary.LittleEndian.Uint32(v[2][0])) != 0.25 {
		t.Errorf("a scalar is %x", v)
	}
	h := eventfile.Fields(eventfile.Fields(eventfile.Fields(eventfile.Fields(all[3])[5][0])[1][0])[5][0])
	limits, counts := eventfile.Doubles(h[6][0]), eventfile.Doubles(h[7][0])
	if len(limits) != 4 || len(counts) != 4 {
		t.Fatalf("a histogram is %x", h)
	}
	for field, want := range map[int]float64{1: -2, 2: 1, 3: 6, 4: 0, 5: 6} { // least, most, how many, sum, squares
		if got := eventfile.Doubles(h[field][0]); got[0] != want {
			t.Errorf("field %d of a histogram is %v, want %v", field, got, want)
		}
	}
	for i, want := range []float64{1, 2, 1, 2} {
		testkit.Equal(t, counts[i], want, "cells %v up to %v", counts, limits)
	}
	if l := limits; !(l[0] >= -2 && l[0] < -1.8) || l[1] != 0 || l[2] != 1e-18 || !(l[3] >= 1 && l[3] < 1.11) {
		t.Errorf("cells up to %v", limits)
	}
}

// TensorBoard's own reader has the numbers, and drops what a later file makes anew.
func TestTensorBoard(t *testing.T) {
	python := cmp.Or(os.Getenv("LANDING_PYTHON"), "python3")
	if exec.Command(python, "-c", "import tensorboard").Run() != nil {
		t.Skipf("%s has no tensorboard: set LANDING_PYTHON", python)
	}
	dir := t.TempDir()
	var picture bytes.Buffer
	testkit.OK(t, png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 3, 2))))
	for i, from := range []int64{0, 3} {
		var b bytes.Buffer
		w := tensorboard.NewWriter(&b, 1000+float64(i))
		if i > 0 {
			w.Restart(1000+float64(i), from)
		}
		for step := max(from, 1); step < from+5; step++ {
			w.Scalar(1000+float64(step), step, "loss", float64(10*i)+float64(step))
		}
		w.Histogram(1001, 4, "violation", []float64{1, 2, 2, 3})
		w.Image(1001, 4, "map", picture.Bytes(), 3, 2)
		testkit.OK(t, w.Flush())
		name := "events.out.tfevents.000000000" + string(rune('1'+i)) + ".landing"
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600))
	}
	out, err := exec.Command(python, "-c", `
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "images": 0}); a.Reload()
t = a.Tags()
print([(s.step, s.value) for s in a.Scalars("loss")], t["histograms"], t["images"])
h = a.Histograms("violation")[-1].histogram_value
print(h.num, h.sum, sum(h.bucket), a.Images("map")[-1].width)
`, dir).CombinedOutput()
	want := "[(1, 1.0), (2, 2.0), (3, 13.0), (4, 14.0), (5, 15.0), (6, 16.0), (7, 17.0)] ['violation'] ['map']\n" +
		"4.0 8.0 4.0 3\n"
	if err != nil || !strings.HasSuffix(string(out), want) {
		t.Errorf("%v\n%s", err, out)
	}
}

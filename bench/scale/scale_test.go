package main

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"
)

// The tables of the page are those of the program.
func TestPageHasTheTables(t *testing.T) {
	costs, err := read(measured)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Tables(&b, costs); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range strings.Split(b.String(), "<!-- ")[1:] {
		if !bytes.Contains(page, []byte("<!-- "+table)) {
			t.Errorf("docs/scale.md does not have what go run ./bench/scale prints:\n%s", table)
		}
	}
}

var some = Costs{Name: "some", Dim: 3, Steps: 50, Paths: 1000, Refresh: 2, Updates: 10, Rows: 3200,
	Parameters: 100_000, Step: 1e-6, Row: 1e-5, Update: 1e-3, Sample: 1e-3}

// free is a network that takes no time.
var free = Network{Bytes: math.Inf(1)}

// One core takes the sum of the costs; ranks that talk in no time share rows and paths evenly as far as there are
// parts, and what is not divided stays.
func TestEpoch(t *testing.T) {
	want := 10*(3200*1e-5+1e-3) + 1000*50*1e-6/2
	for _, net := range append([]Network{free}, networks...) {
		for _, exact := range []bool{true, false} {
			if got := some.Epoch(1, 1, exact, net).Total(); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s, exact %v: an epoch takes %v on one core, want %v", net.Name, exact, got, want)
			}
		}
	}
	for _, c := range []struct {
		ranks, cores int
		exact        bool
		rows         float64 // of 16 parts, that the slowest rank computes one after the other
	}{
		{2, 1, true, 8}, {3, 1, true, 6}, {16, 1, true, 1}, {64, 1, true, 1}, {4, 4, true, 1}, {2, 3, true, 3},
		{2, 1, false, 8}, {64, 1, false, 0.25}, {2, 16, false, 0.5},
	} {
		s := some.Epoch(c.ranks, c.cores, c.exact, free)
		if want := 10 * 3200 * 1e-5 * c.rows / 16; math.Abs(s.Rows-want) > 1e-12 {
			t.Errorf("%+v: rows take %v, want %v", c, s.Rows, want)
		}
		if want := 10 * 1e-3 / float64(c.cores); math.Abs(s.Updates-want) > 1e-12 {
			t.Errorf("%+v: updates take %v, want %v", c, s.Updates, want)
		}
	}
	// By hand: 400 000 bytes in 4 pieces of at most 131 072, through 4 ranks and back along a tree of 2 levels, and 96
	// and 256 bytes; paths of each of 4 ranks to all others.
	net := Network{"", 1e-3, 1e9}
	n, own := 400_000.0, 8*3*1000.0*51/4
	want = 10 * ((3+3)*(1e-3+131072e-9) + 2*(1e-3+n*1e-9) + 2*(1e-3+96e-9) + 2*(1e-3+256e-9))
	want += 4 * 2 * (1e-3 + own*1e-9) / 2
	if got := some.Epoch(4, 1, true, net).Network; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("the network takes %v, want %v", got, want)
	}
}

// More ranks never have more of a core's worth each, but for the steps of the 16 parts, and none is above 1.
func TestEfficiency(t *testing.T) {
	for _, net := range networks {
		last := 1 + 1e-12
		for _, ranks := range ranksShown {
			e := some.Efficiency(ranks, 1, true, net)
			if !(e <= last) {
				t.Errorf("%s: %d ranks have an efficiency of %v, fewer of %v", net.Name, ranks, e, last)
			}
			last = e
		}
	}
}

// Samples of workers: a worker alone takes what they cost; more workers than units are of no use; a server that is
// slower than its workers is what counts.
func TestSamples(t *testing.T) {
	f := Farm{Start: 1, Unit: 0.5, Merge: 1e6}
	if got, want := f.Samples(some, 100, 10, 1), 1+10*(10*1e-3+0.5)+2400e-6; math.Abs(got-want) > 1e-9 {
		t.Errorf("one worker takes %v, want %v", got, want)
	}
	if got, want := f.Samples(some, 100, 10, 1000), 1+(10*1e-3+0.5)+2400e-6; math.Abs(got-want) > 1e-9 {
		t.Errorf("1000 workers take %v, want %v", got, want)
	}
	f.Serve = 2
	if got, want := f.Samples(some, 100, 10, 1000), 1+20+2400e-6; math.Abs(got-want) > 1e-9 {
		t.Errorf("a slow server: %v, want %v", got, want)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{"name\nx,1", "name\n" + strings.Repeat("x,", 11) + "x", "\"name\n"} {
		if _, err := read(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

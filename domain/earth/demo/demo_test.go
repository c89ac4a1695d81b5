package demo

import (
	"bufio"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestEarthquakes(t *testing.T) {
	lines := bufio.NewScanner(Earthquakes())
	var comments, rows int
	header := false
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "#"):
			comments++
			continue
		case !header:
			header = true
			if line != "latitude,longitude" {
				t.Fatalf("header %q", line)
			}
			continue
		}
		first, second, _ := strings.Cut(line, ",")
		lat, err1 := strconv.ParseFloat(first, 64)
		lon, err2 := strconv.ParseFloat(second, 64)
		if err1 != nil || err2 != nil || !(math.Abs(lat) <= 90 && math.Abs(lon) <= 180) {
			t.Errorf("line %d: %q", n, line)
		}
		rows++
	}
	testkit.OK(t, lines.Err())
	if comments == 0 || rows != 1679 {
		t.Errorf("%d comment lines and %d earthquakes, want some and 1679", comments, rows)
	}
}

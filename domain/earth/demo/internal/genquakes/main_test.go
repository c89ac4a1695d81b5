package main

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

func TestReduce(t *testing.T) {
	var f feed
	testkit.OK(t, json.Unmarshal([]byte(`{"features": [
		{"properties": {"time": 86400000, "type": "earthquake"},
			"geometry": {"coordinates": [-118.6671667, 34.4945, 26.49]}},
		{"properties": {"time": 0, "type": "quarry blast"}, "geometry": {"coordinates": [1, 2, 3]}},
		{"properties": {"time": 0, "type": "earthquake"}, "geometry": null},
		{"properties": {"time": 172800000, "type": "earthquake"}, "geometry": {"coordinates": [10, -0.00001]}}
	]}`), &f))
	var b strings.Builder
	testkit.OK(t, reduce(bufio.NewWriter(&b), f))
	if want := "latitude,longitude\n34.4945,-118.6672\n0,10\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("got %q, want it to end in %q", b.String(), want)
	}
	if want := "# Epicentres of 2 earthquakes, 1970-01-02 to 1970-01-03"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("got %q, want it to begin with %q", b.String(), want)
	}
}

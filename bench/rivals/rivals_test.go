package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain lets the test binary stand in for Python: it answers every request
// with twenty seconds a thread.
func TestMain(m *testing.M) {
	if os.Getenv("RIVALS_TEST_TORCH") == "" {
		os.Exit(m.Run())
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var request struct {
			Name, Precision string
			Threads         float64
			Seconds         *float64
		}
		if err := json.Unmarshal(in.Bytes(), &request); err != nil || request.Name == "" || request.Precision == "" ||
			request.Seconds == nil {
			fmt.Println("bad request", in.Text())
			return
		}
		fmt.Printf(`{"name": %q, "variant": "still", "best_seconds": %g, "p50_seconds": 21, `+
			`"p99_seconds": 22, "cpu_seconds": 19}`+"\n", request.Name, 20*request.Threads)
	}
}

func TestPlay(t *testing.T) {
	t.Setenv("RIVALS_TEST_TORCH", "1")
	var out strings.Builder
	if err := play(&out, os.Args[0], "-", "inference/(volcano/1|arm/1) float32", "1,2", 2, 0, 0, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2+1+4 {
		t.Fatalf("got\n%s", out.String())
	}
	for i, begin := range []string{"inference/arm/1 1", "inference/volcano/1 1", "inference/arm/1 2",
		"inference/volcano/1 2"} {
		cells := strings.Fields(lines[3+i])
		var ms, ratio float64
		if _, err := fmt.Sscan(cells[3], &ms); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(cells[12], &ratio); err != nil {
			t.Fatal(err)
		}
		theirs := map[string]string{"1": "2e+04", "2": "4e+04"}[cells[1]]
		if want := map[string]float64{"1": 2e4, "2": 4e4}[cells[1]] / ms; strings.Join(cells[:2], " ") != begin ||
			cells[2] != "float32" || cells[8] != theirs || ratio < 0.99*want || ratio > 1.01*want {
			t.Errorf("line %q", lines[3+i])
		}
	}
}

func TestPlayFaults(t *testing.T) {
	t.Setenv("RIVALS_TEST_TORCH", "1")
	for _, c := range []struct{ python, only, cores, says string }{
		{os.Args[0], "(", "1", "error parsing regexp"},
		{os.Args[0], "", "0", `-cores "0"`},
		{os.Args[0], "sideways", "1", `-only "sideways" matches no row`},
		{"/no/such/python", "volcano/1 ", "1", "no such file"},
		{"true", "volcano/1 ", "1", "PyTorch"},
	} {
		if err := play(&strings.Builder{}, c.python, "-", c.only, c.cores, 1, 0, 0, false); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

package kernel

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func TestChoose(t *testing.T) {
	best, worse := &impl{name: "avx512"}, &impl{name: "avx2"}
	for _, c := range []struct {
		want string
		have []*impl
		got  *impl
		err  string
	}{
		{"", []*impl{best, worse}, best, ""},
		{"", nil, nil, ""},
		{"portable", []*impl{best, worse}, nil, ""},
		{"avx2", []*impl{best, worse}, worse, ""},
		{"avx512", []*impl{worse}, nil, "this machine does not have it; it has avx2, portable"},
		{"avx2", nil, nil, "it has portable"},
		{"AVX", []*impl{best}, nil, `LANDING_KERNEL="AVX" is not one of amx, avx512, avx2, neon, portable`},
	} {
		got, err := choose(c.want, c.have)
		if got != c.got || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, %v", c.want, got, err)
		}
	}
}

// The notice of slow portable Go appears unless the user chose it.
func TestNotice(t *testing.T) {
	if got := notice("", nil); !strings.Contains(got, "portable Go, about ten times slower") {
		t.Errorf("without AVX2: %q", got)
	}
	if notice("portable", nil) != "" || notice("", []*impl{{}}) != "" {
		t.Error("told where it is asked for, or not so")
	}
	if (Notice() != "") != (len(available()) == 0 && os.Getenv("LANDING_KERNEL") == "") {
		t.Errorf("here: %q", Notice())
	}
}

// The architecture says whether products and sums are fused, as in a loop over numbers.
func TestArch(t *testing.T) {
	x, y, z := fill[float64](50, 1), fill[float64](50, 2), fill[float64](50, 3)
	fused := true
	for i := range x {
		fused = fused && x[i]*y[i]+z[i] == math.FMA(x[i], y[i], z[i])
	}
	t.Log(Arch())
	if want := map[bool]string{true: runtime.GOARCH + ", fused", false: runtime.GOARCH}[fused]; Arch() != want {
		t.Errorf("%q, want %q", Arch(), want)
	}
}

// The environment chooses for the whole process. Check reports an invalid choice, and nothing is computed with it.
func TestEnvironment(t *testing.T) {
	if os.Getenv("KERNEL_NAME") != "" {
		if err := Check(); err != nil {
			os.Stdout.WriteString(err.Error())
			NewWeights[float32](1, 1, false, Float32) // panics
		}
		os.Stdout.WriteString("runs on " + Name())
		return
	}
	for want, text := range map[string]string{
		"portable": "runs on portable",
		"sse":      `kernel: LANDING_KERNEL="sse" is not one of amx, avx512, avx2, neon, portable`,
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestEnvironment$")
		cmd.Env = append(os.Environ(), "KERNEL_NAME=1", "LANDING_KERNEL="+want)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulator runs this program, and the system cannot")
		}
		if (err != nil) != (want == "sse") || !strings.Contains(string(out), text) {
			t.Errorf("%s: %v, %s", want, err, out)
		}
	}
}

package kernel

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// The tests of products on AMX tiles, where the processor has none: in another
// process of this program, whose tile instructions are emulated.
func TestTilesUnderEmulation(t *testing.T) {
	switch {
	case emulated:
		t.Skip("this is the other process")
	case cpu.X86.HasAMXTile:
		t.Skip("this processor has tiles, and the other tests use them")
	case testing.Short():
		t.Skip("takes some seconds")
	case len(available()) == 0 || available()[0].pairs == nil:
		t.Skip("the layout for tiles needs AVX512_BF16, which is not emulated")
	}
	out := testkit.Must(os.CreateTemp(t.TempDir(), "out"))
	defer out.Close()
	const tests = "^(TestLinear|TestPrecisionIsAPermission|TestBadShapes|TestNothingAllocates|TestErrorOfProducts|" +
		"TestProductsInParallel)$"
	report, err := runEmulated(out, append(os.Environ(), "KERNEL_TILES=emulated", "LANDING_KERNEL="), os.Args[0],
		"-test.run="+tests, "-test.v", "-test.timeout=2m", "-rapid.checks=10", "-rapid.nofailfile")
	if errors.Is(err, errNoTracing) {
		t.Skip(err)
	}
	testkit.OK(t, err)
	testkit.Must(out.Seek(0, io.SeekStart))
	text := testkit.Must(io.ReadAll(out))
	if report.ExitCode != 0 || strings.Count(string(text), "\n--- PASS: Test") != 6 {
		t.Errorf("exit code %d:\n%s", report.ExitCode, text)
	}
	if report.Dots == 0 {
		t.Error("no tiles were multiplied")
	}
	t.Logf("%d instructions of AMX emulated, %d of them products", report.Instructions, report.Dots)
}

// The system permits tiles only where the processor has them.
func TestPermitTiles(t *testing.T) {
	if got := permitTiles(); got && !cpu.X86.HasAMXTile {
		t.Error("tiles are permitted to a processor without them")
	}
}

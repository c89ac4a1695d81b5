package amxtest

import (
	"errors"
	"os"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// A program without tiles runs as ever: many threads, preemption signals, its own faults.
func TestRunIsTransparent(t *testing.T) {
	if os.Getenv("AMXTEST") != "" {
		done := make(chan int)
		for i := range 50 {
			go func() {
				s := 0
				for j := range 3_000_000 {
					s += i * j
				}
				done <- s
			}()
		}
		for range 50 {
			<-done
		}
		os.Exit(7)
	}
	out := testkit.Must(os.CreateTemp(t.TempDir(), "out"))
	defer out.Close()
	r, err := Run(out, append(os.Environ(), "AMXTEST=1"), os.Args[0], "-test.run=^TestRunIsTransparent$")
	if errors.Is(err, ErrPermission) {
		t.Skip(err)
	}
	if err != nil || r.ExitCode != 7 || r.Instructions != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

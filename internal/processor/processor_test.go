package processor

import (
	"testing"
	"time"
)

// work keeps one core busy for so long by the given clock.
func work(t *testing.T, now func() time.Time, d time.Duration) {
	t.Helper()
	x, begun, limit := 1.0, now(), time.Now().Add(time.Minute)
	for now().Sub(begun) < d {
		for range 10_000 {
			x = x*1.0000001 + 1e-9
		}
		if time.Now().After(limit) {
			t.Fatalf("the clock did not go on by %v within a minute of work", d)
		}
	}
	if x < 0 {
		t.Log(x)
	}
}

func TestClock(t *testing.T) {
	if !Measured {
		t.Skip("processor time is not measured on this system")
	}
	one, two := Clock(1), Clock(2)
	begun, a, b := Seconds(), one(), two()
	work(t, one, 200*time.Millisecond)
	used, by1, by2 := Seconds()-begun, one().Sub(a).Seconds(), two().Sub(b).Seconds()
	if d := by1 - used; d < -0.05 || d > 0.05 || by1 < 0.2 {
		t.Errorf("the clock of one worker went on by %.3f s where %.3f s of processor time were used", by1, used)
	}
	if d := by2 - used/2; d < -0.05 || d > 0.05 {
		t.Errorf("the clock of two workers went on by %.3f s where %.3f s of processor time were used", by2, used)
	}
	begun, a = Seconds(), one()
	time.Sleep(300 * time.Millisecond)
	if d := one().Sub(a).Seconds(); d > Seconds()-begun+0.05 || d > 0.25 {
		t.Errorf("the clock went on by %.3f s in a sleep of 0.3 s", d)
	}
}

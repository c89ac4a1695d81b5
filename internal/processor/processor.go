// Package processor reads what this process has used of the processor, whatever else the machine did.
package processor

import "time"

// Clock returns a clock that runs as a machine's would that had workers cores and nothing else to do: it goes on by the
// processor time of this process over workers. It is slower than the wall's where cores are busy with other work, and
// where workers wait for each other.
func Clock(workers int) func() time.Time {
	start, before := time.Now(), Seconds()
	return func() time.Time {
		return start.Add(time.Duration((Seconds() - before) / float64(max(1, workers)) * float64(time.Second)))
	}
}

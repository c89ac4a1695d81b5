//go:build unix

package processor

import "syscall"

// Measured reports whether Seconds is known on this system.
const Measured = true

// Seconds returns the processor time that this process has used, of all its threads; 0 where it is not Measured.
func Seconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

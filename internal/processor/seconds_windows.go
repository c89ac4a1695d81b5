package processor

import "syscall"

// Measured reports whether Seconds is known on this system.
const Measured = true

// Seconds returns the processor time that this process has used, of all its threads; 0 where it is not Measured.
func Seconds() float64 {
	p, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, ended, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(p, &created, &ended, &kernel, &user); err != nil {
		return 0
	}
	count := func(t syscall.Filetime) float64 {
		return float64(uint64(t.HighDateTime)<<32|uint64(t.LowDateTime)) / 1e7
	}
	return count(kernel) + count(user)
}

package run

import "syscall"

// brand returns the name of the processor, such as Apple M2; empty where the system does not say.
func brand() string {
	name, _ := syscall.Sysctl("machdep.cpu.brand_string")
	return name
}

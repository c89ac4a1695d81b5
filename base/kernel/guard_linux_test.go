package kernel

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// fence returns n numbers that an inaccessible page follows: an access past their end is a fault.
func fence(t testing.TB, n int) []float32 {
	page := os.Getpagesize()
	size := roundUp(4*n, page)
	mem := testkit.Must(syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE))
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	testkit.OK(t, syscall.Mprotect(mem[size:], syscall.PROT_NONE))
	return unsafe.Slice((*float32)(unsafe.Pointer(&mem[size-4*n])), n)
}

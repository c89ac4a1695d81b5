package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// permitTiles asks the system to save tiles for this process, which it does only
// on request (Documentation/arch/x86/xstate.rst of Linux), and reports whether it
// does. It refuses where the processor or the system has none.
func permitTiles() bool {
	const (
		getXcompPerm = 0x1022 // ARCH_GET_XCOMP_PERM
		reqXcompPerm = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileConfig   = 17     // XFEATURE_XTILECFG
		tileData     = 18     // XFEATURE_XTILEDATA
		both         = 1<<tileConfig | 1<<tileData
	)
	if _, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, reqXcompPerm, tileData, 0); errno != 0 {
		return false
	}
	var permitted uint64
	_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, getXcompPerm, uintptr(unsafe.Pointer(&permitted)), 0)
	return errno == 0 && permitted&both == both
}

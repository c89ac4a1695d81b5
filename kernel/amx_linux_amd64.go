package kernel

import "golang.org/x/sys/unix"

// permitTiles asks the system to save tiles for this process, which it does only
// on request (Documentation/arch/x86/xstate.rst of Linux). It refuses where the
// processor or the system has none.
func permitTiles() bool {
	const (
		reqXcompPerm = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileData     = 18     // XFEATURE_XTILEDATA
	)
	_, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, reqXcompPerm, tileData, 0)
	return errno == 0
}

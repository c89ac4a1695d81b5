package kernel

import "golang.org/x/sys/unix"

// hasBF16 reports whether the processor has BFMMLA (FEAT_BF16): Apple M2 and later.
func hasBF16() bool {
	v, err := unix.SysctlUint32("hw.optional.arm.FEAT_BF16")
	return err == nil && v == 1
}

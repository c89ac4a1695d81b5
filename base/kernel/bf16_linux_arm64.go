package kernel

import "golang.org/x/sys/unix"

// hasBF16 reports whether the processor has BFMMLA (FEAT_BF16).
func hasBF16() bool {
	const hwcap2, bf16 = 26, 1 << 14 // AT_HWCAP2 and HWCAP2_BF16 of Linux
	pairs, _ := unix.Auxv()
	for _, p := range pairs {
		if p[0] == hwcap2 {
			return p[1]&bf16 != 0
		}
	}
	return false
}

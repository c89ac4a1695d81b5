package main

// cheapest walks over sums of two arrays of n numbers, a multiple of the lanes, at least one register. state
// has for each lane: the least so far, the second, the place of the least, the place of the next, and how far on
// the one after it is. The least is left where a sum equals it.
func cheapest(f *file) {
	f.begin("cheapest"+f.name, "state *[5][16]uint32, cost, price *float32, n int", "DX SI DI CX")
	least, second, at, next, step, v, more := f.v(0), f.v(1), f.v(2), f.v(3), f.v(4), f.v(5), f.v(6)
	for i := range 5 {
		f.in("VMOVUPS %d(DX), %s", 64*i, f.v(i))
	}
	f.in("PCALIGN $32")
	f.p("loop:")
	f.in("VMOVUPS (SI), %s", v)
	f.in("VADDPS (DI), %s, %s", v, v)
	f.in("VMAXPS %s, %s, %s", v, least, more)
	f.in("VMINPS %s, %s, %s", more, second, second)
	if f.wide() {
		f.in("VCMPPS $1, %s, %s, K1", least, v)
		f.in("VMOVDQA32 %s, K1, %s", next, at)
	} else {
		f.in("VCMPPS $1, %s, %s, %s", least, v, more)
		f.in("VBLENDVPS %s, %s, %s, %s", more, next, at, at)
	}
	f.in("VMINPS %s, %s, %s", v, least, least)
	f.in("VPADDD %s, %s, %s", step, next, next)
	f.in("ADDQ $%d, SI", f.bytes())
	f.in("ADDQ $%d, DI", f.bytes())
	f.in("SUBQ $%d, CX", f.lanes)
	f.in("JGT loop")
	for i := range 3 {
		f.in("VMOVUPS %s, %d(DX)", f.v(i), 64*i)
	}
	f.end()
}

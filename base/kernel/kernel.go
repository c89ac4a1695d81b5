// Package kernel holds the loops over network rows that decide the speed: the matrix products of linear layers, the
// SiLU activation and its derivative, Adam.
//
// Every loop is generic over float32 (training) and float64 (exact checks). float64 runs in portable Go. float32 runs
// in the best of AVX-512, AVX2 with FMA, NEON and portable Go that the machine has, or in the one that the environment
// variable LANDING_KERNEL names: amx, avx512, avx2, neon or portable. A name that is unknown, or not to be had here,
// ends the program at its start. Products of float32 may be permitted a lower Precision. Geometry that is itself a
// network has float64 loops in assembly: Mul64 and Softplus64.
//
// One row's result depends on that row alone, whatever the number of rows in the call, and one element's on no
// neighbour; sums over rows run in an order that their number fixes, that of the rows but in bfloat16. Shapes that do
// not fit, and products over their own operands, panic. Nothing allocates but NewWeights and NewMatrix64. Not-a-numbers
// and infinities travel as the formulas have them.
package kernel

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// Float is the element type of networks.
type Float interface{ float32 | float64 }

func need(what string, have, want int) {
	if have < want {
		panic(fmt.Sprintf("kernel: %s has %d elements, needs %d", what, have, want))
	}
}

// An impl is a set of float32 loops in assembly. Its passes take arrays of at
// least one number; the generator says what each does.
type impl struct {
	name       string
	rows, cols int // of tile
	tile       func(rows, k int, a *float32, rs, ks int, b, c *float32, cs, cols, add int)
	panel      func(dst, src *float32, rows, stride int) // rows of cols
	left       func(dst, src *float32, rows, stride int) // rows of rows
	add        func(dst, src *float32, n int)
	mix        func(e, p *float32, n int, decay, rest float32)
	adam       func(p, m, v, grad *float32, n int, scale, b1, a1, b2, a2, rate, root, eps float32)
	biasSiLU   func(y, z, bias *float32, n int)
	siluGrad   func(d, z *float32, n int)
	modulate   func(y, u, scale, shift *float32, n int)

	modulateGrad func(d, u, scale, shift, dscale, dshift *float32, n int)

	cheapest func(state *[5][16]uint32, cost, price *float32, n int)

	pairs *pairing // bfloat16 products, or nil
}

// active is what float32 runs on; nil is portable Go.
var active *impl

// setup is what is wrong with LANDING_KERNEL, if anything.
var setup error

// slow is the sentence of Notice.
var slow string

func init() {
	have, want := available(), os.Getenv("LANDING_KERNEL")
	active, setup = choose(want, have)
	slow = notice(want, have)
}

// Notice returns a sentence to tell the user once where networks are slow because this processor has none of the
// instructions that the package uses; "" where they are not, or where LANDING_KERNEL asks for it.
func Notice() string { return slow }

func notice(want string, have []*impl) string {
	switch {
	case want != "" || len(have) > 0:
		return ""
	case runtime.GOARCH == "amd64":
		return "this processor has no AVX2 with FMA: networks run in portable Go, about ten times slower"
	}
	return "networks run in portable Go, about ten times slower than with the vector instructions of x86 or ARM: " +
		"there are no loops for " + runtime.GOARCH + " yet"
}

// Check returns an error if the environment variable LANDING_KERNEL asks for loops that do not exist or that this
// machine cannot run. NewWeights then panics.
func Check() error { return setup }

// choose returns the wanted one of the implementations that this machine has, best first, or the best if want is empty.
func choose(want string, have []*impl) (*impl, error) {
	switch want {
	case "portable":
		return nil, nil
	case "":
		if len(have) == 0 {
			return nil, nil
		}
		return have[0], nil
	case "avx2", "avx512", "amx", "neon":
		for _, im := range have {
			if im.name == want {
				return im, nil
			}
		}
		return nil, fmt.Errorf("kernel: LANDING_KERNEL=%s, but this machine does not have it; it has %s",
			want, names(have))
	}
	return nil, fmt.Errorf("kernel: LANDING_KERNEL=%q is not one of amx, avx512, avx2, neon, portable", want)
}

func names(have []*impl) string {
	s := ""
	for _, im := range have {
		s += im.name + ", "
	}
	return s + "portable"
}

// Name returns the instruction set that networks in float32 run on: amx (AVX-512 with bfloat16 products in tiles),
// avx512, avx2, neon (of arm64) or portable. It is the best that the machine has, or what the environment variable
// LANDING_KERNEL names.
func Name() string {
	if active == nil {
		return "portable"
	}
	return active.name
}

// Arch returns the architecture that this program was built for. It says where Go's compiler fused products and sums,
// which changes last bits: "arm64, fused" instead of "arm64".
func Arch() string {
	if x := 0x1p-30; multiplyAdd(1+x, 1-x, -1) != 0 { // 1 − x² rounds to 1
		return runtime.GOARCH + ", fused"
	}
	return runtime.GOARCH
}

//go:noinline
func multiplyAdd(x, y, z float64) float64 { return x*y + z }

// use returns the assembly for T, or nil.
func use[T Float]() *impl {
	if unsafe.Sizeof(T(0)) != 4 {
		return nil
	}
	return active
}

// bits views x, which holds float32, as 32-bit words.
func bits[T Float](x []T) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// single views x, which holds float32, as such.
func single[T Float](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

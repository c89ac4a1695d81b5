package kernel

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// ram is memory from address 0.
type ram []byte

func (m ram) read(dst []byte, addr uint64, n, size int, stride int64) error {
	for i := range n {
		copy(dst[i*size:(i+1)*size], m[int64(addr)+int64(i)*stride:])
	}
	return nil
}

func (m ram) write(src []byte, addr uint64, n, size int, stride int64) error {
	for i := range n {
		copy(m[int64(addr)+int64(i)*stride:], src[i*size:(i+1)*size])
	}
	return nil
}

func put(m ram, at int, x ...float32) {
	for i, v := range x {
		binary.LittleEndian.PutUint32(m[at+4*i:], math.Float32bits(v))
	}
}

// pair is two numbers of bfloat16 in a word.
func pair(a, b float32) float32 {
	return math.Float32frombits(math.Float32bits(a)>>16 | math.Float32bits(b)&0xffff0000)
}

// run executes the GNU assembler's encodings of a program that multiplies a 2×2
// matrix A of pairs by a 2×1 matrix B of pairs and adds it to C.
//
//	ldtilecfg (%r9); tileloadd 0x400(%rdx,%r10,1),%tmm2; …
var program = []string{
	"c4 c2 78 49 01",                // ldtilecfg (%r9)
	"c4 a2 7b 4b b4 0f 40 00 00 00", // tileloadd 0x40(%rdi,%r9,1),%tmm6: B
	"c4 c2 7b 4b 24 03",             // tileloadd (%r11,%rax,1),%tmm4: A
	"c4 a2 7b 4b 44 02 08",          // tileloadd 0x8(%rdx,%r8,1),%tmm0: C
	"c4 e2 4a 5c c4",                // tdpbf16ps %tmm6,%tmm4,%tmm0
	"c4 a2 7a 4b 04 02",             // tilestored %tmm0,(%rdx,%r8,1)
	"c4 e2 7b 49 c0",                // tilezero %tmm0
	"c4 82 7a 4b 44 05 04",          // tilestored %tmm0,0x4(%r13,%r8,1)
	"c4 e2 78 49 c0",                // tilerelease
}

func step(t *testing.T, s *state, g *[16]uint64, m memory, code string) error {
	t.Helper()
	b := testkit.Must(hex.DecodeString(strings.ReplaceAll(code, " ", "")))
	in, ok := decode(append(append([]byte(nil), b...), make([]byte, 15)...))
	if !ok || in.length != len(b) {
		t.Fatalf("%s: decoded %+v, %v", code, in, ok)
	}
	known, err := s.do(in, g, m)
	if !known {
		t.Fatalf("%s is not known", code)
	}
	return err
}

func TestProgram(t *testing.T) {
	m := make(ram, 1024)
	var g [16]uint64
	g[9] = 128 // the configuration; also the stride of B
	m[128] = 1
	for tile, shape := range map[int][2]byte{0: {2, 4}, 4: {2, 8}, 6: {2, 4}} { // rows, bytes
		m[128+48+tile], m[128+16+2*tile] = shape[0], shape[1]
	}
	g[7] = 256 - 64 // B at 256, rows 128 apart
	put(m, 256, pair(3, 5))
	put(m, 384, pair(7, 0x1p-127))
	g[11], g[0] = 512, 32 // A at 512, rows 32 apart
	put(m, 512, pair(2, 4), pair(1, 0x1p126))
	put(m, 544, pair(-1, 0.5), pair(0, 1))
	g[2], g[8] = 640, 16 // C at 648, to 640
	put(m, 648, 1000)
	put(m, 664, 0x1p-130)
	g[13] = 800 // a zero tile to 804
	put(m, 804, 1)
	put(m, 820, 1)
	s := new(state)
	for _, code := range program {
		if err := step(t, s, &g, m, code); err != nil {
			t.Fatalf("%s: %v", code, err)
		}
	}
	// 2·3 + 4·5 + 1·7 + 2¹²⁶·0, as 2⁻¹²⁷ is flushed; −3 + 2.5 + 0.
	for at, want := range map[int]float32{640: 1033, 656: -0.5, 804: 0, 820: 0} {
		testkit.Equal(t, math.Float32frombits(binary.LittleEndian.Uint32(m[at:])), want, "%d holds", at)
	}
	if s.configured {
		t.Error("tiles are in use after their release")
	}
}

// The emulator reports invalid uses of tiles.
func TestFaults(t *testing.T) {
	m := make(ram, 1024)
	var g [16]uint64
	testkit.Refused(t, step(t, new(state), &g, m, "c4 e2 7b 49 c0"),
		"tile 0 is not configured", "tilezero without a configuration")
	s := &state{configured: true}
	for tile, shape := range map[int][2]int{0: {2, 4}, 4: {2, 12}, 6: {2, 4}} {
		s.rows[tile], s.cols[tile] = shape[0], shape[1]
	}
	testkit.Refused(t, step(t, s, &g, m, "c4 e2 4a 5c c4"),
		"shapes do not fit: 2×4 += 2×12 · 2×4 bytes", "shapes that do not fit")
	var c [64]byte
	c[0], c[48], c[16] = 1, 17, 64
	testkit.Refused(t, new(state).configure(c), "tile 0 has 17 rows of 64 bytes", "too many rows")
	for _, code := range []string{"c4 e2 79 49 c0", "c5 f8 77", "0f 0b", "c4 e2 7d 5c c4"} {
		b, _ := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
		if in, ok := decode(append(b, make([]byte, 15)...)); ok {
			if known, _ := new(state).do(in, &g, m); known {
				t.Errorf("%s passes for an instruction of AMX", code)
			}
		}
	}
}

// The emulator does not change a program without tiles: many threads, preemption signals, the program's own faults.
func TestRunIsTransparent(t *testing.T) {
	if os.Getenv("AMXTEST") != "" {
		done := make(chan int)
		for i := range 50 {
			go func() {
				s := 0
				for j := range 3_000_000 {
					s += i * j
				}
				done <- s
			}()
		}
		for range 50 {
			<-done
		}
		os.Exit(7)
	}
	out := testkit.Must(os.CreateTemp(t.TempDir(), "out"))
	defer out.Close()
	r, err := runEmulated(out, append(os.Environ(), "AMXTEST=1"), os.Args[0], "-test.run=^TestRunIsTransparent$")
	if errors.Is(err, errNoTracing) {
		t.Skip(err)
	}
	if err != nil || r.ExitCode != 7 || r.Instructions != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

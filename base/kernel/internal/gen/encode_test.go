package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Encodings against those of the GNU assembler 2.40 (its displacements made 32 bits wide with {disp32}).
func TestEncodings(t *testing.T) {
	for want, got := range map[string][]byte{
		"62 92 0e 40 52 dc":             vdpbf16ps(28, 30, 3),
		"62 62 6e 48 52 d9":             vdpbf16ps(1, 2, 27),
		"62 52 76 40 52 e1":             vdpbf16ps(9, 17, 12),
		"62 f2 7e 48 72 d1":             vcvtneps2bf16(1, 2),
		"62 02 7e 48 72 f5":             vcvtneps2bf16(29, 30),
		"62 c2 7e 48 72 dc":             vcvtneps2bf16(12, 19),
		"62 f2 6f 48 72 d9":             vcvtne2ps2bf16(1, 2, 3),
		"62 12 17 40 72 c6":             vcvtne2ps2bf16(30, 29, 8),
		"62 42 57 48 72 fb":             vcvtne2ps2bf16(11, 5, 31),
		"c4 e2 78 49 00":                ldtilecfg("AX"),
		"c4 c2 78 49 01":                ldtilecfg("R9"),
		"c4 e2 7b 49 c0":                tilezero(0),
		"c4 e2 7b 49 e8":                tilezero(5),
		"c4 a2 7b 4b b4 0f 00 00 00 00": tiles(ppF2, 6, "DI", "R9", 0),
		"c4 a2 7b 4b bc 0f 40 00 00 00": tiles(ppF2, 7, "DI", "R9", 64),
		"c4 c2 7b 4b a4 03 00 00 00 00": tiles(ppF2, 4, "R11", "AX", 0),
		"c4 82 7b 4b 8c 05 00 00 00 00": tiles(ppF2, 1, "R13", "R8", 0),
		"c4 a2 7b 4b 94 12 00 04 00 00": tiles(ppF2, 2, "DX", "R10", 1024),
		"c4 a2 7a 4b 84 02 00 00 00 00": tiles(ppF3, 0, "DX", "R8", 0),
		"c4 82 7a 4b 9c 02 40 00 00 00": tiles(ppF3, 3, "R10", "R8", 64),
		"c4 e2 4a 5c c4":                tdpbf16ps(6, 4, 0),
		"c4 e2 42 5c dd":                tdpbf16ps(7, 5, 3),
		"c4 e2 78 49 c0":                tilerelease(),
	} {
		if w, err := hex.DecodeString(strings.ReplaceAll(want, " ", "")); err != nil || string(w) != string(got) {
			t.Errorf("% x, want %s", got, want)
		}
	}
}

// Every instruction of the committed arm64 assembly that is written as a code is what GNU as makes of its comment.
func TestArmEncodings(t *testing.T) {
	const as, objcopy = "aarch64-linux-gnu-as", "aarch64-linux-gnu-objcopy"
	if _, err := exec.LookPath(as); err != nil {
		t.Skip("no aarch64-linux-gnu-as here (Debian: apt-get install binutils-aarch64-linux-gnu)")
	}
	files := append(testkit.Must(filepath.Glob("../../*_arm64.s")), "../../../../constraint/geometry/pattern_arm64.s")
	var want []string
	source := ".arch armv8.6-a\n"
	for _, file := range files {
		for _, m := range regexp.MustCompile(`WORD \$0x(\w{8}) // (.*)`).
			FindAllStringSubmatch(string(testkit.Must(os.ReadFile(file))), -1) {
			want = append(want, m[1]+" "+m[2])
			source += m[2] + "\n"
		}
	}
	if len(files) == 0 || len(want) < 1000 {
		t.Fatalf("%d instructions in %v", len(want), files)
	}
	t.Chdir(t.TempDir())
	testkit.OK(t, os.WriteFile("a.s", []byte(source), 0o600))
	for _, args := range [][]string{
		{as, "-o", "a.o", "a.s"}, {objcopy, "-O", "binary", "-j", ".text", "a.o", "a.bin"},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v, %s", args, err, out)
		}
	}
	code := testkit.Must(os.ReadFile("a.bin"))
	testkit.Equal(t, len(code), 4*len(want), "bytes of code")
	for i, w := range want {
		c := code[4*i : 4*i+4]
		if got := fmt.Sprintf("%02X%02X%02X%02X", c[3], c[2], c[1], c[0]); got != w[:8] {
			t.Errorf("%s: GNU as makes %s", w, got)
		}
	}
}

// Instructions of the inner loops, for docs/history/arm64.md: a tile of 6×16 multiply-adds takes 36, 24 of them
// multiply, so that four pipes are busy for six cycles and eight instructions a cycle suffice.
func TestInnerLoops(t *testing.T) {
	for _, c := range []struct {
		file, function, label, multiply string
		all, multiplies                 int
	}{
		{"tile", "tileNEON", "loop6", "fmla", 36, 24},
		{"tile", "tileBFMMLA", "loop3", "bfmmla", 34, 24},
		{"copy", "quadsNEON", "loop", "bfcvt", 12, 4},
		{"copy", "weaveNEON", "loop", "bfcvt", 51, 16},
		{"float64", "tile64NEON", "loop6", "fmla", 36, 24},
		{"vector", "adamNEON", "loop", "f", 37, 22},
		{"vector", "biasSiLUNEON", "loop", "f", 83, 38},
	} {
		text := string(testkit.Must(os.ReadFile("../../" + c.file + "_arm64.s")))
		_, text, _ = strings.Cut(text, "TEXT ·"+c.function+"(SB)")
		_, text, _ = strings.Cut(text, "\n"+c.label+":\n")
		text, _, _ = strings.Cut(text, " "+c.label+"\n")
		testkit.Equal(t, strings.Count(text, "\n")+1, c.all, "%s: instructions", c.function)
		testkit.Equal(t, strings.Count(text, "// "+c.multiply), c.multiplies, "%s: %s", c.function, c.multiply)
	}
}

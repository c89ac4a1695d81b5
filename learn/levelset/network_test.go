package levelset

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// An archive that inflates to gigabytes costs what its network needs: members that
// are no layers stay as they are, and a layer that promises too much is refused.
func TestReadNetworkInflatesLayersAlone(t *testing.T) {
	const huge = 1 << 26
	n := bumpy(3)
	n.Round()
	archive := func(bomb string) string {
		var plain, out bytes.Buffer
		testkit.OK(t, n.Write(&plain))
		old := testkit.Must(zip.NewReader(bytes.NewReader(plain.Bytes()), int64(plain.Len())))
		z := zip.NewWriter(&out)
		for _, f := range old.File {
			if f.Name != bomb {
				testkit.OK(t, z.Copy(f))
			}
		}
		w := testkit.Must(z.Create(bomb))
		head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, 1)}", huge)
		testkit.Must(fmt.Fprintf(w, "\x93NUMPY\x01\x00\x46\x00%-69s\n%s", head, make([]byte, huge)))
		testkit.OK(t, z.Close())
		path := filepath.Join(t.TempDir(), "net.npz")
		testkit.OK(t, os.WriteFile(path, out.Bytes(), 0o666))
		return path
	}
	for bomb, want := range map[string]string{
		"notes.npy": "", "lin0_weight.npy": "net.npz: entry \"lin0_weight.npy\": shape (67108864, 1) has 67108864 " +
			"elements, expected at most 16777216",
	} {
		path := archive(bomb)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ReadNetwork(path)
		runtime.ReadMemStats(&after)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%s: %v", bomb, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > huge/16 {
			t.Errorf("%s: %d bytes allocated", bomb, used)
		}
	}
}

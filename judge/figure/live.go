package figure

import (
	"bytes"

	"github.com/landing-diffusion/landing/constraint/mesh"
)

// A Scene is an interactive view: a *Globe, *SurfaceView, *MoleculeView or *ArmView.
type Scene interface {
	view() (*sceneView, error)
}

// A sceneView is what the template of a kind of scene shows, and Data what its script is called with.
type sceneView struct {
	kind, Title, Caption string
	Names                []string // of the layers
	Keys                 []sceneKey
	Data                 any
	last                 any // the last layer as the script takes it; nil where it takes none
}

type sceneKey struct {
	Name, Fill, Class string
}

// A Live is a scene apart from a report, for a page that changes what it shows: its markup, and what its script,
// KindScene of Scripts, is called with. That returns show(i, layer), which takes another layer.
type Live struct {
	Kind  string `json:"kind"` // globe, surface, molecule or arm
	HTML  string `json:"html"`
	Data  any    `json:"data"`
	Layer any    `json:"-"` // the last one as the script takes it; nil: OnSurface makes one
}

// NewLive returns the scene apart from a report.
func NewLive(s Scene) (*Live, error) {
	v, err := s.view()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = reportTemplate.ExecuteTemplate(&b, v.kind, v)
	return &Live{v.kind, b.String(), v.Data, v.last}, err
}

// Scripts are those of all interactive views.
func Scripts() []byte {
	return []byte(asset("turn.js") + asset("globe.js") + asset("surface.js") + asset("molecule.js") + asset("arm.js"))
}

// Style is the style sheet of reports and of interactive views, in light and dark.
func Style() string {
	return asset("report.css") + "@media screen and (prefers-color-scheme:dark){\n" + darkInks() + "}\n"
}

// OnSurface returns points of R³ as a layer that the script of a view of the mesh takes.
func OnSurface(m *mesh.Mesh, x []float64) any {
	look := newShading(m)
	at := make([]float64, len(x))
	for i, v := range x {
		at[i] = decimals((v-look.centre[i%3])/look.radius, 4)
	}
	return map[string]any{"points": at}
}

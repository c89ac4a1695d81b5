package figure

import (
	"bytes"

	"github.com/landing-diffusion/landing/mesh"
)

// A Live is an interactive view apart from a report, for a page that changes what it shows: its markup, and what its
// script, KindScene of Scripts, is called with. That returns show(i, layer), which takes another layer.
type Live struct {
	Kind string `json:"kind"` // globe, surface, molecule or arm
	HTML string `json:"html"`
	Data any    `json:"data"`
}

// Scripts are those of all interactive views.
func Scripts() []byte { return []byte(turnJS + globeJS + surfaceJS + moleculeJS + armJS) }

// Style is the style sheet of reports and of interactive views, in light and dark.
func Style() string {
	return reportCSS + "@media screen and (prefers-color-scheme:dark){\n" + darkInks() + "}\n"
}

func live(kind string, view, data any) (*Live, error) {
	var b bytes.Buffer
	err := reportTemplate.ExecuteTemplate(&b, kind, view)
	return &Live{kind, b.String(), data}, err
}

// Live returns the globe apart from a report.
func (g *Globe) Live() (*Live, error) {
	v := g.view()
	return live("globe", v, v.Data)
}

// Layer returns the last layer as the globe's script takes it.
func (g *Globe) Layer() any {
	v := g.layers()
	return v.Data.Layers[len(v.Data.Layers)-1]
}

// Live returns the surface apart from a report.
func (s *SurfaceView) Live() (*Live, error) {
	v, err := s.view()
	if err != nil {
		return nil, err
	}
	return live("surface", v, v.Data)
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

// Live returns the molecule apart from a report.
func (m *MoleculeView) Live() (*Live, error) {
	v, err := m.view()
	if err != nil {
		return nil, err
	}
	return live("molecule", v, v.Data)
}

// Layer returns the last layer as the molecule's script takes it.
func (m *MoleculeView) Layer() (any, error) {
	v, err := m.view()
	if err != nil {
		return nil, err
	}
	return v.Data.Layers[len(v.Data.Layers)-1], nil
}

// Live returns the arm apart from a report.
func (a *ArmView) Live() (*Live, error) {
	v, err := a.view()
	if err != nil {
		return nil, err
	}
	return live("arm", v, v.Data)
}

// Layer returns the last layer as the arm's script takes it.
func (a *ArmView) Layer() (any, error) {
	v, err := a.view()
	if err != nil {
		return nil, err
	}
	return v.Data.Layers[len(v.Data.Layers)-1], nil
}

package experiment

import (
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// What did not help is not offered again: more training where held-out rows chose an earlier epoch or the run went on
// before, a width that was given no second time, and nothing after two remedies. The verdict then says what limits the
// result.
func TestRemedyAfterRemedy(t *testing.T) {
	r, older := begin(t), begin(t)
	ended := &verdict.Course{Epochs: 9, Chosen: true}
	on, wider := "go_on", "train network.width=16"
	for _, c := range []struct {
		extended int
		from     string // folder of the run whose file was trained anew
		course   *verdict.Course
		short    bool
		want     string
	}{
		{0, "", nil, false, on}, {0, "", ended, false, wider}, {1, "", nil, false, wider}, {1, "", nil, true, on},
		{0, older.Folder.Dir, nil, false, ""}, {1, older.Folder.Dir, nil, true, ""}, {2, "", nil, true, ""},
	} {
		testkit.OK(t, r.Folder.AmendManifest(func(m *run.Manifest) {
			m.Extensions, m.Command = make([]run.Extension, c.extended), []string{"landing", "train", "x.yaml"}
			if c.from != "" {
				m.Command[2] = c.from + "/" + run.ProblemFile
			}
		}))
		m := newRemedies(t.Context(), r, history{course: c.course})
		remedy, got := m.learn(c.short), ""
		if remedy != nil {
			got = string(remedy.Verb)
			if n := len(remedy.Settings); n > 0 {
				got += " " + remedy.Settings[n-1]
			}
		}
		testkit.Equal(t, got, c.want, "%+v", c)
		says := m.limits(&verdict.Verdict{Findings: []verdict.Finding{{Code: verdict.Blur, Remedy: remedy}}})
		if (says == "") != (c.want != "") || says != "" && !strings.Contains(says, "training rows limit the result") {
			t.Errorf("%+v: %q", c, says)
		}
	}
}

// A wider temporal network has more channels: with network.width it would be an MLP.
func TestWider(t *testing.T) {
	p := &problem.Problem{Network: problem.Network{Kind: "temporal", Width: 128}}
	m := &remedies{run: &Run{Loaded: &Loaded{Settled: settle.Settled{Problem: p}}}}
	_, setting := m.wider()
	testkit.Equal(t, setting, "network.options.channels=128")
	p.Network.Options = map[string]float64{"channels": 48}
	_, setting = m.wider()
	testkit.Equal(t, setting, "network.options.channels=96")
}

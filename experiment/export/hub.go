package export

import (
	"bytes"
	_ "embed"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Names of the files of Hub, besides those of Torch.
const (
	CardFile = "README.md"
	ONNXFile = "score.onnx"
)

// Hub returns the score as a folder for a model hub: what Torch and ONNX write, the settings without the names
// of folders of this machine, and a card with what the run's own evaluation says of its samples. It holds no
// row of data, but for the conformation that an aligned network lays others on: that one takes keep.
func (s *Source) Hub(keep bool) (Files, error) {
	r := s.Run
	refuse := func(format string, v ...any) error { return fault.Errorf(fault.Run, r.Folder.Dir, format, v...) }
	if keepsRow(r) && !keep {
		return nil, refuse("the network lays conformations on one of the training data, which would be published; " +
			"--with-reference agrees to that, and network.reference names another one before training")
	}
	v, stale, err := experiment.KeptEvaluation(r)
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, refuse("has no evaluation, and a card without figures says nothing; landing report %s makes one",
			text.Shell(r.Folder.Dir))
	case stale != "" || v.Updates != s.Trained.State.Updates:
		if stale == "" {
			stale = fmt.Sprintf("it is of weights after %d updates, these have %d", v.Updates, s.Trained.State.Updates)
		}
		return nil, refuse("its evaluation is of something else: %s; landing report %s makes it anew", stale,
			text.Shell(r.Folder.Dir))
	}
	files, err := s.Torch()
	if err != nil {
		return nil, err
	}
	if files[ONNXFile], err = s.ONNX(); err != nil {
		return nil, err
	}
	source, err := r.Folder.Read(run.ProblemFile)
	if err != nil {
		return nil, err
	}
	files[run.ProblemFile] = withoutFolders(source)
	p := *r.Problem
	for key, path := range p.Files() {
		if path != "" {
			p.SetFile(key, filepath.Base(path))
		}
	}
	files[run.ConfigFile] = withoutFolders(p.Resolved())
	if files[CardFile], err = s.card(v); err != nil {
		return nil, err
	}
	return files, nil
}

// quoted and folders are paths that begin at a root, and what stands before them.
var (
	quoted  = regexp.MustCompile(`(["'])(?:~?/|[A-Za-z]:[\\/])[^"'\n/][^"'\n]*[/\\]([^"'\n/\\]+["'])`)
	folders = regexp.MustCompile(`(?m)(^|[\s"'=:\[{,])(?:~?/|[A-Za-z]:[\\/])[^\s"',}\]/\\][^\s"',}\]]*[/\\]` +
		`([^\s"',}\]/\\]+)`)
)

// withoutFolders returns text without the folders of paths: they are of one machine.
func withoutFolders(b []byte) []byte {
	return folders.ReplaceAll(quoted.ReplaceAll(b, []byte("$1$2")), []byte("$1$2"))
}

// places are points in a sentence of a verdict, some of them near rows of the data.
var places = regexp.MustCompile(`\(-?[0-9.][-+0-9.e]*(?:, -?[0-9.][-+0-9.e]*)+(?:, …)?\)`)

// Home is where the program is.
const Home = "https://github.com/landing-diffusion/landing"

//go:embed card.md
var cardText string

var cardTemplate = template.Must(template.New("card").Parse(cardText))

// front is the metadata at the head of a card, by the hub's model card specification.
type front struct {
	Library string   `yaml:"library_name"`
	Licence string   `yaml:"license,omitempty"`
	Name    string   `yaml:"license_name,omitempty"`
	Tags    []string `yaml:"tags"`
	Index   []index  `yaml:"model-index"`
}

type index struct {
	Name    string   `yaml:"name"`
	Results []result `yaml:"results"`
}

type result struct {
	Task    named    `yaml:"task"`
	Dataset named    `yaml:"dataset"`
	Metrics []figure `yaml:"metrics"`
}

type named struct {
	Type string `yaml:"type"`
	Name string `yaml:"name"`
}

type figure struct {
	Type  string  `yaml:"type"`
	Value float64 `yaml:"value"`
	Name  string  `yaml:"name"`
}

// licences are those that the hub knows by name, of those that people give to weights. Others are "other", with
// a name beside.
var licences = []string{"afl-3.0", "agpl-3.0", "apache-2.0", "artistic-2.0", "bsd", "bsd-2-clause", "bsd-3-clause",
	"bsl-1.0", "cc", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0", "cc-by-nc-2.0", "cc-by-nc-3.0",
	"cc-by-nc-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0", "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0",
	"cc-by-nd-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0", "ecl-2.0", "epl-2.0", "eupl-1.1", "gpl", "gpl-2.0",
	"gpl-3.0", "isc", "lgpl", "lgpl-2.1", "lgpl-3.0", "lppl-1.3c", "mit", "mpl-2.0", "ms-pl", "odbl", "odc-by",
	"openrail", "osl-3.0", "pddl", "postgresql", "unknown", "unlicense", "wtfpl", "zlib"}

func (s *Source) card(v *experiment.Kept) ([]byte, error) {
	r := s.Run
	type row struct{ Name, Value string }
	var rows []row
	var figures []figure
	add := func(kind, name string, v metric.Float, told string) {
		if v.IsNaN() || v-v != 0 {
			return
		}
		rows = append(rows, row{name, told})
		figures = append(figures, figure{kind, float64(v), name})
	}
	for _, d := range []*judge.JSD{v.JSD, v.Observed} {
		if d == nil {
			continue
		}
		kind := "jensen-shannon-distance"
		if strings.Contains(d.Metric, "divergence") { // on surfaces, as published
			kind = "jensen-shannon-divergence"
		}
		add(kind, d.Metric+" to all data", d.Full, fmt.Sprintf("%.4f, floor %.4f ± %.4f", d.Full, d.Mean, d.SD))
		add(kind, d.Metric+" to held-out data", d.HeldOut, fmt.Sprintf("%.4f, floor %.4f", d.HeldOut, d.HeldOutFloor))
	}
	add("worst-violation", "worst violation of a constraint", v.Violation.Worst, fmt.Sprintf("%.2g", v.Violation.Worst))
	add("energy-test-p-value", "p value of the energy test against held-out rows", v.TwoSample.PValue,
		fmt.Sprintf("%.3g", v.TwoSample.PValue))
	add("copy-ratio", "distance to the nearest training row, over that of held-out rows", v.Nearest.Ratio,
		fmt.Sprintf("%.3f", v.Nearest.Ratio))

	id := strings.ToLower(s.Licence)
	head := front{Library: "landing", Licence: id, Tags: []string{"landing", "diffusion", "constrained-generation",
		strings.ToLower(r.Method.Name())}}
	told := s.Licence
	switch {
	case s.Licence == "":
		told = "none was given"
	case !slices.Contains(licences, id):
		head.Licence, head.Name = "other", s.Licence
	}
	if len(figures) > 0 {
		head.Index = []index{{r.Problem.Name, []result{{named{"other", "samples on a feasible set"},
			named{"other", r.Data.Name}, figures}}}}
	}
	yaml, err := yaml.Marshal(head)
	if err != nil {
		return nil, err
	}

	g, err := s.graph()
	if err != nil {
		return nil, err
	}
	var inputs, call []string
	for _, p := range g.Inputs {
		of := "n"
		if len(p.Dims) > 1 {
			of = fmt.Sprintf("n×%d", p.Dims[1])
		}
		inputs, call = append(inputs, fmt.Sprintf("`%s` (%s)", p.Name, of)), append(call, p.Name)
	}
	times := experiment.Times(r)
	data := fmt.Sprintf("%s (%d points; SHA-256 %.12s…)", inline(r.Data.Name), r.Data.N, r.Data.SHA256)
	var limits, findings []string
	if c := r.Condition; c != nil {
		for k, name := range c.Names {
			limits = append(limits, fmt.Sprintf("Its condition %s was seen between %.4g and %.4g.", inline(name),
				c.Lo[k], c.Hi[k]))
		}
	}
	if p := r.Problem.Train.Precision; p != "float32" {
		limits = append(limits, fmt.Sprintf("landing multiplies by this network in %s, and these files in float32: "+
			"scores differ by what that rounds.", p))
	}
	if r.Bare {
		data = fmt.Sprintf("%s (SHA-256 %.12s…)", inline(r.Data.Name), r.Data.SHA256)
	}
	for key, path := range r.Problem.Set.Files() {
		if path != "" {
			limits = append(limits, fmt.Sprintf("Its set is read from a file, set.%s, that is not here.", inline(key)))
		}
	}
	for _, f := range v.Verdict.Findings {
		size := f.Size()
		if size != "" {
			size = ", " + size
		}
		says := places.ReplaceAllString(f.Says, "a place that is left out here")
		findings = append(findings, fmt.Sprintf("%s%s: %s.", f.Code, size, inline(says)))
	}
	var skipped []string
	for _, line := range v.Verdict.Grouped() {
		skipped = append(skipped, inline(line))
	}
	slices.Sort(limits)
	title := v.Verdict.Title()
	var b bytes.Buffer
	b.WriteString("---\n")
	b.Write(yaml)
	b.WriteString("---\n")
	err = cardTemplate.Execute(&b, map[string]any{
		"Title": inline(r.Title()), "Set": inline(constraint.Name(r.Process.Set)), "Dim": r.Process.Set.Dim(),
		"Home": Home, "Version": run.Version(), "Method": r.Method.Name(), "Network": s.network(),
		"Parameters": text.Count(len(s.Trained.Model.Parameters())), "Data": data,
		"Verdict": strings.ToUpper(title[:1]) + title[1:], "Findings": findings, "Skipped": skipped,
		"Samples": v.Samples, "Seed": v.Seed, "Epoch": v.Epoch, "Failed": v.Failed, "Rows": rows,
		"Chance": fmt.Sprintf("%g %%", 100*(1-v.Verdict.Alarm)), "Opset": onnx.Opset,
		"Inputs": strings.Join(inputs, ", "), "Call": strings.Join(call, ", "), "Row": keepsRow(r),
		"Run": r.Config[:12], "First": "0", "Last": fmt.Sprintf("%.6g", times.Step*float64(times.N)),
		"Limits": limits, "Licence": inline(told),
	})
	return b.Bytes(), err
}

// inline makes text one line of Markdown in which no character means anything.
func inline(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " ")
	return marks.Replace(s)
}

var marks = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">",
	"&gt;", "|", `\|`, "#", `\#`)

// keepsRow reports whether the network holds a row of the training data: the conformation that it lays points on, where
// the problem names no file of one.
func keepsRow(r *experiment.Run) bool {
	return r.Problem.NetworkKind.Refers && r.Problem.Network.Reference == ""
}

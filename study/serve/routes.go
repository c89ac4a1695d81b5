package serve

import (
	"bytes"
	_ "embed" // for the description and the pages
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/study/engine"
)

// RunInfo describes a run.
type RunInfo struct {
	Name      string         `json:"name"`
	Title     string         `json:"title"`
	Set       string         `json:"set"`
	Method    string         `json:"method"`
	Kind      string         `json:"kind"` // of data
	Dim       int            `json:"dim"`
	Steps     int            `json:"steps"`
	Seed      uint64         `json:"seed"`
	Epoch     int            `json:"epoch"` // of the weights
	Prior     string         `json:"prior"`
	Condition *ConditionInfo `json:"condition,omitempty"`
	Warning   string         `json:"warning,omitempty"`
	Standing
}

// A Standing is how a run is, by what its folder tells.
type Standing struct {
	State    string   `json:"state,omitempty"` // of its training
	Grade    string   `json:"grade,omitempty"` // of its samples; empty: there is none
	Verdict  string   `json:"verdict,omitempty"`
	Wrong    []string `json:"wrong,omitempty"`    // what the verdict found, the largest effect first
	Cautions []string `json:"cautions,omitempty"` // what else speaks against its samples
}

// ConditionInfo describes the condition of a run, with the range of the training rows.
type ConditionInfo struct {
	Names []string  `json:"names"`
	Lo    []float64 `json:"lo"`
	Hi    []float64 `json:"hi"`
}

func (s *Server) info(r *engine.Run) RunInfo {
	out := RunInfo{Name: r.Name, Title: r.Title(), Set: constraint.Name(r.Process.Set), Method: r.Method.Name(),
		Kind: r.Problem.Data.Kind, Dim: r.Process.Set.Dim(), Steps: r.Process.Schedule.N, Seed: r.Problem.Seed,
		Epoch: r.Trained.State.Epoch, Prior: r.Prior(), Warning: r.Warning}
	if s.opt.Standing != nil {
		out.Standing = s.opt.Standing(r)
	}
	if c := r.Condition; c != nil {
		out.Condition = &ConditionInfo{c.Names, c.Lo, c.Hi}
	}
	return out
}

// RunList is what GET /v1/runs answers.
type RunList struct {
	Runs []RunInfo `json:"runs"`
}

// Ready is what GET /readyz answers.
type Ready struct {
	Ready bool `json:"ready"`
}

// Media types of bodies.
const (
	typeJSON    = "application/json"
	typeLines   = "application/x-ndjson"
	typeNPY     = "application/x-npy"
	typeProblem = "application/problem+json"
	typeHTML    = "text/html; charset=utf-8"
	typeCSS     = "text/css; charset=utf-8"
	typeScript  = "text/javascript; charset=utf-8"
)

// Files of the pages, and the description that /docs is made of.
var (
	//go:embed openapi.yaml
	openAPI []byte
	//go:embed docs.html
	docsHTML string
	//go:embed docs.css
	docsStyle []byte
	//go:embed page/index.html
	indexHTML []byte
	//go:embed page/page.css
	pageStyle []byte
	//go:embed page/page.js
	pageScript []byte
)

// routes makes the handler of all paths.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(a *answering) error{
		"GET /healthz": func(a *answering) error {
			return a.writeJSON(map[string]bool{"alive": true})
		},
		"GET /readyz": func(a *answering) error {
			if _, err := s.served(); err != nil {
				return err
			}
			if s.leaving.Load() {
				return s.stopping()
			}
			return a.writeJSON(Ready{true})
		},
		"GET /v1/runs": func(a *answering) error {
			all, err := s.served()
			if err != nil {
				return err
			}
			return a.writeJSON(RunList{all.info})
		},
		"GET /v1/runs/{name}": func(a *answering) error {
			i, all, err := s.find(a.r.PathValue("name"))
			if err != nil {
				return err
			}
			return a.writeJSON(all.info[i])
		},
		"POST /v1/runs/{name}/samples": s.samples,
		"GET /v1/runs/{name}/scene":    s.getScene,
		"POST /v1/runs/{name}/paths":   s.paths,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			a := w.(*answering) // with the request
			if err := answer(a); err != nil {
				a.fail(err)
			}
		})
	}
	description, docs := s.description()
	for path, p := range map[string]struct {
		media string
		text  []byte
	}{
		"/{$}":            {typeHTML, indexHTML},
		"/page/page.css":  {typeCSS, pageStyle},
		"/page/page.js":   {typeScript, pageScript},
		"/page/scene.css": {typeCSS, []byte(figure.Style())}, // what turns by hand is what reports show
		"/page/scenes.js": {typeScript, figure.Scripts()},
		"/docs":           {typeHTML, docs},
		"/docs.css":       {typeCSS, docsStyle},
		"/openapi.json":   {typeJSON, description},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { page(w, p.media, p.text) })
	}
	return mux
}

// description returns the description as JSON, and as a page that loads nothing but its style sheet.
func (s *Server) description() (description, docs []byte) {
	var api map[string]any
	err := yaml.Unmarshal(openAPI, &api)
	if err == nil {
		api["info"].(map[string]any)["version"] = s.opt.Version
		if len(s.opt.Tokens) > 0 {
			api["security"] = []any{map[string]any{"token": []any{}}}
		}
		description, err = json.Marshal(api)
	}
	var b bytes.Buffer
	if err == nil {
		funcs := template.FuncMap{"type": typeOf, "upper": strings.ToUpper}
		err = template.Must(template.New("docs").Funcs(funcs).Parse(docsHTML)).Execute(&b,
			map[string]any{"API": api, "Kinds": kinds})
	}
	if err != nil {
		panic("serve: " + err.Error()) // the template and the description are ours
	}
	return description, b.Bytes()
}

// typeOf tells the type of a value in a few words.
func typeOf(schema map[string]any) string {
	if ref, ok := schema["$ref"].(string); ok {
		return path.Base(ref)
	}
	if options, ok := schema["oneOf"].([]any); ok {
		var parts []string
		for _, one := range options {
			parts = append(parts, typeOf(one.(map[string]any)))
		}
		return strings.Join(parts, ", or ")
	}
	is, _ := schema["type"].(string)
	if items, ok := schema["items"].(map[string]any); ok {
		return "rows of " + typeOf(items)
	}
	if least, ok := schema["minimum"]; ok {
		return fmt.Sprintf("%s from %v on", is, least)
	}
	return is
}

// page answers with a page that is in the binary.
func page(w http.ResponseWriter, media string, text []byte) {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cache-Control", "no-cache")
	_, _ = w.Write(text) // whoever does not read it has left
}

// pagePolicy lets pages load what this service sends, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A fault is what a request is refused with: problem+json (RFC 9457).
type fault struct {
	kind   kind
	detail string
	place  *place
	retry  time.Duration // of Retry-After; 0: it would not help
	quit   bool          // the connection is closed: what follows on it is not to be trusted
}

func (f *fault) Error() string { return f.detail }

// A place of a request, such as body.n, at which something is wrong.
type place struct {
	Location string `json:"location"`
	Message  string `json:"message"`
	Value    any    `json:"value,omitempty"`
}

// A kind of fault; its code is the anchor in the documentation, and stays.
type kind struct {
	Status      int
	Code, Title string
	Says        string // in the documentation
}

// All kinds of faults.
var (
	badJSON      = add(400, "bad-json", "The body is not JSON", "The body is no JSON object.")
	badRequest   = add(400, "bad-request", "The request is not HTTP", "A line or header that HTTP does not know.")
	unauthorized = add(401, "unauthorized", "A valid token is needed",
		"The bearer token is missing, unknown or expired.")
	foreign = add(403, "cross-origin", "The request comes from another site",
		"A page of another origin sent the request.")
	unknownRun = add(404, "unknown-run", "There is no such run",
		"No run of this name is served; /v1/runs lists them.")
	unacceptable = add(406, "not-acceptable", "None of the accepted formats is written",
		"Accept names neither application/json nor application/x-npy.")
	slowBody    = add(408, "slow-body", "The body did not arrive in time", "The body took too long to arrive.")
	tooLarge    = add(413, "too-large", "The body is too large", "The body is longer than the service takes.")
	unsupported = add(415, "media-type", "The body is of a type that is not read",
		"Content-Type is not application/json, or the body has a coding.")
	misdirected = add(421, "misdirected", "The request is for another host",
		"Without tokens, Host must name this machine.")
	invalid       = add(422, "invalid", "Invalid request", "A value is not what is expected: errors says which.")
	failedSamples = add(422, "failed-samples", "Too many samples failed",
		"More samples failed than generate.max_failed of the run allows, as where a condition leaves no point.")
	queueFull = add(429, "queue-full", "The service is busy", "The queue is full; Retry-After says when to try again.")
	gone      = add(499, "gone", "The caller has left", "It stands in the log alone.")
	broken    = add(500, "internal", "The service is at fault", "A fault of the program; its log has more.")
	unready   = add(503, "not-ready", "The service is not ready",
		"Runs are being read, or the service is about to end; Retry-After says when to try again.")
	tooLate = add(504, "deadline", "The deadline has passed",
		"The samples were not drawn within deadline_ms, or the longest time that the service allows.")
)

var kinds []kind

func add(status int, code, title, says string) kind {
	k := kind{status, code, title, says}
	kinds = append(kinds, k)
	return k
}

// fault makes one.
func (k kind) fault(format string, v ...any) *fault {
	return &fault{kind: k, detail: clip(fmt.Sprintf(format, v...))}
}

// invalidAt is a fault at a place of the request. The answer has the value if it is a number.
func invalidAt(location string, value any, format string, v ...any) *fault {
	f := invalid.fault("%s: %s", location, fmt.Sprintf(format, v...))
	f.place = &place{clip(location), clip(fmt.Sprintf(format, v...)), value}
	return f
}

// mostTold bounds the text of a fault that comes from a request, in bytes: the log has it too.
const mostTold = 1000

func clip(s string) string {
	if len(s) <= mostTold {
		return s
	}
	return strings.ToValidUTF8(s[:mostTold], "") + "…"
}

// A problem is a fault as it is sent.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Instance string   `json:"instance,omitempty"`
	Errors   []*place `json:"errors,omitempty"`
}

// problem is the fault as it is sent, in JSON, of a request of a number.
func (f *fault) problem(request string) []byte {
	p := problem{Type: "/docs#" + f.kind.Code, Title: f.kind.Title, Status: f.kind.Status, Detail: f.detail,
		Instance: "/requests/" + request}
	if f.place != nil {
		p.Errors = []*place{f.place}
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic("serve: " + err.Error()) // words and numbers
	}
	return b
}

// write sends the fault, as the answer to a request of a number.
func (f *fault) write(w http.ResponseWriter, request string) {
	h := w.Header()
	if f.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retry.Seconds()))))
	}
	if f.kind.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="landing", error="invalid_token"`)
	}
	if f.quit {
		h.Set("Connection", "close")
	}
	b := append(f.problem(request), '\n')
	h.Set("Content-Type", typeProblem)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(f.kind.Status)
	w.Write(b) // whoever does not read it has left
}

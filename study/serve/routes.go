package serve

import (
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/study/engine"
)

// RunInfo is what is told of a run.
type RunInfo struct {
	Name      string         `json:"name"`
	Title     string         `json:"title"`
	Set       string         `json:"set"                 doc:"the feasible set"`
	Method    string         `json:"method"`
	Kind      string         `json:"kind"                doc:"of data"`
	Dim       int            `json:"dim"                 doc:"numbers of a sample, its condition included"`
	Steps     int            `json:"steps"               doc:"of a backward path"`
	Seed      uint64         `json:"seed"                doc:"that samples are drawn by if a request names none"`
	Epoch     int            `json:"epoch"               doc:"of the weights"`
	Prior     string         `json:"prior"`
	Condition *ConditionInfo `json:"condition,omitempty"`
	Warning   string         `json:"warning,omitempty"`
	Standing
}

// A Standing is how a run is, by what its folder tells.
type Standing struct {
	State    string   `json:"state,omitempty"    doc:"of its training: finished, stopped, training, failed or damaged"`
	Good     *bool    `json:"good,omitempty"     doc:"the verdict on its samples; left out: there is none"`
	Verdict  string   `json:"verdict,omitempty"  doc:"in words"`
	Wrong    []string `json:"wrong,omitempty"    doc:"what the verdict found, the largest effect first"`
	Cautions []string `json:"cautions,omitempty" doc:"what else speaks against its samples"`
}

// ConditionInfo is what a run is asked under.
type ConditionInfo struct {
	Names []string  `json:"names"`
	Lo    []float64 `json:"lo"    doc:"the smallest values in the training rows"`
	Hi    []float64 `json:"hi"    doc:"the largest"`
}

func (l *loaded) info(r *engine.Run) RunInfo {
	out := RunInfo{Name: r.Name, Title: r.Title(), Set: constraint.Name(r.Process.Set), Method: r.Method.Name(),
		Kind: r.Problem.Data.Kind, Dim: r.Process.Set.Dim(), Steps: r.Process.Schedule.N, Seed: r.Problem.Seed,
		Epoch: r.Trained.State.Epoch, Prior: r.Prior(), Warning: r.Warning, Standing: l.standing[r.Name]}
	if c := r.Condition; c != nil {
		out.Condition = &ConditionInfo{c.Names, c.Lo, c.Hi}
	}
	return out
}

// RunList is what GET /v1/runs answers.
type RunList struct {
	Runs  []RunInfo `json:"runs"`
	Read  time.Time `json:"read"            doc:"when they were read"`
	Fault string    `json:"fault,omitempty" doc:"why the last reload failed, which left the runs as they were"`
}

// Ready is what GET /readyz answers.
type Ready struct {
	Ready bool     `json:"ready"`
	Runs  []string `json:"runs"`
}

// routes makes the handler of all paths.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	config := huma.DefaultConfig("landing serve", s.opt.Version)
	config.Info.Description = "Samples of trained runs. Sample number i is a function of the run, the seed and i " +
		"alone: the same request gets the same bytes, which are those that landing generate writes."
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.Components.Schemas = registry
	if len(s.opt.Tokens) > 0 {
		config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
		config.Security = []map[string][]string{{"token": {}}}
	}
	api := humago.New(mux, config)
	none := []map[string][]string{}
	handle := func(op *huma.Operation, f http.HandlerFunc) {
		api.OpenAPI().AddOperation(op)
		api.Adapter().Handle(op, func(ctx huma.Context) {
			r, w := humago.Unwrap(ctx)
			f(w, r)
		})
	}
	object := func(of reflect.Type, name, says string) *huma.Response {
		return &huma.Response{Description: says, Content: map[string]*huma.MediaType{
			typeJSON: {Schema: registry.Schema(of, true, name)}}}
	}
	refusals := func(out map[string]*huma.Response, kinds ...kind) map[string]*huma.Response {
		for _, k := range kinds {
			key := strconv.Itoa(k.Status)
			if out[key] == nil {
				out[key] = &huma.Response{
					Description: k.Title + " (" + k.Code + ")",
					Content: map[string]*huma.MediaType{
						typeFaults: {Schema: registry.Schema(reflect.TypeFor[problem](), true, "Problem")}},
				}
				if k.Status == 429 || k.Status == 503 {
					out[key].Headers = map[string]*huma.Param{"Retry-After": {Description: "seconds",
						Schema: &huma.Schema{Type: huma.TypeInteger}}}
				}
			} else {
				out[key].Description += "; " + k.Title + " (" + k.Code + ")"
			}
		}
		return out
	}
	name := &huma.Param{Name: "name", In: "path", Required: true, Description: "of a run, as /v1/runs lists them",
		Schema: &huma.Schema{Type: huma.TypeString}}

	handle(&huma.Operation{OperationID: "runs", Method: "GET", Path: "/v1/runs", Summary: "The runs that are served",
		Responses: refusals(
			map[string]*huma.Response{"200": object(reflect.TypeFor[RunList](), "RunList", "the runs")},
			unauthorized,
			tooOften,
			unready,
		)}, s.list)
	handle(&huma.Operation{OperationID: "run", Method: "GET", Path: "/v1/runs/{name}", Summary: "One of them",
		Parameters: []*huma.Param{name},
		Responses: refusals(map[string]*huma.Response{"200": object(reflect.TypeFor[RunInfo](), "RunInfo", "the run")},
			unauthorized, unknownRun, tooOften, unready)}, s.one)
	handle(s.samplesOperation(name, refusals), s.samples)
	handle(&huma.Operation{OperationID: "scene", Method: "GET", Path: "/v1/runs/{name}/scene",
		Summary: "What the page shows of a run", Parameters: []*huma.Param{name},
		Responses: refusals(map[string]*huma.Response{"200": object(reflect.TypeFor[Scene](), "Scene", "the scene")},
			unauthorized, unknownRun, queueFull, tooOften, unready)}, s.getScene)
	handle(&huma.Operation{OperationID: "paths", Method: "POST", Path: "/v1/runs/{name}/paths",
		Summary:     "Draw samples and see them on their way",
		Description: "Lines of JSON, a frame each, from noise to the samples that the same request for samples gets.",
		Parameters:  []*huma.Param{name},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			typeJSON: {Schema: registry.Schema(reflect.TypeFor[Ask](), true, "Ask")}}},
		Responses: refusals(map[string]*huma.Response{"200": {Description: "the frames",
			Content: map[string]*huma.MediaType{
				typeLines: {Schema: registry.Schema(reflect.TypeFor[Frame](), true, "Frame")}}}},
			badJSON, unauthorized, foreign, unknownRun, lengthRequired, tooLarge, unsupported, invalid, failedSamples,
			queueFull, tooOften, broken, unready, tooLate)}, s.paths)
	handle(&huma.Operation{OperationID: "healthz", Method: "GET", Path: "/healthz", Security: none,
		Summary: "Whether the process lives", Responses: map[string]*huma.Response{"200": {Description: "it does"}}},
		func(w http.ResponseWriter, r *http.Request) {
			of(r).writeJSON(http.StatusOK, map[string]bool{"alive": true})
		})
	handle(&huma.Operation{OperationID: "readyz", Method: "GET", Path: "/readyz", Security: none,
		Summary: "Whether samples may be asked for", Responses: refusals(map[string]*huma.Response{
			"200": object(reflect.TypeFor[Ready](), "Ready", "they may")}, unready)}, s.ready)
	handle(&huma.Operation{OperationID: "metrics", Method: "GET", Path: "/metrics", Summary: "Metrics for Prometheus",
		Responses: map[string]*huma.Response{"200": {Description: "in the text format",
			Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}}}},
		s.m.handler().ServeHTTP)
	docs := docsPage(api.OpenAPI())
	mux.HandleFunc("GET /docs", func(w http.ResponseWriter, _ *http.Request) {
		page(w, "text/html; charset=utf-8", docs)
	})
	mux.HandleFunc("GET /docs.css", func(w http.ResponseWriter, _ *http.Request) { page(w, "text/css", docsStyle) })
	pages(mux)
	return &router{mux}
}

// samplesOperation describes POST /v1/runs/{name}/samples.
func (s *Server) samplesOperation(name *huma.Param,
	refusals func(map[string]*huma.Response, ...kind) map[string]*huma.Response) *huma.Operation {
	binary := &huma.Schema{Type: huma.TypeString, Format: "binary"}
	number := func(name, says string, required bool) *huma.Param {
		return &huma.Param{Name: name, In: "query", Required: required, Description: says,
			Schema: &huma.Schema{Type: huma.TypeInteger}}
	}
	answer := &huma.Response{Description: "the samples, but for those that failed", Headers: map[string]*huma.Param{},
		Content: map[string]*huma.MediaType{
			typeJSON:  {Schema: registry.Schema(reflect.TypeFor[Samples](), true, "Samples")},
			typeNPY:   {Schema: binary},
			typeLines: {Schema: registry.Schema(reflect.TypeFor[Line](), true, "Line")},
		}}
	for header, says := range map[string]string{
		"Landing-Failed":         "how many samples failed; a trailer of an answer in chunks",
		"Landing-Failed-Samples": "the numbers of the first of them",
		"Landing-Violation":      "the worst violation of a component of the set",
		"Landing-Warning":        "what else to know",
		"Landing-Seed":           "that the samples were drawn by",
	} {
		answer.Headers[header] = &huma.Param{Description: says, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return &huma.Operation{
		OperationID: "samples",
		Method:      "POST",
		Path:        "/v1/runs/{name}/samples",
		Summary:     "Draw samples",
		Description: "Accept chooses JSON, NPY, or with chunk lines of JSON or NPY arrays one after the other. " +
			"A body of application/x-npy has rows of the condition; everything else then stands in the query.",
		Parameters: []*huma.Param{name, number("n", "with a body of NPY: samples under each condition", false),
			number("seed", "likewise", false), number("first", "likewise", false), number("chunk", "likewise", false),
			number("deadline_ms", "likewise", false)},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			typeJSON: {Schema: registry.Schema(reflect.TypeFor[Ask](), true, "Ask")}, typeNPY: {Schema: binary}}},
		Responses: refusals(
			map[string]*huma.Response{"200": answer},
			badJSON,
			badNPY,
			unauthorized,
			foreign,
			unknownRun,
			unacceptable,
			slowBody,
			lengthRequired,
			tooLarge,
			unsupported,
			misdirected,
			invalid,
			failedSamples,
			queueFull,
			tooOften,
			broken,
			unready,
			tooLate,
		),
	}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	all := s.runs.Load()
	if all == nil {
		_, f := s.run("")
		of(r).refuse(f)
		return
	}
	out := RunList{Runs: []RunInfo{}, Read: all.at.UTC(), Fault: all.fault}
	for _, name := range all.names() {
		out.Runs = append(out.Runs, all.info(all.byName[name]))
	}
	of(r).writeJSON(http.StatusOK, out)
}

func (s *Server) one(w http.ResponseWriter, r *http.Request) {
	all := s.runs.Load()
	run, f := s.named(all, r.PathValue("name"))
	if f != nil {
		of(r).refuse(f)
		return
	}
	of(r).writeJSON(http.StatusOK, all.info(run))
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	all := s.runs.Load()
	if all == nil || s.draining.Load() {
		_, f := s.run("")
		of(r).refuse(f)
		return
	}
	of(r).writeJSON(http.StatusOK, Ready{true, all.names()})
}

// router answers in the form of this service where a path or a method is not known.
type router struct{ *http.ServeMux }

func (m *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h, pattern := m.Handler(r)
	if pattern != "" {
		m.ServeMux.ServeHTTP(w, r)
		return
	}
	refused := &discarded{header: http.Header{}}
	h.ServeHTTP(refused, r)
	a := of(r)
	if refused.status == http.StatusMethodNotAllowed {
		f := wrongMethod.fault("%s is not a method of %s; expected %s", r.Method, r.URL.Path,
			refused.header.Get("Allow"))
		f.allow = refused.header.Get("Allow")
		a.refuse(f)
		return
	}
	a.refuse(notFound.fault("there is nothing at %s; /docs tells what there is", r.URL.Path))
}

// discarded keeps the status and the header of an answer that nobody gets.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(status int)      { d.status = status }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }

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

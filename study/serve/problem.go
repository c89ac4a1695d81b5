package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// A fault is what a request is refused with: problem+json (RFC 9457).
type fault struct {
	kind   kind
	detail string
	errors []*huma.ErrorDetail
	retry  time.Duration // of Retry-After; 0: it would not help
	allow  string        // of 405
	quit   bool          // the connection is closed: what follows on it is not to be trusted
}

func (f *fault) Error() string { return f.detail }

// A kind of fault; its code is the anchor in the documentation, and stays.
type kind struct {
	Status      int
	Code, Title string
	Says        string // in the documentation
}

// All kinds of faults.
var (
	badJSON      = add(400, "bad-json", "The body is not JSON", "The body is no JSON object, or one with a key twice.")
	badNPY       = add(400, "bad-npy", "The body is not an NPY file", "The body is no NPY file of finite numbers.")
	badRequest   = add(400, "bad-request", "The request is not HTTP", "A line or header that HTTP does not know.")
	unauthorized = add(401, "unauthorized", "A valid token is needed",
		"The bearer token is missing, unknown or expired.")
	foreign = add(403, "cross-origin", "The request comes from another site",
		"A page of another origin sent the request.")
	notFound   = add(404, "not-found", "There is no such page", "The path is none of this service.")
	unknownRun = add(404, "unknown-run", "There is no such run",
		"No run of this name is served; /v1/runs lists them.")
	wrongMethod  = add(405, "method", "The path does not take this method", "Allow says which it takes.")
	unacceptable = add(406, "not-acceptable", "None of the accepted formats is written",
		"Accept names none of application/json, application/x-npy, application/x-ndjson.")
	slowBody       = add(408, "slow-body", "The body did not arrive in time", "The body took too long to arrive.")
	lengthRequired = add(411, "length-required", "The body has no length",
		"A body needs Content-Length; transfer codings are refused.")
	tooLarge    = add(413, "too-large", "The body is too large", "The body is longer than the service takes.")
	unsupported = add(415, "media-type", "The body is of a type that is not read",
		"Content-Type is neither application/json nor application/x-npy, or the body has a coding.")
	misdirected = add(421, "misdirected", "The request is for another host",
		"Without tokens, Host must name this machine.")
	invalid       = add(422, "invalid", "The request cannot be", "A value is not what is expected: errors says which.")
	failedSamples = add(422, "failed-samples", "Too many samples failed",
		"More samples failed than generate.max_failed of the run allows, as where a condition leaves no point.")
	queueFull = add(429, "queue-full", "The service is busy", "The queue is full; Retry-After says when to try again.")
	tooOften  = add(429, "rate", "Too many requests", "The caller has used up its rate; Retry-After says until when.")
	gone      = add(499, "gone", "The caller has left", "It stands in the log and the metrics alone.")
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

// invalidAt is a fault at a place of the request, such as body.n.
func invalidAt(location string, value any, format string, v ...any) *fault {
	f := invalid.fault("%s: %s", location, fmt.Sprintf(format, v...))
	f.add(location, fmt.Sprintf(format, v...), value)
	return f
}

// What a fault tells of a request is no longer than mostTold bytes, at no more than mostPlaces: the log has it too.
const (
	mostTold   = 1000
	mostPlaces = 20
)

func clip(s string) string {
	if len(s) <= mostTold {
		return s
	}
	return strings.ToValidUTF8(s[:mostTold], "") + "…"
}

// add tells what is wrong at a place. A value is told if it is a number or a word.
func (f *fault) add(location, message string, value any) {
	switch v := value.(type) {
	case string:
		value = clip(v)
	case bool, int64, uint64, float64:
	default:
		value = nil
	}
	if len(f.errors) < mostPlaces {
		f.errors = append(f.errors, &huma.ErrorDetail{Location: clip(location), Message: clip(message), Value: value})
	}
}

// A problem is a fault as it is sent.
type problem struct {
	Type     string              `json:"type"               doc:"where this kind of fault is described"`
	Title    string              `json:"title"              doc:"the kind of fault in words"`
	Status   int                 `json:"status"             doc:"HTTP status"`
	Detail   string              `json:"detail,omitempty"   doc:"what is wrong with this request"`
	Instance string              `json:"instance,omitempty" doc:"number of the request in the log"`
	Errors   []*huma.ErrorDetail `json:"errors,omitempty"   doc:"what is wrong, place by place"`
}

func (f *fault) problem(request string) problem {
	p := problem{Type: "/docs#" + f.kind.Code, Title: f.kind.Title, Status: f.kind.Status, Detail: f.detail,
		Errors: f.errors}
	if request != "" {
		p.Instance = "/requests/" + request
	}
	return p
}

// write sends the fault.
func (f *fault) write(w http.ResponseWriter) {
	h := w.Header()
	if f.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retry.Seconds()))))
	}
	if f.allow != "" {
		h.Set("Allow", f.allow)
	}
	if f.kind.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="landing", error="invalid_token"`)
	}
	if f.quit {
		h.Set("Connection", "close")
	}
	b, err := json.Marshal(f.problem(h.Get(requestHeader)))
	if err != nil { // a value that was sent to us cannot be written
		f.errors = nil
		b, _ = json.Marshal(f.problem(h.Get(requestHeader)))
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(b)+1))
	w.WriteHeader(f.kind.Status)
	w.Write(append(b, '\n')) // whoever does not read it has left
}

package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

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

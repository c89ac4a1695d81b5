package serve

import (
	"cmp"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are what /metrics tells. Labels are routes, statuses, names of runs and kinds of faults: no request can
// make new ones.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	samples  *prometheus.CounterVec
	active   prometheus.Gauge
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "landing_requests_total",
			Help: "Requests, by route and status; 499 is of callers who left."}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "landing_request_seconds",
			Help: "How long requests took, by route.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 18)},
			[]string{"route"}),
		samples: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "landing_samples_total",
			Help: "Samples of answered requests, by run."}, []string{"run"}),
		active: prometheus.NewGauge(prometheus.GaugeOpts{Name: "landing_requests_active",
			Help: "Requests that are being answered, of all routes."}),
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	counter := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, f)
	}
	m.registry.MustRegister(m.requests, m.seconds, m.samples, m.active,
		gauge("landing_queue_requests", "Requests that are drawn or wait.",
			func() float64 { return float64(s.waiting.Load()) }),
		gauge("landing_queue_limit", "How many requests may be drawn or wait.",
			func() float64 { return float64(s.opt.Queue) }),
		counter("landing_network_passes_total", "Passes of networks.",
			func() float64 { return float64(s.engine.Counts().Passes) }),
		counter("landing_network_rows_total", "Rows of all passes: over their number, how many go together.",
			func() float64 { return float64(s.engine.Counts().Rows) }),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{
			Matcher: regexp.MustCompile(`^/gc/(heap/live:bytes|cycles/total:gc-cycles)$`)})),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// observe counts a request.
func (m *metrics) observe(a *answering, took time.Duration) {
	route := cmp.Or(a.r.Pattern, "none")
	m.requests.WithLabelValues(route, strconv.Itoa(a.status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

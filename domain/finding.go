package domain

import "github.com/landing-diffusion/landing/judge/metric"

// A Finding is what a kind of data checks on samples beside distances and violations, with a verdict in words.
type Finding struct {
	Name     string    `json:"name"`
	Verdict  string    `json:"verdict"`           // a sentence, without its full stop
	Warning  bool      `json:"warning,omitempty"` // the verdict is bad
	Share    float64   `json:"share,omitempty"`   // of the samples that a warning concerns; 0 where it is not known
	Note     string    `json:"note,omitempty"`    // how it was found, in sentences
	Beside   string    `json:"beside,omitempty"`  // what samples are held against, in Measure.Data; empty: the data
	Measures []Measure `json:"measures"`
}

// A Measure is a number of samples, and that of the data; NaN where there is none.
type Measure struct {
	Name    string       `json:"name"`
	Unit    string       `json:"unit,omitempty"`
	Samples metric.Float `json:"samples"`
	Data    metric.Float `json:"data"`
	Noise   metric.Float `json:"noise"`   // standard deviation of Samples if they had the data's law
	PValue  metric.Float `json:"p_value"` // that the two are of one law
}

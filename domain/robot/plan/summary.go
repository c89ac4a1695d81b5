package plan

import (
	"math"
	"slices"
	"time"
)

// A Summary is how a batch went, under the names that its record has in files. Times are
// milliseconds; those of queries that found no path are not among them.
type Summary struct {
	Paths        int            `json:"paths"`
	Columns      int            `json:"columns"`
	Modes        []string       `json:"modes"`
	Shares       map[string]int `json:"shares"` // paths of each mode
	Queries      int            `json:"queries"`
	Failed       []Failure      `json:"failed"`
	Worst        float64        `json:"worst_violation"`
	Length       float64        `json:"joint_length_median"`
	Nodes        int            `json:"nodes_mean"`
	Clear        int            `json:"clear_between"`                // that keep the margin between waypoints too
	Room         *float64       `json:"least_room_between,omitempty"` // nil: there is nothing to hit
	SearchMedian float64        `json:"search_median_ms"`
	Search99     float64        `json:"search_p99_ms"`
	TotalMedian  float64        `json:"total_median_ms"`
	Total99      float64        `json:"total_p99_ms"`
}

// Summary sums paths up that are to keep a margin, in metres.
func (p *Paths) Summary(margin float64) Summary {
	s := Summary{Paths: p.Count, Columns: p.Dim, Modes: p.Sides, Shares: map[string]int{}, Queries: p.Queries,
		Failed: p.Failed, Worst: p.Worst}
	if p.Count == 0 {
		return s
	}
	var search, total []time.Duration
	var length []float64
	room := math.Inf(1)
	for i, path := range p.Paths {
		search, total, length = append(search, path.Searched), append(total, path.Took), append(length, path.Length)
		s.Nodes += path.Nodes
		room = min(room, path.Room.Lower)
		if path.Room.Lower >= margin {
			s.Clear++
		}
		s.Shares[p.Sides[p.Label[i]]]++
	}
	slices.Sort(length)
	s.Length, s.Nodes = length[len(length)/2], s.Nodes/p.Count
	if !math.IsInf(room, 0) {
		s.Room = &room
	}
	s.SearchMedian, s.Search99 = times(search)
	s.TotalMedian, s.Total99 = times(total)
	return s
}

// Open returns the numbers of the places that the set leaves open, the last n of each row.
func (p *Paths) Open(n int) []float64 {
	out := make([]float64, 0, n*p.Count)
	for i := range p.Count {
		out = append(out, p.X[(i+1)*p.Dim-n:(i+1)*p.Dim]...)
	}
	return out
}

// times returns the median and the 99th percentile of durations, in milliseconds.
func times(d []time.Duration) (median, p99 float64) {
	slices.Sort(d)
	at := func(q float64) float64 { return float64(d[int(math.Ceil(q*float64(len(d))))-1].Microseconds()) / 1000 }
	return at(0.5), at(0.99)
}

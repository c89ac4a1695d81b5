package work

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// MaxShards bounds the parts of a list.
const MaxShards = 100_000

// A Shard is part I of N of a list, 1 ≤ I ≤ N. Of a list of units it is those whose number is I − 1 modulo N
// (Takes); of numbered rows it is a range (Range). The zero value is the whole list.
type Shard struct{ I, N int }

// ParseShard reads i/n; empty text is the whole list.
func ParseShard(s string) (Shard, error) {
	if s == "" {
		return Shard{}, nil
	}
	first, last, ok := strings.Cut(s, "/")
	i, n := digits(first), digits(last)
	if !ok || n < 1 || n > MaxShards || i < 1 || i > n {
		return Shard{}, fmt.Errorf("the part is %q; expected i/n with 1 ≤ i ≤ n ≤ %d, "+
			"such as 2/4 for the second of four", s, MaxShards)
	}
	return Shard{i, n}, nil
}

// digits returns the number that text of digits alone is; 0 for other text.
func digits(s string) int {
	if strings.Trim(s, "0123456789") != "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// Takes reports whether unit number i, from 0, is in the part. Every unit is in one of the parts 1/n … n/n.
func (s Shard) Takes(i int) bool { return s.N == 0 || i%s.N == s.I-1 }

// ByName returns Takes for things that go together by name: the names are numbered in the order in which they are
// asked for.
func (s Shard) ByName() func(name string) bool {
	numbers := map[string]int{}
	return func(name string) bool {
		n, ok := numbers[name]
		if !ok {
			n = len(numbers)
			numbers[name] = n
		}
		return s.Takes(n)
	}
}

// Range returns the part of n numbered rows, lo … hi−1, that the shard makes: the parts 1/n, 2/n, … follow each
// other, and their sizes differ by one at most. More parts than rows leave some empty.
func (s Shard) Range(n uint64) (lo, hi uint64) {
	if s.N == 0 {
		return 0, n
	}
	cut := func(i int) uint64 { // ⌊i n/N⌋
		high, low := bits.Mul64(uint64(i), n)
		q, _ := bits.Div64(high, low, uint64(s.N)) // i ≤ N: the quotient fits
		return q
	}
	return cut(s.I - 1), cut(s.I)
}

func (s Shard) String() string {
	if s.N == 0 {
		return "1/1"
	}
	return fmt.Sprintf("%d/%d", s.I, s.N)
}

// Variables that schedulers set, and CountVariable, which is ours.
const (
	// CountVariable is the number of parts where the scheduler does not tell it, as Kubernetes does not, or where only
	// some parts are made (again).
	CountVariable = "LANDING_SHARDS"

	slurmID    = "SLURM_ARRAY_TASK_ID"
	slurmCount = "SLURM_ARRAY_TASK_COUNT"
	slurmMin   = "SLURM_ARRAY_TASK_MIN"
	slurmStep  = "SLURM_ARRAY_TASK_STEP"
	kubeIndex  = "JOB_COMPLETION_INDEX" // from 0; no variable has the number of completions
)

// ShardOf is ParseShard, but that "auto" takes the part from the environment (os.Getenv): of an array of Slurm, its
// elements in order, or an Indexed Job of Kubernetes. Where LANDING_SHARDS says how many parts there are, the part is
// the number of the element.
func ShardOf(s string, env func(string) string) (Shard, error) {
	if s != "auto" {
		return ParseShard(s)
	}
	number := func(name string) int { // far below 0 where it is none
		n, err := strconv.Atoi(env(name))
		if err != nil || n < 0 {
			return math.MinInt32
		}
		return n
	}
	var i, n int // from 0
	var used []string
	want := "the index of an Indexed Job, and its number of completions (1 to %d) in " + CountVariable
	slurm := env(slurmID) != ""
	switch {
	case slurm && env(CountVariable) != "":
		used = []string{slurmID, CountVariable}
		i, n = number(slurmID)-1, number(CountVariable)
	case slurm:
		used = []string{slurmID, slurmMin, slurmCount, slurmStep}
		from, step := number(slurmID)-number(slurmMin), max(1, number(slurmStep))
		if i, n = from/step, number(slurmCount); from < 0 || from%step != 0 {
			i = -1
		}
	case env(kubeIndex) != "":
		used = []string{kubeIndex, CountVariable}
		i, n = number(kubeIndex), number(CountVariable)
	default:
		return Shard{}, fmt.Errorf("auto: neither %s (an array of Slurm) nor %s (an Indexed Job of Kubernetes) is "+
			"set; expected one of them, or i/n instead of auto", slurmID, kubeIndex)
	}
	if i >= 0 && i < n && n <= MaxShards {
		return Shard{i + 1, n}, nil
	}
	if slurm {
		want = "an array without holes, as in --array=1-8, of at most %d; for some parts of 8: " + CountVariable +
			"=8 and --array=3,5"
	}
	var given []string
	for _, name := range used {
		given = append(given, fmt.Sprintf("%s is %q", name, env(name)))
	}
	return Shard{}, fmt.Errorf("auto: %s; expected "+want, strings.Join(given, ", "), MaxShards)
}

package work

import (
	"fmt"
	"strconv"
)

// Variables that schedulers set, and CountVariable, which is ours.
const (
	// CountVariable is the number of parts where the scheduler does not tell it, as Kubernetes does not, or where only
	// some parts are made (again).
	CountVariable = "LANDING_SHARDS"

	slurmID    = "SLURM_ARRAY_TASK_ID"
	slurmCount = "SLURM_ARRAY_TASK_COUNT"
	slurmMin   = "SLURM_ARRAY_TASK_MIN"
	slurmStep  = "SLURM_ARRAY_TASK_STEP"
	kubeIndex  = "JOB_COMPLETION_INDEX" // from 0; completions are told nowhere
)

// ShardOf is ParseShard, but that "auto" takes the part from the environment (os.Getenv): of an array of Slurm, or of
// an Indexed Job of Kubernetes.
func ShardOf(s string, env func(string) string) (Shard, error) {
	if s != "auto" {
		return ParseShard(s)
	}
	switch {
	case env(slurmID) != "":
		return slurm(env)
	case env(kubeIndex) != "":
		return kubernetes(env)
	}
	return Shard{}, fmt.Errorf("auto: neither %s (an array of Slurm) nor %s (an Indexed Job of "+
		"Kubernetes) is set; expected one of them, or i/n in place of auto", slurmID, kubeIndex)
}

// number reads a variable; ok is false where it is not set or is no number from 0 on.
func number(env func(string) string, name string) (int, bool) {
	n, err := strconv.Atoi(env(name))
	return n, err == nil && n >= 0
}

// slurm takes the part from an array of Slurm: its elements in order, or where LANDING_SHARDS says how many parts there
// are, the part that the element's number is.
func slurm(env func(string) string) (Shard, error) {
	id, ok := number(env, slurmID)
	if !ok {
		return Shard{}, fmt.Errorf("auto: %s is %q; expected a number", slurmID, env(slurmID))
	}
	if env(CountVariable) != "" {
		n, err := count(env)
		if err == nil && (id < 1 || id > n) {
			err = fmt.Errorf("auto: %s is %d and %s is %d; with it, elements are the parts 1 to %d: "+
				"--array=1-%d, or some of them", slurmID, id, CountVariable, n, n, n)
		}
		return Shard{id, n}, err
	}
	n, some := number(env, slurmCount)
	least, from := number(env, slurmMin)
	step := 1
	if s, ok := number(env, slurmStep); ok && s > 0 {
		step = s
	}
	switch i := (id - least) / step; {
	case !some || !from:
		return Shard{}, fmt.Errorf("auto: %s is %d, but %s is %q and %s is %q; expected numbers, or the "+
			"number of parts in %s", slurmID, id, slurmCount, env(slurmCount), slurmMin, env(slurmMin), CountVariable)
	case n < 1 || n > MaxShards || id < least || (id-least)%step != 0 || i >= n:
		return Shard{}, fmt.Errorf("auto: element %d is not one of %d from %d on by steps of %d; expected "+
			"an array without holes, as in --array=1-8, of at most %d. For some parts of 8: %s=8 and --array=3,5", id,
			n, least, step, MaxShards, CountVariable)
	default:
		return Shard{i + 1, n}, nil
	}
}

func kubernetes(env func(string) string) (Shard, error) {
	i, ok := number(env, kubeIndex)
	if !ok {
		return Shard{}, fmt.Errorf("auto: %s is %q; expected a number", kubeIndex, env(kubeIndex))
	}
	n, err := count(env)
	if err == nil && i >= n {
		err = fmt.Errorf("auto: %s is %d and %s is %d; expected the job's completions in %[3]s: indices "+
			"go from 0 to %[5]d", kubeIndex, i, CountVariable, n, n-1)
	}
	return Shard{i + 1, n}, err
}

// count reads LANDING_SHARDS.
func count(env func(string) string) (int, error) {
	n, ok := number(env, CountVariable)
	if !ok || n < 1 || n > MaxShards {
		return 0, fmt.Errorf("auto: %s is %q; expected the number of parts, 1 to %d", CountVariable,
			env(CountVariable), MaxShards)
	}
	return n, nil
}

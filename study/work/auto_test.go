package work

import (
	"strings"
	"testing"
)

// The part comes from the variables of an array of Slurm or an Indexed Job. The error of an incomplete environment
// names the variables.
func TestAuto(t *testing.T) {
	for _, c := range []struct{ set, want string }{
		{"", "neither SLURM_ARRAY_TASK_ID (an array of Slurm) nor JOB_COMPLETION_INDEX"},
		{"LANDING_SHARDS=3", "neither SLURM_ARRAY_TASK_ID"},
		{"SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=8 " +
			"SLURM_ARRAY_TASK_STEP=1", "1/8"},
		{"SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=0", "8/8"},
		{"SLURM_ARRAY_TASK_ID=8 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_STEP=3", "3/4"},
		{"SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=2 SLURM_ARRAY_TASK_STEP=3",
			"without holes"},
		{"SLURM_ARRAY_TASK_ID=31 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1", "without holes"},
		{"SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1", "without holes"},
		{"SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=0 SLURM_ARRAY_TASK_MIN=1", "without holes"},
		{"SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=1000000000 SLURM_ARRAY_TASK_MIN=1", "at most 100000"},
		{"SLURM_ARRAY_TASK_ID=1", `SLURM_ARRAY_TASK_COUNT is ""`},
		{"SLURM_ARRAY_TASK_ID=x SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1", `SLURM_ARRAY_TASK_ID is "x"`},
		{"SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=3 LANDING_SHARDS=8", "5/8"},
		{"SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=8 SLURM_ARRAY_TASK_MIN=0 LANDING_SHARDS=8", "--array=1-8"},
		{"SLURM_ARRAY_TASK_ID=9 LANDING_SHARDS=8", "--array=1-8"},
		{"SLURM_ARRAY_TASK_ID=1 LANDING_SHARDS=0", `LANDING_SHARDS is "0"`},
		{"JOB_COMPLETION_INDEX=0 LANDING_SHARDS=4", "1/4"},
		{"JOB_COMPLETION_INDEX=3 LANDING_SHARDS=4", "4/4"},
		{"JOB_COMPLETION_INDEX=4 LANDING_SHARDS=4", `JOB_COMPLETION_INDEX is "4", LANDING_SHARDS is "4"`},
		{"JOB_COMPLETION_INDEX=0", `LANDING_SHARDS is ""`},
		{"JOB_COMPLETION_INDEX=0 LANDING_SHARDS=1000000000", "1 to 100000"},
		{"JOB_COMPLETION_INDEX=-1 LANDING_SHARDS=4", `JOB_COMPLETION_INDEX is "-1"`},
	} {
		env := func(name string) string {
			for pair := range strings.FieldsSeq(c.set) {
				if key, value, _ := strings.Cut(pair, "="); key == name {
					return value
				}
			}
			return ""
		}
		s, err := ShardOf("auto", env)
		if strings.Contains(c.want, "/") && !strings.Contains(c.want, " ") {
			if err != nil || s.String() != c.want {
				t.Errorf("%s: %v, %v; want %s", c.set, s, err, c.want)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want an error of %q", c.set, s, err, c.want)
		}
		if s, err := ShardOf("2/3", env); err != nil || s.String() != "2/3" {
			t.Errorf("2/3 beside it: %v, %v", s, err)
		}
	}
}

package main

import (
	"cmp"
	"os"
	"strconv"

	"github.com/landing-diffusion/landing/internal/ranks"
)

// launched returns how many processes the MPI job has that has started this one, as text; empty if none has. Open MPI,
// MPICH and Intel's, and PMIx, which Slurm speaks too, say so in the environment.
func launched() string {
	n := cmp.Or(os.Getenv("OMPI_COMM_WORLD_SIZE"), os.Getenv("PMI_SIZE"))
	if n == "" && os.Getenv("PMIX_RANK") != "" {
		n = cmp.Or(os.Getenv("SLURM_STEP_NUM_TASKS"), "1")
	}
	return n
}

// alone refuses a training that a job of several processes has started where this binary knows no MPI: each of them
// would train all of it.
func alone(g ranks.Group) error {
	if n, err := strconv.Atoi(launched()); g == nil && err == nil && n > 1 {
		return usage("%d processes were started by MPI, and this binary was built without it, so "+
			"that each would train on its own; build with: CC=mpicc CGO_ENABLED=1 go build -tags mpi ./cmd/landing",
			n)
	}
	return nil
}

//go:build mpi

package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/internal/ranks/mpi"
)

// join joins the MPI job that has started this process, if one has: it returns nil otherwise. On other ranks than 0 it
// follows to the end of the job, and ends the process.
func join() ranks.Group {
	if launched() == "" {
		return nil
	}
	g, err := mpi.Start()
	if err != nil {
		fmt.Fprintf(os.Stderr, "landing: %v\n", err)
		os.Exit(exitFailure)
	}
	if g.Rank() == 0 {
		return g
	}
	// Rank 0 hears them, keeps what was done and ends the job.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(os.Stderr, "landing: rank %d: internal error: %v\n%s", g.Rank(), v, debug.Stack())
			g.Abort(exitFailure)
		}
	}()
	var pool *parallel.Pool
	experiment.Follow(g, func(workers int) *parallel.Pool {
		if pool != nil {
			pool.Close()
		}
		pool = parallel.New(min(workers, parallel.MaxWorkers))
		return pool
	})
	mpi.Stop()
	os.Exit(exitOK)
	return nil
}

// leave ends the job of rank 0, which ends with a code.
func leave(g ranks.Group, lost bool, code int) {
	switch {
	case g == nil:
	case lost: // the others may be anywhere
		g.Abort(code)
	default:
		experiment.End(g)
		mpi.Stop()
	}
}

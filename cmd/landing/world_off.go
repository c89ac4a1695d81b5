//go:build !mpi

package main

import "github.com/landing-diffusion/landing/internal/ranks"

// join returns nil: this binary knows no MPI.
func join() ranks.Group { return nil }

func leave(ranks.Group, bool, int) {}

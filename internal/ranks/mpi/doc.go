// Package mpi is a ranks.Group of the processes that mpirun has started. It needs cgo, the build tag mpi, and an MPI
// of the machine, by its compiler wrapper:
//
//	CC=mpicc CGO_ENABLED=1 go build -tags mpi ./cmd/landing
//
// Without the tag there is nothing here.
package mpi

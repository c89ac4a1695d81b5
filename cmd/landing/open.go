package main

import (
	"github.com/landing-diffusion/landing/experiment"
)

// open loads a run and says what the user should know of it.
func (a *app) open(dir, data string) (*experiment.Experiment, error) {
	e, err := experiment.Open(dir, data, a.workersPool())
	if err != nil {
		return nil, err
	}
	if e.Warning != "" {
		a.say("note: %s", e.Warning)
	}
	a.warnOfMesh(e)
	return e, nil
}

// warnOfMesh says what is wrong with the mesh of a surface.
func (a *app) warnOfMesh(e *experiment.Experiment) {
	for _, fault := range e.MeshFaults() {
		a.say("warning: %s", fault)
	}
}

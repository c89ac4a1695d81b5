package main

import (
	"strings"

	"github.com/landing-diffusion/landing/internal/fault"
)

// An errorObject is an error as --json prints it.
type errorObject struct {
	Code int `json:"code"` // exit code
	fault.Place
	Message string `json:"message"`
}

// describe returns an error as --json prints it.
func describe(err error) *errorObject {
	e := &errorObject{exitCode(err), fault.Of(err), strings.ToValidUTF8(err.Error(), "\ufffd")}
	if e.Code == exitInterrupted {
		e.Message = "interrupted"
	}
	return e
}

package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A URLError says why text is no address of a queue.
type URLError struct{ URL, Problem string }

func (e *URLError) Error() string {
	if e.URL == "" {
		return "the address of the queue " + e.Problem
	}
	return e.URL + " " + e.Problem
}

// A CredentialsError says why a file of credentials is no use. It holds nothing of the file.
type CredentialsError struct{ Path, Problem string }

func (e *CredentialsError) Error() string { return e.Path + ": " + e.Problem }

// A DownError says that no queue answers.
type DownError struct {
	URL string
	Err error
}

func (e *DownError) Error() string {
	return fmt.Sprintf("no queue answers at %s (%v); landing queue starts one, --queue names another", e.URL, e.Err)
}
func (e *DownError) Unwrap() error { return e.Err }

// An AuthError says that the server does not let the caller in, or not do what it asked.
type AuthError struct {
	URL   string
	Given string // the file of credentials; "": none
	Err   error
}

func (e *AuthError) Error() string {
	with := "without credentials; --credentials names a file"
	if e.Given != "" {
		with = "with the credentials in " + e.Given
	}
	return fmt.Sprintf("the queue at %s does not let us in (%v) %s", e.URL, e.Err, with)
}

// A SetupError says that a server cannot be a queue as it is.
type SetupError struct{ Err error }

func (e *SetupError) Error() string {
	return fmt.Sprintf("the server is no queue: %v; expected NATS 2.11 or later with JetStream, and leave to make "+
		"streams", e.Err)
}
func (e *SetupError) Unwrap() error { return e.Err }

// A FullError says that the server has no room.
type FullError struct{ Problem string }

func (e *FullError) Error() string {
	return fmt.Sprintf("the queue's store is full (%s); landing forget drops submissions that are of no more use, "+
		"landing queue --max-store allows more", e.Problem)
}

// A SizeError says that something is too large for a queue.
type SizeError struct {
	What        string
	Size, Limit int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%s has %d bytes; expected at most %d", e.What, e.Size, e.Limit)
}

// A DamagedError says that what is stored under a SHA-256 does not have it, or is not all there.
type DamagedError struct{ Where, SHA256, Problem string }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: the file of SHA-256 %s is damaged: %s", e.Where, e.SHA256, e.Problem)
}

// An EntryError says that what a queue knows under a name is not of this program's making: damaged, of a version that
// writes it otherwise, or somebody else's.
type EntryError struct{ Bucket, Key, Problem string }

func (e *EntryError) Error() string {
	return fmt.Sprintf("entry %s of %s on the queue's server cannot be read: %s; nats kv purge %[2]s %[1]s removes it",
		e.Key, e.Bucket, e.Problem)
}

// A MissingError says that nothing is stored under a SHA-256.
type MissingError struct{ Where, SHA256 string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: there is no file of SHA-256 %s", e.Where, e.SHA256)
}

// An UnknownJobError says that a queue has no such submission.
type UnknownJobError struct {
	ID    string
	There []string
}

func (e *UnknownJobError) Error() string {
	if len(e.There) == 0 {
		return fmt.Sprintf("there is no submission %s, nor any other", e.ID)
	}
	return fmt.Sprintf("there is no submission %s; there are %s", e.ID, strings.Join(e.There, ", "))
}

// A VersionError says that units wait which a worker leaves to others.
type VersionError struct {
	Waiting       uint64
	Build, Bits   string // that they are for
	Build1, Bits1 string // of this worker
}

func (e *VersionError) Error() string {
	if e.Build != e.Build1 {
		return fmt.Sprintf("%d units wait for version %s, which may give other bytes than this one, %s: they are left "+
			"to workers of theirs", e.Waiting, e.Build, e.Build1)
	}
	return fmt.Sprintf("%d units ask for the same bits as of kernels %s; this machine has %s: they are left to others",
		e.Waiting, e.Bits, e.Bits1)
}

// A FolderError says why a shared folder is no use.
type FolderError struct{ Dir, Problem string }

func (e *FolderError) Error() string { return e.Dir + ": " + e.Problem }

// setup gives errors of making streams a name.
func setup(err error) error {
	if err == nil || transient(err) {
		return err
	}
	if e := named(err); e != err {
		return e
	}
	return &SetupError{err}
}

// refused gives errors of connecting a name.
func (o *Options) refused(url string, err error) error {
	for _, auth := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrAuthRevoked,
		nats.ErrAccountAuthExpired, nats.ErrPermissionViolation} {
		if errors.Is(err, auth) {
			return &AuthError{url, o.Credentials, auth}
		}
	}
	return &DownError{url, err}
}

// Codes of errors of JetStream.
const (
	codeUnavailable = 10008 // for the moment
	codeStoreFailed = 10077 // with the reason in words
)

// full are the codes of errors that say that there is no room.
var full = map[jetstream.ErrorCode]bool{10002: true, 10023: true, 10028: true, 10047: true}

// transient reports whether an error says that the server is not there for the moment.
func transient(err error) bool {
	for _, e := range []error{nats.ErrTimeout, context.DeadlineExceeded, nats.ErrNoResponders, nats.ErrDisconnected,
		nats.ErrConnectionReconnecting, nats.ErrStaleConnection, nats.ErrReconnectBufExceeded,
		jetstream.ErrNoStreamResponse, jetstream.ErrNoHeartbeat} {
		if errors.Is(err, e) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeUnavailable
}

// Reasons in words of a stream that stores nothing more.
const (
	perSubject = "maximum messages per subject exceeded"
	perStream  = "maximum messages exceeded"
)

// named gives errors of JetStream a name that people can act on.
func named(err error) error {
	var api *jetstream.APIError
	switch {
	case errors.As(err, new(*FullError)):
	case errors.As(err, &api) && (full[api.ErrorCode] || api.ErrorCode == codeStoreFailed &&
		(strings.Contains(api.Description, "maximum bytes") || strings.Contains(api.Description, "no space"))):
		return &FullError{api.Description}
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("a message is larger than the server allows: %w", err)
	}
	return err
}

// stored reports whether a stream refused a message for the given reason.
func stored(err error, reason string) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == codeStoreFailed && strings.Contains(api.Description, reason)
}

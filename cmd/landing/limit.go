package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/internal/fault"
)

// A limit is --timeout: how long a call may take. It is no budget, by which a training is planned (--for): what it
// stops goes on with the bytes that it would have had.
type limit struct{ time.Duration }

func (l *limit) flags(f *pflag.FlagSet) {
	f.DurationVar(&l.Duration, "timeout", 0,
		"stop after so long, as in 8h, with a checkpoint and exit code 6; landing train RUN continues")
}

// check returns a usage error if the flag was given a time that is none.
func (l *limit) check(given func(flag string) bool) error {
	if d := l.Duration; given("timeout") && (d < leastBudget || d > mostBudget) {
		return &usageError{fmt.Errorf("--timeout is %v; expected a time from %v to %v, such as 90s, 30m or 8h", d,
			leastBudget, mostBudget)}
	}
	return nil
}

// within returns a context that is done when the time is up; its cause is then a *timeUpError.
func (l *limit) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if l.Duration == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, l.Duration, &timeUpError{most: l.Duration})
}

// timeUpError is the end of --timeout.
type timeUpError struct {
	most time.Duration
	rest string // how far the training came, and what goes on with it
}

func (e *timeUpError) Error() string {
	return fmt.Sprintf("stopped by --timeout %v%s", e.most, e.rest)
}

func (*timeUpError) Place() fault.Place { return fault.Place{Kind: fault.Time} }

package method

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Kind is a method by name: what a row of the registry holds.
type Kind struct {
	Name    string // in any case
	Alias   string // another name, or ""
	Options []score.Option
	// Forward returns the process of package langevin by which the method noises points, of a problem's process, on the
	// problem's set or another: what rules say of processes then holds of the method. Nil: it has a way of its own.
	Forward func(langevin.Process) langevin.Process
	// Steps is process.steps of a problem that says nothing of it; 0 is that of all.
	Steps int
	// Kept is how many points it keeps of the path of an item; 0 is one a step, and the start.
	Kept int
	// Idle are the fields of Config, and of its Process, that mean nothing to the method; Prior is that of generation.
	Idle []string
	// Velocity is of methods whose network learns a velocity at times from 0 to 1.
	Velocity bool
	// Draws is of methods whose network draws where a path began, of some of its states: levels, whose
	// spreads the options coarse and fine say.
	Draws bool
	// New makes the method. It is given every option. The error is a *ConfigError.
	New func(Config) (Method, error)
}

// Leaves is as Leaves says of a method of this kind.
func (k Kind) Leaves(p *langevin.Process) bool {
	return k.Forward != nil && fewer(k.Forward(*p).Set, p.Set)
}

// fewer reports whether a has fewer components than b.
func fewer(a, b constraint.Set) bool {
	return len(constraint.Components(a)) < len(constraint.Components(b))
}

// A Config describes a method to be made. What means nothing to a method it ignores; what it cannot do it refuses.
type Config struct {
	Name string
	// Process has the set, the schedule and the constants of the problem. Its Method is
	// that of the Kind's Forward, or the zero one without.
	Process *langevin.Process
	Window  float64 // as in cwpm.Options
	Paths   int     // as in pathmatch.Options
	Output  string  // plain, scaled or balanced, as in pathmatch.Options
	Options score.Options
}

// A ConfigError says which field of Config a method cannot do with.
type ConfigError struct {
	Field string // of it
	Value any
	Want  string // what it can do with
}

func (e *ConfigError) Error() string {
	return fmt.Sprintf("%s is %v; want %s", e.Field, e.Value, e.Want)
}

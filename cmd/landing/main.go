// Command landing trains generative models whose samples stay on a feasible set,
// and samples from them.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/langevin"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1 // anything that has no code of its own
	exitUsage       = 2
	exitConfig      = 3 // configuration or data
	exitCheck       = 4 // a constraint check failed
	exitDiverged    = 5
	exitTime        = 6 // stopped by --timeout; landing train RUN continues
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the program at once
	}()
	signal.Ignore(syscall.SIGPIPE) // nobody who stops reading ends a training; writes fail instead
	a := &app{out: console{stdout: os.Stdout, stderr: os.Stderr}, args: os.Args[1:], group: join()}
	code := a.main(ctx)
	leave(a.group, a.lost, code)
	os.Exit(code)
}

// Main runs the command with the given arguments and returns its exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return (&app{out: console{stdout: stdout, stderr: stderr}, args: args}).main(ctx)
}

func (a *app) main(ctx context.Context) int {
	args, stdout, stderr := a.args, a.out.stdout, a.out.stderr
	help := &keeper{Writer: stdout}
	a.help = help
	root := a.root()
	root.SetArgs(args)
	root.SetErr(stderr)
	if err := kernel.Check(); err != nil {
		fmt.Fprintf(stderr, "landing: %v\n", err)
		return exitUsage
	}
	err := execute(ctx, root, args)
	if a.pool != nil {
		a.pool.Close()
	}
	if err == nil {
		err = help.err
	}
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	if asksEvents(args) || a.out.said == sayJSON {
		a.out.said = sayJSON // of a line that is no use, flags may be unread
	}
	a.lost = fault.KindOf(err) == fault.Internal
	switch {
	case a.out.said == sayJSON, errors.As(err, new(*said)):
	case code == exitInterrupted:
		a.out.say("landing: interrupted")
	default:
		a.out.say("landing: %v", err)
	}
	switch {
	case code == exitUsage:
		verb, _, err := root.Find(args)
		if err != nil {
			verb = root
		}
		a.out.say("Try: %s --help", verb.CommandPath())
	case errors.As(err, new(*langevin.DivergedError)):
		a.out.say("Try: landing check")
	}
	if a.out.said == sayJSON { // the last line
		emit(stderr, event{Event: eventError, Error: describe(err)})
	}
	// of a line that is no use, flags may be unread
	if !a.out.told && (a.out.json || code == exitUsage && slices.Contains(args, "--json")) {
		if e := a.out.object(failed{*describe(err)}); e != nil {
			a.out.say("landing: %v", e)
		}
	}
	return code
}

// asksEvents reports whether a command line asks for events, as far as one sees without reading its flags.
func asksEvents(args []string) bool {
	at := slices.Index(args, "--progress")
	return slices.Contains(args, "--progress="+sayJSON) || at >= 0 && at+1 < len(args) && args[at+1] == sayJSON
}

// execute runs the command. A panic is a fault of the program: it must not look
// like one of the user's exit codes.
func execute(ctx context.Context, root *cobra.Command, args []string) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fault.Errorf(fault.Internal, "", "internal error: %v\n%s", v, debug.Stack())
		}
	}()
	err = root.ExecuteContext(ctx)
	if _, _, unknown := root.Find(args); err != nil && unknown != nil { // a verb; cobra says which are like it
		for _, arg := range args {
			if now, ok := renamed[arg]; ok {
				return usage("there is no command %q any more; %s", arg, now)
			}
		}
		return usage("%s", strings.Join(strings.Fields(unknown.Error()), " "))
	}
	return err
}

// renamed are commands of earlier versions, each with what does its work now.
var renamed = func() map[string]string {
	const machines = "--shard and landing merge use many machines (docs/distributed.md)"
	names := map[string]string{
		"data": "make or landing refine", "env": "version", "eval": "report RUN --text",
		"forward": "dev forward", "man": "dev man", "reproduce": "paper", "resume": "train RUN", "sample": "mcmc",
		"schema": "dev schema", "score": "export RUN --scores ROWS or --network",
	}
	for old, now := range names {
		names[old] = "use landing " + now
	}
	names["bench"] = "use go test ./tools/bench -bench . in a checkout"
	for _, old := range []string{"fetch", "forget", "queue", "status", "submit", "work"} {
		names[old] = machines
	}
	return names
}()

// usage returns an error of the command line.
func usage(format string, v ...any) error { return fault.Errorf(fault.Usage, "", format, v...) }

// said is an error that the user has seen.
type said struct{ error }

func (s *said) Unwrap() error { return s.error }

// exits are the exit codes of kinds of faults. Kinds that are not here are of the configuration or data.
var exits = map[fault.Kind]int{
	fault.Failure: exitFailure, fault.Internal: exitFailure, fault.Write: exitFailure, fault.Usage: exitUsage,
	fault.Check: exitCheck, fault.Diverged: exitDiverged, fault.Time: exitTime, fault.Interrupted: exitInterrupted,
}

func exitCode(err error) int {
	if code, ok := exits[fault.KindOf(err)]; ok {
		return code
	}
	return exitConfig
}

// An errorObject is an error as --json prints it.
type errorObject struct {
	Code int `json:"code"` // exit code
	fault.Place
	Message string `json:"message"`
}

// describe returns an error as --json prints it.
func describe(err error) *errorObject {
	e := &errorObject{exitCode(err), fault.Of(err), strings.ToValidUTF8(text.Short(err.Error()), "\ufffd")}
	if e.Code == exitInterrupted {
		e.Message = "interrupted"
	}
	return e
}

// app is what the verbs share.
type app struct {
	out      console
	help     io.Writer // standard output, for what cobra writes itself
	args     []string
	attended bool // the verb ends when standard input does
	workers  int
	pool     *parallel.Pool
	group    ranks.Group // of an MPI job; nil without one
	lost     bool        // it ended by an internal error
}

// A lineBreak is one within a paragraph.
var lineBreak = regexp.MustCompile(`(\S)\n(\S)`)

func (a *app) root() *cobra.Command {
	cobra.EnableCommandSorting = false // groups have an order
	root := &cobra.Command{
		Use:     "landing",
		Version: run.Version(),
		Short:   "Generative models whose samples stay on a feasible set",
		Long: `landing trains diffusion models on a feasible set {x : h(x) = 0, g(x) ≤ 0} and samples from them, with
the landing dynamics OLLA and ULLA.`,
		Example:       "  landing demo\n  landing init points.csv && landing train problem.yaml --for 3m",
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if a.workers < 0 || a.workers > parallel.MaxWorkers {
				return usage("--workers is %d; expected 0 to %d", a.workers, parallel.MaxWorkers)
			}
			if a.out.said != sayText && a.out.said != sayJSON {
				return usage("--progress is %q; expected %s or %s", a.out.said, sayText, sayJSON)
			}
			if a.attended {
				cmd.SetContext(whileOpen(cmd.Context(), os.Stdin))
			}
			if cmd.Name() == "train" {
				return alone(a.group)
			}
			return nil
		},
	}
	root.InitDefaultVersionFlag()
	root.PersistentFlags().BoolVar(&a.out.json, "json", false, "print one JSON object on standard output")
	root.PersistentFlags().BoolVarP(&a.out.quiet, "quiet", "q", false, "no progress on standard error")
	root.PersistentFlags().IntVar(&a.workers, "workers", 0,
		"worker threads; 0 means one for each core (results do not depend on it)")
	root.PersistentFlags().StringVar(&a.out.said, "progress", sayText,
		"how messages and progress are written to standard error: text, or json, an object a line")
	root.PersistentFlags().BoolVar(&a.attended, "attended", false,
		"end, as after Ctrl-C, when standard input ends: for programs that run this one")
	root.SetOut(a.help) // cobra's own verbs take it as it is when they are added
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%w", err) })
	root.SetHelpTemplate(helpTemplate)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var b bytes.Buffer
		cmd.SetOut(&b)
		width := columns(a.out.stdout)
		if width > 0 { // lines of paragraphs are joined before they are folded
			cmd.Long = lineBreak.ReplaceAllString(cmd.Long, "$1 $2")
		}
		help(cmd, args)
		io.WriteString(a.help, text.Fold(b.String(), width))
	})
	before, rest, _ := strings.Cut(root.UsageTemplate(), "{{if .HasExample}}") // examples stand before it
	_, after, _ := strings.Cut(rest, "{{end}}")
	root.SetUsageTemplate(before + after)
	for _, g := range []struct {
		id, title string
		verbs     []func(*app) *cobra.Command
	}{
		{"start", "Start:", []func(*app) *cobra.Command{demoVerb, initVerb, checkVerb}},
		{"model", "Model:", []func(*app) *cobra.Command{trainVerb, generateVerb, reportVerb, compareVerb, distillVerb}},
		{"runs", "Runs:", []func(*app) *cobra.Command{lsVerb, showVerb, exportVerb, serveVerb}},
		{"data", "Data:", []func(*app) *cobra.Command{refineVerb, verifyVerb, makeVerb}},
		{"machines", "Many machines:", []func(*app) *cobra.Command{sweepVerb, mergeVerb}},
		{"other", "Other:", []func(*app) *cobra.Command{mcmcVerb, paperVerb, recipesVerb, versionVerb}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, verb := range g.verbs {
			verb := verb(a)
			verb.GroupID = g.id
			root.AddCommand(verb)
		}
	}
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	root.AddCommand(devVerb(a))
	strict(root)
	completion(root)
	return root
}

// commandLine is the call of the program, as run folders keep it.
func (a *app) commandLine() []string { return append([]string{"landing"}, a.args...) }

// whileOpen returns a context that ends when r does. A program that starts this one and holds the
// other end of a pipe need not be able to send signals, and takes this one with it when it dies.
func whileOpen(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, r) // an error is an end, too
		cancel()
	}()
	return ctx
}

// strict makes the verbs that cobra adds refuse what they do not know.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, given []string) error {
				if _, rest, err := root.Find(given); err != nil || len(rest) > 0 {
					return usage("there is no verb %q", strings.Join(given, " "))
				}
				return nil
			}
		case "completion":
			onlyBelow(cmd)
		}
	}
}

// workersPool starts the workers once.
func (a *app) workersPool() *parallel.Pool {
	if a.pool == nil {
		a.pool = parallel.New(a.workers)
		if slow := kernel.Notice(); slow != "" && !a.out.quiet {
			a.out.say("note: %s", slow)
		}
	}
	return a.pool
}

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

// Package landing holds nothing itself: it is the root of a module for diffusion models
// whose samples stay on a feasible set Σ = {x : h(x) = 0, g(x) ≤ 0}.
//
// The command in cmd/landing does everything from a problem file, without Go:
// go run ./cmd/landing demo. In Go, begin with
//
//   - [github.com/landing-diffusion/landing/constraint], what a set is; its folders hold
//     ready-made sets (zoo), sets of formulas (formula) and the suite that a set of one's
//     own must pass (constrainttest);
//   - [github.com/landing-diffusion/landing/langevin], the processes OLLA and ULLA on a
//     set, their paths, and chains that sample exp(−f) without learning;
//   - [github.com/landing-diffusion/landing/learn/train], which trains a network of
//     [github.com/landing-diffusion/landing/learn/score] on such paths;
//   - [github.com/landing-diffusion/landing/problem], the problem file in Go, and
//     [github.com/landing-diffusion/landing/experiment], which carries it through a run
//     folder as the command does.
//
// examples/chain is a whole program, from data to a picture of samples.
// docs/architecture.md says what every package is for.
package landing

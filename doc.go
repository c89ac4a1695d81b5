// Package landing is the root of a module for diffusion models whose samples stay on a
// feasible set Σ = {x : h(x) = 0, g(x) ≤ 0}. It contains no code itself.
//
// The command in cmd/landing does everything from a problem file, without Go:
// go run ./cmd/landing demo. A Go user begins with these packages:
//
//   - [github.com/landing-diffusion/landing/constraint]: what a set is. Its folders hold
//     ready-made sets (zoo) and sets of formulas (formula).
//     [github.com/landing-diffusion/landing/tools/constrainttest] is the suite that a set
//     of your own must pass.
//   - [github.com/landing-diffusion/landing/langevin]: the processes OLLA and ULLA on a
//     set, their paths, and chains that sample exp(−f) without learning.
//   - [github.com/landing-diffusion/landing/learn/train]: trains a network of
//     [github.com/landing-diffusion/landing/learn/score] on such paths.
//   - [github.com/landing-diffusion/landing/problem]: the problem file in Go.
//   - [github.com/landing-diffusion/landing/experiment]: carries a problem through a run
//     folder, as the command does.
//
// examples/chain is a whole program, from data to a picture of samples.
// docs/architecture.md says what every package is for.
package landing

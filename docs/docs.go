// Package docs holds the pages that the program itself reads: what a page says of a key is what the schema of problem
// files and the completion of shells say of it.
package docs

import _ "embed"

// ProblemFile is problem-file.md.
//
//go:embed problem-file.md
var ProblemFile string

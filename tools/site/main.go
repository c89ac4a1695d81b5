// Command site makes a web site of README, docs and examples, with no request to any other place:
//
//	go run ./cmd/landing dev man --markdown /tmp/commands
//	go run ./tools/site -commands /tmp/commands /tmp/site
//
// Pages, their links, anchors and pictures are checked first; a link that leads nowhere is an error with its file and
// line, and nothing is written. The same files give the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	commands := flag.String("commands", "", "folder of landing dev man --markdown, for pages of verbs")
	root := flag.String("root", ".", "folder of the repository")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: site [-commands DIR] [-root DIR] OUT")
		os.Exit(2)
	}
	s, faults := Read(*root, *commands)
	for _, f := range faults {
		fmt.Fprintln(os.Stderr, f)
	}
	if len(faults) > 0 {
		os.Exit(1)
	}
	n, err := s.Write(flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("wrote %d files to %s\n", n, flag.Arg(0))
}

// Command release builds what a version is released as:
//
//	go run ./tools/release -out dist v0.2.0
//
// It builds the commit of the tag, and nothing else of the checkout, in a clone of its own: for each platform an
// archive with the program, its manual pages and completions, and a bill of materials (CycloneDX); and SHA256SUMS of
// all files in the folder. With -wheels, an interpreter of Python that has hatchling, the wheels of python/ are built
// beside them.
//
// The same commit built by the same Go gives the same bytes, wherever and whenever.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	var r Release
	var platforms string
	flag.StringVar(&r.Repo, "repo", ".", "folder of the repository")
	flag.StringVar(&r.Out, "out", "dist", "folder for the files; one that is there must be empty")
	flag.StringVar(&r.Commit, "commit", "", "commit to build (default: that of the version's tag)")
	flag.StringVar(&r.Wheels, "wheels", "", "interpreter of Python that builds wheels (default: none are)")
	flag.StringVar(&platforms, "platforms", strings.Join(Platforms, ","), "what to build for")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: release [-repo DIR] [-out DIR] [-commit SHA] [-wheels PYTHON] "+
			"[-platforms A,B] vX.Y.Z")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r.Version, r.Platforms = flag.Arg(0), strings.Split(platforms, ",")
	r.Say = func(s string) { fmt.Println(s) }
	if err := r.Make(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

package main

import "testing"

// Every link, anchor and picture of the repository's pages leads somewhere.
func TestLinks(t *testing.T) {
	s, faults := Read("../..", "")
	for _, f := range faults {
		t.Error(f)
	}
	if len(s.pages) < 30 || len(s.files) < 5 {
		t.Errorf("only %d pages and %d files", len(s.pages), len(s.files))
	}
}

package train

import (
	"math"
	"strings"
	"testing"
)

func TestStateValidate(t *testing.T) {
	good := State{Epoch: 3, Step: 2, Updates: 20, Averaged: 15, Rate: 1e-3, Rows: 100, Seconds: 1.5}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	if err := (State{}).Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*State){
		"epoch is -1":                             func(s *State) { s.Epoch = -1 },
		"step is -5":                              func(s *State) { s.Step = -5 },
		"updates is -20":                          func(s *State) { s.Updates = -20 },
		"updates is 4; expected at least 5":       func(s *State) { s.Updates = 4 },
		"updates is 9.2":                          func(s *State) { s.Updates = math.MaxInt },
		"averaged is 21; expected at most 20":     func(s *State) { s.Averaged = 21 },
		"averaged is -1":                          func(s *State) { s.Averaged = -1 },
		"rate is NaN":                             func(s *State) { s.Rate = math.NaN() },
		"rate is -1":                              func(s *State) { s.Rate = -1 },
		"plateau.bad is -1":                       func(s *State) { s.Plateau.Bad = -1 },
		"plateau.cooldown is -1":                  func(s *State) { s.Plateau.Cooldown = -1 },
		"rows is -1; expected a number from 0 to": func(s *State) { s.Rows = -1 },
		"seconds is +Inf":                         func(s *State) { s.Seconds = math.Inf(1) },
		"simulated is -1":                         func(s *State) { s.Simulated = -1 },
	} {
		s := good
		change(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

package langevin

import "testing"

// The zero convention and landing are the defaults of the problem file.
func TestZeroValues(t *testing.T) {
	var p Process
	if p.Convention.String() != "reference" || p.Method.String() != "ULLA" || p.Rho(0) != 1 {
		t.Errorf("the zero process is %v in the %v convention with ρ = %v", p.Method, p.Convention, p.Rho(0))
	}
	for _, name := range conventionNames {
		if c, err := ParseConvention(name); err != nil || c.String() != name {
			t.Errorf("%s is read as %v: %v", name, c, err)
		}
	}
}

package parallel

import (
	"context"
	"errors"
	"testing"
)

// What f returns comes out, its panic too, and a context that ends does not wait for it.
func TestUntil(t *testing.T) {
	fault := errors.New("no")
	if v, err := Until(t.Context(), func() (int, error) { return 3, fault }); v != 3 || err != fault {
		t.Errorf("%d, %v", v, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan bool)
	defer close(release)
	_, err := Until(ctx, func() (int, error) {
		cancel()
		<-release
		return 4, nil
	})
	if err != context.Canceled {
		t.Errorf("%v", err)
	}
	defer func() {
		if v := recover(); v != "lost" {
			t.Errorf("recovered %v", v)
		}
	}()
	Until(t.Context(), func() (int, error) { panic("lost") })
}

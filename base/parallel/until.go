package parallel

import "context"

// Until calls f and returns its results. If the context ends first, Until returns the context's error at once; f runs
// on in the background and its results are dropped, so f must not write anything. Use it for work that takes no
// context, such as reading a large file. If f panics, Until panics with the same value.
func Until[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
		panic any
	}
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			o.panic = recover()
			ended <- o
		}()
		o.value, o.err = f()
	}()
	select {
	case o := <-ended:
		if o.panic != nil {
			panic(o.panic)
		}
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

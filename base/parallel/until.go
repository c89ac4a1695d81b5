package parallel

import "context"

// Until returns what f returns, or the context's error as soon as the context is done. Then f goes on alone and what it
// returns is dropped: it must write nothing. It is for work that looks at no context, such as reading a large file. A
// panic of f is one of Until.
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

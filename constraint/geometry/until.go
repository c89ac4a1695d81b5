package geometry

import "context"

// until ends long computations when a context does. The zero value never ends them.
type until struct{ ctx context.Context }

// Until has u's owner stop within a row once ctx is done. What it computed by then is of no use.
func (u *until) Until(ctx context.Context) { u.ctx = ctx }

// Err returns the error of a context that is done.
func (u *until) Err() error {
	if u.ctx == nil {
		return nil
	}
	return u.ctx.Err()
}

// heavy: a row with so many numbers of a matrix times components takes long beside a look at the context.
const heavy = 1 << 14

// Until has At of a geometry of this package return the error of ctx once ctx is done, also in the middle of a block.
func Until(ctx context.Context, g Geometry) {
	switch g := g.(type) {
	case *factored:
		g.until.Until(ctx)
	case *closed:
		g.until.Until(ctx)
		if g.other != nil {
			g.other.until.Until(ctx)
		}
	}
}

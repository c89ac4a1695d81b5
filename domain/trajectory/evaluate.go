package trajectory

// An evaluator looks at the waypoints of a point one after the other.
type evaluator struct {
	*Set
	view []*view  // of each waypoint; those of one stage share theirs
	bare *view    // of coordinates alone
	ends [2]*view // of a waypoint and the next, for what is swept between them
}

func newEvaluator(s *Set) *evaluator {
	e := &evaluator{Set: s, view: make([]*view, s.l), bare: &view{dim: s.d}}
	of := map[*stage]*view{}
	for l, st := range s.stages {
		if of[st] == nil {
			of[st] = newView(s, st)
		}
		e.view[l] = of[st]
	}
	if len(s.swept) > 0 {
		st := &stage{points: s.swept}
		e.ends = [2]*view{newView(s, st), newView(s, st)}
	}
	return e
}

// both returns the view of components of waypoint l and the next; ready makes one of a waypoint.
func (e *evaluator) both(l int, ready func(v *view, l int)) *view {
	v, after := e.ends[l&1], e.ends[1-l&1]
	if l == 0 {
		ready(v, l)
	}
	ready(after, l+1)
	v.after = after
	return v
}

// point writes the components of a point, and unless packed is nil their derivatives along the support.
func (e *evaluator) point(values, packed, x []float64) {
	d, given := e.d, x[e.l*e.d:]
	h, g := values[:len(e.equalities)], values[len(e.equalities):]
	var ph, pg []float64
	if packed != nil {
		ph, pg = packed[:e.rowH], packed[e.rowH:]
	}
	for l, v := range e.view {
		v.place(x[l*d:], given)
		h, g = v.values(h, v.half[0]), v.values(g, v.half[1])
		if packed != nil {
			v.differentiate()
			ph, pg = v.gradients(ph, v.half[0]), v.gradients(pg, v.half[1])
		}
	}
	for _, a := range e.across {
		for l := range e.l - a.span {
			v := e.bare
			if v.x = x[l*d:]; a.sweeps() {
				v = e.both(l, func(v *view, l int) {
					if v.place(x[l*d:], given); packed != nil {
						v.differentiate()
					}
				})
			}
			if g = v.values(g, a.components); packed != nil {
				pg = v.gradients(pg, a.components)
			}
		}
	}
}

func (e *evaluator) Values(values, x []float64, n int) {
	d, c := e.Dim(), len(e.support)
	for i := range n {
		e.point(values[i*c:(i+1)*c], nil, x[i*d:(i+1)*d])
	}
}

func (e *evaluator) SparseJacobians(values, jac, x []float64, n int) {
	d, c := e.Dim(), len(e.support)
	for i := range n {
		e.point(values[i*c:(i+1)*c], jac[i*e.row:(i+1)*e.row], x[i*d:(i+1)*d])
	}
}

func (e *evaluator) SparseHessianVectors(dst, x, v []float64, n int) {
	d := e.Dim()
	for i := range n {
		e.bend(dst[i*e.row:(i+1)*e.row], x[i*d:(i+1)*d], v[i*d:(i+1)*d])
	}
}

// bend writes ∇²c v along the support at a point.
func (e *evaluator) bend(packed, x, v []float64) {
	d := e.d
	ph, pg, given, dgiven := packed[:e.rowH], packed[e.rowH:], x[e.l*d:], v[e.l*d:]
	for l, w := range e.view {
		w.place(x[l*d:], given)
		w.differentiate()
		w.bend(v[l*d:], dgiven)
		ph, pg = w.hessians(ph, w.half[0]), w.hessians(pg, w.half[1])
	}
	for _, a := range e.across {
		for l := range e.l - a.span {
			w := e.bare
			if w.x, w.dx = x[l*d:], v[l*d:]; a.sweeps() {
				w = e.both(l, func(w *view, l int) {
					w.place(x[l*d:], given)
					w.differentiate()
					w.bend(v[l*d:], dgiven)
				})
			}
			pg = w.hessians(pg, a.components)
		}
	}
}

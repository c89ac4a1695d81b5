package trajectory

// An evaluator looks at the waypoints of a point one after the other.
type evaluator struct {
	*Set
	view   []*view // of each waypoint; those of one stage share theirs
	packed []float64
	few    []float64
}

func newEvaluator(s *Set) *evaluator {
	e := &evaluator{Set: s, view: make([]*view, s.l)}
	of := map[*stage]*view{}
	for l, st := range s.stages {
		if of[st] == nil {
			of[st] = newView(s, st)
		}
		e.view[l] = of[st]
	}
	return e
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
		xl := x[l*d : (l+1)*d]
		v.place(xl)
		v.values(h, 0, xl, given)
		v.values(g, 1, xl, given)
		h, g = h[v.m:], g[len(v.labels)-v.m:]
		if packed != nil {
			v.differentiate(xl)
			v.gradients(ph, 0, xl, given)
			v.gradients(pg, 1, xl, given)
			ph, pg = ph[v.half[0].row:], pg[v.half[1].row:]
		}
	}
	for i := range e.steps {
		t := &e.steps[i]
		a, b := x[t.l*d:(t.l+1)*d], x[(t.l+1)*d:(t.l+2)*d]
		if g[i] = t.value(a, b); packed != nil {
			pg = t.gradient(pg, a, b)
		}
	}
	g = g[len(e.steps):]
	for i := range e.bends {
		t := &e.bends[i]
		if g[i] = t.value(x, d); packed != nil {
			pg = t.gradient(pg, x, d)
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

func (e *evaluator) Jacobians(values, jac, x []float64, n int) {
	d, c := e.Dim(), len(e.support)
	for i := range n {
		p := e.room()
		e.point(values[i*c:(i+1)*c], p, x[i*d:(i+1)*d])
		e.spread(jac[i*c*d:(i+1)*c*d], p)
	}
}

// room returns memory for derivatives along the support at a point.
func (e *evaluator) room() []float64 {
	if e.packed == nil {
		e.packed = make([]float64, e.row)
	}
	return e.packed
}

func (e *evaluator) spread(rows, packed []float64) {
	d := e.Dim()
	clear(rows)
	for a, cols := range e.support {
		row := rows[a*d : (a+1)*d]
		for k, j := range cols {
			row[j] = packed[k]
		}
		packed = packed[len(cols):]
	}
}

func (e *evaluator) HessianVectors(dst, x, v []float64, n int) {
	d, c := e.Dim(), len(e.support)
	for i := range n {
		p := e.room()
		e.bend(p, x[i*d:(i+1)*d], v[i*d:(i+1)*d])
		e.spread(dst[i*c*d:(i+1)*c*d], p)
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
	ph, pg, given := packed[:e.rowH], packed[e.rowH:], v[e.l*d:]
	for l, w := range e.view {
		xl, vl := x[l*d:(l+1)*d], v[l*d:(l+1)*d]
		w.place(xl)
		w.differentiate(xl)
		w.bend(vl)
		w.hessians(ph, 0, vl, given)
		w.hessians(pg, 1, vl, given)
		ph, pg = ph[w.half[0].row:], pg[w.half[1].row:]
	}
	for i := range e.steps {
		t := &e.steps[i]
		pg = t.hessian(pg, v[t.l*d:(t.l+1)*d], v[(t.l+1)*d:(t.l+2)*d])
	}
	for i := range e.bends {
		pg = e.bends[i].hessian(pg, x, v, d)
	}
}

func (e *evaluator) gathered(n int) []float64 {
	if len(e.few) < n {
		e.few = make([]float64, n)
	}
	return e.few[:n]
}

package kernel

// Modulate writes y = SiLU(z), z = (1 + s)⊙u + b, for the n×m matrices y and u: a channel's
// scale s and shift b (m numbers each) are those of all n rows (FiLM: Perez et al. 2018).
func Modulate[T Float](y, u, scale, shift []T, n, m int) {
	need("Modulate: y", len(y), n*m)
	need("Modulate: u", len(u), n*m)
	need("Modulate: scale", len(scale), m)
	need("Modulate: shift", len(shift), m)
	if n == 0 || m == 0 {
		return
	}
	if im := use[T](); im != nil {
		y, u, s, b := single(y), single(u), &single(scale)[0], &single(shift)[0]
		for i := range n {
			im.modulate(&y[i*m], &u[i*m], s, b, m)
		}
		return
	}
	s, b := scale[:m], shift[:m]
	for i := range n {
		ui, yi := u[i*m:(i+1)*m], y[i*m:(i+1)*m]
		for j, v := range ui {
			z := (1+s[j])*v + b[j]
			yi[j] = z * sigmoid(z)
		}
	}
}

// ModulateGrad takes the gradient d of a loss in Modulate's y (n×m) to that in u, in place,
// and adds those in scale and shift to dscale and dshift, in row order:
//
//	δ = d⊙SiLU'(z),  dscale += Σ δ⊙u,  dshift += Σ δ,  d = (1 + s)⊙δ
func ModulateGrad[T Float](d, u, scale, shift, dscale, dshift []T, n, m int) {
	need("ModulateGrad: d", len(d), n*m)
	need("ModulateGrad: u", len(u), n*m)
	need("ModulateGrad: scale", len(scale), m)
	need("ModulateGrad: shift", len(shift), m)
	need("ModulateGrad: dscale", len(dscale), m)
	need("ModulateGrad: dshift", len(dshift), m)
	if n == 0 || m == 0 {
		return
	}
	if im := use[T](); im != nil {
		d, u, s, b := single(d), single(u), &single(scale)[0], &single(shift)[0]
		ds, db := &single(dscale)[0], &single(dshift)[0]
		for i := range n {
			im.modulateGrad(&d[i*m], &u[i*m], s, b, ds, db, m)
		}
		return
	}
	s, b, ds, db := scale[:m], shift[:m], dscale[:m], dshift[:m]
	for i := range n {
		ui, di := u[i*m:(i+1)*m], d[i*m:(i+1)*m]
		for j, v := range ui {
			a := 1 + s[j]
			z := a*v + b[j]
			σ := sigmoid(z)
			δ := di[j] * σ * (1 + z*(1-σ))
			ds[j] += δ * v
			db[j] += δ
			di[j] = a * δ
		}
	}
}

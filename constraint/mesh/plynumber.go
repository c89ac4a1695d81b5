package mesh

import (
	"math"
	"strconv"
)

func (p *plyReader) number(k plyKind) (float64, error) {
	if p.order == nil {
		if len(p.words) == 0 {
			return 0, p.bad("the line has too few numbers")
		}
		w := p.words[0]
		p.words = p.words[1:]
		v, err := strconv.ParseFloat(w, 64)
		if err != nil {
			return 0, p.bad("%.20q is not a number", w)
		}
		return v, nil
	}
	b := p.buf[:k.size]
	if err := p.src.take(b); err != nil {
		return 0, err
	}
	var u uint64
	switch k.size {
	case 1:
		u = uint64(b[0])
	case 2:
		u = uint64(p.order.Uint16(b))
	case 4:
		u = uint64(p.order.Uint32(b))
	case 8:
		u = p.order.Uint64(b)
	}
	switch {
	case k.float && k.size == 4:
		return float64(math.Float32frombits(uint32(u))), nil
	case k.float:
		return math.Float64frombits(u), nil
	case k.signed:
		shift := 64 - 8*k.size
		return float64(int64(u<<shift) >> shift), nil
	}
	return float64(u), nil
}

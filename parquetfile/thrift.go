package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A value is one of Thrift's compact protocol, in which Parquet writes its footer and the headers of pages: a
// number, bytes, a list or a structure.
type value struct {
	number int64
	bytes  []byte
	list   []value
	fields []field
}

type field struct {
	id int
	value
}

// field returns a field of a structure; nil: it is not there.
func (v *value) field(id int) *value {
	if v == nil {
		return nil
	}
	for i := range v.fields {
		if v.fields[i].id == id {
			return &v.fields[i].value
		}
	}
	return nil
}

// int returns a number of a structure, or what stands for none.
func (v *value) int(id int, none int64) int64 {
	if f := v.field(id); f != nil {
		return f.number
	}
	return none
}

// Types of the compact protocol.
const (
	thriftTrue, thriftFalse, thriftByte       = 1, 2, 3
	thriftI16, thriftI32, thriftI64           = 4, 5, 6
	thriftDouble, thriftBinary, thriftList    = 7, 8, 9
	thriftSet, thriftMap, thriftStruct, stops = 10, 11, 12, 0
)

// Bounds of what is decoded: a value takes a hundred bytes of memory and as little as one in the file.
const (
	maxValues = 1 << 20
	maxDepth  = 16
)

// decoder reads values from bytes, and allocates no more than they have.
type decoder struct {
	b      []byte
	at     int
	values int
}

var errCut = errors.New("it ends too early")

func (d *decoder) byte() (byte, error) {
	if d.at >= len(d.b) {
		return 0, errCut
	}
	d.at++
	return d.b[d.at-1], nil
}

func (d *decoder) uvarint() (uint64, error) {
	v, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 {
		return 0, errCut
	}
	d.at += n
	return v, nil
}

func (d *decoder) varint() (int64, error) {
	v, n := binary.Varint(d.b[d.at:])
	if n <= 0 {
		return 0, errCut
	}
	d.at += n
	return v, nil
}

// length reads how many things follow, each of at least a byte.
func (d *decoder) length() (int, error) {
	n, err := d.uvarint()
	if err == nil && n > uint64(len(d.b)-d.at) {
		err = errCut
	}
	return int(n), err
}

func (d *decoder) structure(depth int) (v value, err error) {
	if depth > maxDepth {
		return v, errors.New("it is nested too deep")
	}
	for id := 0; ; {
		head, err := d.byte()
		if err != nil || head == stops {
			return v, err
		}
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			long, err := d.varint()
			if err != nil {
				return v, err
			}
			id = int(int16(long))
		}
		f := field{id: id}
		switch kind := head & 15; kind {
		case thriftTrue:
			f.number = 1
		case thriftFalse:
		default:
			if f.value, err = d.value(int(kind), depth); err != nil {
				return v, err
			}
		}
		if err := d.count(1); err != nil {
			return v, err
		}
		v.fields = append(v.fields, f)
	}
}

func (d *decoder) count(n int) error {
	if d.values += n; d.values > maxValues {
		return fmt.Errorf("it has more than %d values; larger row groups make fewer", maxValues)
	}
	return nil
}

func (d *decoder) value(kind, depth int) (v value, err error) {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte: // of lists, a byte each
		b, err := d.byte()
		return value{number: int64(int8(b))}, err
	case thriftI16, thriftI32, thriftI64:
		v.number, err = d.varint()
		return v, err
	case thriftDouble:
		if len(d.b)-d.at < 8 {
			return v, errCut
		}
		d.at += 8
		return v, nil
	case thriftBinary:
		n, err := d.length()
		if err != nil {
			return v, err
		}
		v.bytes = d.b[d.at : d.at+n]
		d.at += n
		return v, nil
	case thriftList, thriftSet:
		head, err := d.byte()
		if err != nil {
			return v, err
		}
		n := int(head >> 4)
		if n == 15 {
			if n, err = d.length(); err != nil {
				return v, err
			}
		}
		if err := d.count(n); err != nil {
			return v, err
		}
		for range n {
			e, err := d.value(int(head&15), depth+1)
			if err != nil {
				return v, err
			}
			v.list = append(v.list, e)
		}
		return v, nil
	case thriftMap:
		n, err := d.length()
		if err != nil || n == 0 {
			return v, err
		}
		kinds, err := d.byte()
		if err != nil {
			return v, err
		}
		if err := d.count(2 * n); err != nil {
			return v, err
		}
		for range n {
			for _, kind := range []byte{kinds >> 4, kinds & 15} {
				if _, err := d.value(int(kind), depth+1); err != nil {
					return v, err
				}
			}
		}
		return v, nil
	case thriftStruct:
		return d.structure(depth + 1)
	}
	return v, fmt.Errorf("there is no type %d", kind)
}

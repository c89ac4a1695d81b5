package parquetfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// A hybrid reads whole numbers of width bits: runs of one number, and numbers packed one after the other. It
// allocates nothing, whatever runs claim.
type hybrid struct {
	b      []byte
	width  int
	run    uint64 // numbers that are left of a run of value
	value  uint32
	packed uint64 // numbers that are left in bits
	bits   []byte
	bit    uint64
}

var errEnd = errors.New("no more numbers")

func (h *hybrid) next() (uint32, error) {
	for {
		switch {
		case h.run > 0:
			h.run--
			return h.value, nil
		case h.packed > 0:
			h.packed--
			if h.bit+uint64(h.width) > 8*uint64(len(h.bits)) {
				return 0, errEnd
			}
			v := uint32(0)
			for i := range h.width {
				if h.bits[h.bit>>3]>>(h.bit&7)&1 == 1 {
					v |= 1 << i
				}
				h.bit++
			}
			return v, nil
		}
		head, n := binary.Uvarint(h.b)
		if n <= 0 {
			return 0, errEnd
		}
		h.b = h.b[n:]
		count := head >> 1
		if head&1 == 1 { // groups of eight; the last may be cut off
			bytes := uint64(len(h.b))
			if w := uint64(h.width); w == 0 || count <= bytes/w {
				bytes = count * w
			}
			if count > 1<<40 {
				return 0, errEnd
			}
			h.packed, h.bits, h.bit, h.b = 8*count, h.b[:bytes], 0, h.b[bytes:]
			continue
		}
		size := (h.width + 7) / 8
		if len(h.b) < size {
			return 0, errEnd
		}
		h.run, h.value = count, 0
		for i := range size {
			h.value |= uint32(h.b[i]) << (8 * i)
		}
		h.b = h.b[size:]
	}
}

// Codecs.
const (
	uncompressed, snappyCodec, gzipCodec, zstdCodec = 0, 1, 2, 6
)

// unpack returns a page that has size bytes when it is unpacked. What it allocates grows with what comes out,
// and that is at most size and a little.
func unpack(codec int64, b []byte, size int) ([]byte, error) {
	var r io.Reader
	switch codec {
	case uncompressed:
		if len(b) != size {
			return nil, fmt.Errorf("it has %d bytes, its header says %d", len(b), size)
		}
		return b, nil
	case snappyCodec:
		n, err := snappy.DecodedLen(b)
		if err != nil || n != size || n > 64*(len(b)+64) { // 22 bytes from one, at most
			return nil, fmt.Errorf("it says that it has %d bytes, its header %d", n, size)
		}
		return snappy.Decode(nil, b)
	case gzipCodec:
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		r = z
	case zstdCodec:
		z, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	default:
		return nil, fmt.Errorf("its compression has the number %d; expected none, Snappy, gzip or Zstandard", codec)
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(size)+1))
	if err == nil && len(out) != size {
		err = fmt.Errorf("it unpacks to more or fewer bytes than the %d that its header says", size)
	}
	return out, err
}

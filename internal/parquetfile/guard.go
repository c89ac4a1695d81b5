package parquetfile

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// parquet-go allocates what a footer, a header or a run claims, before it sees whether the file holds it. The
// functions here look at each claim first.

// Bounds of what is decoded: a structure takes hundreds of bytes of memory and as little as one in the file.
const (
	maxValues      = 1 << 22
	structureCosts = 8
	maxDepth       = 16
)

// plainDictionary is the encoding of dictionaries, and of places in them, in files of old writers.
const plainDictionary format.Encoding = 2

var errCut = errors.New("it ends too early")

// A walker goes over values of Thrift's compact protocol, in which Parquet writes its footer and the headers of
// pages, and decodes none of them.
type walker struct {
	b      []byte // the rest
	values int
}

// decode reads the structure that b begins with into v, a pointer, once the claims of its lists and texts hold. It
// returns how long the structure is.
func decode(b []byte, v any) (length int, err error) {
	w := &walker{b: b}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	length = len(b) - len(w.b)
	return length, thrift.Unmarshal(new(thrift.CompactProtocol), b[:length], v)
}

func (w *walker) skip(n uint64) error {
	if n > uint64(len(w.b)) {
		return errCut
	}
	w.b = w.b[n:]
	return nil
}

func (w *walker) byte() (b byte, err error) {
	if len(w.b) == 0 {
		return 0, errCut
	}
	b, w.b = w.b[0], w.b[1:]
	return b, nil
}

// length reads how many things follow, each of at least a byte.
func (w *walker) length() (uint64, error) {
	v, n := binary.Uvarint(w.b)
	if n <= 0 || v > uint64(len(w.b)-n) {
		return 0, errCut
	}
	w.b = w.b[n:]
	return v, nil
}

func (w *walker) varint() error {
	_, n := binary.Uvarint(w.b)
	if n <= 0 {
		return errCut
	}
	return w.skip(uint64(n))
}

func (w *walker) structure(depth int) error {
	if depth > maxDepth {
		return errors.New("it is nested too deep")
	}
	for {
		head, err := w.byte()
		if err != nil || thrift.Type(head) == thrift.STOP {
			return err
		}
		if head>>4 == 0 {
			if err := w.varint(); err != nil {
				return err
			}
		}
		if kind := thrift.Type(head & 15); kind != thrift.TRUE && kind != thrift.FALSE {
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

func (w *walker) value(kind thrift.Type, depth int) error {
	if w.values++; w.values > maxValues {
		return fmt.Errorf("it has more than %d values; larger row groups make fewer", maxValues)
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE, thrift.I8: // in lists, a byte each
		return w.skip(1)
	case thrift.I16, thrift.I32, thrift.I64:
		return w.varint()
	case thrift.DOUBLE:
		return w.skip(8)
	case thrift.BINARY:
		n, err := w.length()
		if err != nil {
			return err
		}
		return w.skip(n)
	case thrift.LIST, thrift.SET:
		head, err := w.byte()
		n := uint64(head >> 4)
		if err == nil && n == 15 {
			n, err = w.length()
		}
		for ; err == nil && n > 0; n-- {
			err = w.value(thrift.Type(head&15), depth+1)
		}
		return err
	case thrift.STRUCT:
		w.values += structureCosts
		return w.structure(depth + 1)
	}
	return fmt.Errorf("there is no type %d", kind) // Parquet has no maps
}

// check looks at the pages of a chunk of a column with `rows` rows, and returns an error that names an impossible
// claim.
func (f *File) check(c *Column, chunk *format.ColumnChunk, rows int) error {
	fault := func(format string, v ...any) error { return faulty(c.Name, format, v...) }
	meta := &chunk.MetaData
	if chunk.FilePath != "" {
		return fault("its numbers are in another file, %.40q", chunk.FilePath)
	}
	if chunk.CryptoMetadata.Value != nil {
		return fault("it is encrypted")
	}
	from, n := meta.DataPageOffset, meta.TotalCompressedSize
	if at := meta.DictionaryPageOffset; at != 0 {
		if at < 0 || at > from {
			return fault("its footer is damaged: its dictionary is at byte %d, its first page at %d", at, from)
		}
		from = at
	}
	if from < 4 || n < 0 || from > f.size || n > f.size-from || meta.Type != c.physical ||
		meta.NumValues != int64(rows) {
		return fault("its footer is damaged: %d values of type %d in %d bytes from byte %d", meta.NumValues, meta.Type,
			n, from)
	}
	words, seen := -1, 0 // of the dictionary, and rows so far
	var page []byte
	for end := from + n; from < end; {
		header, length, err := f.header(from, end)
		if err != nil {
			return fault("the header of a page at byte %d is damaged: %v", from, err)
		}
		from += int64(length)
		packed, size := int64(header.CompressedPageSize), int64(header.UncompressedPageSize)
		// Numbers of 8 bytes, and whether each is there; a dictionary is no longer than the column.
		if most := min(16*int64(rows)+1<<16, maxPage); packed < 0 || packed > min(end-from, maxPage) || size < 0 ||
			size > most {
			return fault("a page at byte %d says that it has %d bytes, packed in %d of %d; expected at most %d", from,
				size, packed, end-from, most)
		}
		page = slices.Grow(page[:0], int(packed))[:packed]
		if _, err := f.r.ReadAt(page, from); err != nil {
			return err
		}
		from += packed
		switch {
		case header.Type == format.DictionaryPage && words < 0:
			words, err = c.checkDictionary(header, meta.Codec, page, rows)
		case header.Type == format.DataPage || header.Type == format.DataPageV2:
			seen, err = c.checkPage(header, meta.Codec, page, seen, rows, words)
		default:
			err = fmt.Errorf("a page of type %d is not expected", header.Type)
		}
		if err != nil {
			return fault("%v", err)
		}
	}
	if seen != rows {
		return fault("it has %d of %d rows", seen, rows)
	}
	return nil
}

// header reads that of the page at a byte of a chunk that ends at another. It asks for more of the file only where a
// header is long: pages may be many and small.
func (f *File) header(from, end int64) (*format.PageHeader, int, error) {
	var b []byte
	for n := int64(256); ; n *= 4 {
		b = slices.Grow(b[:0], int(min(end-from, n, maxHeader)))[:min(end-from, n, maxHeader)]
		if _, err := f.r.ReadAt(b, from); err != nil {
			return nil, 0, err
		}
		header := new(format.PageHeader)
		if length, err := decode(b, header); err == nil || n >= min(end-from, maxHeader) {
			return header, length, err
		}
	}
}

func (c *Column) checkDictionary(h *format.PageHeader, codec format.CompressionCodec, page []byte, rows int) (int,
	error) {
	n, encoding := int(h.DictionaryPageHeader.V.NumValues), h.DictionaryPageHeader.V.Encoding
	if n < 0 || n > rows || encoding != format.Plain && encoding != plainDictionary {
		return 0, fmt.Errorf("its dictionary has %d values of %d, and the encoding %d", n, rows, encoding)
	}
	page, err := unpack(codec, page, int(h.UncompressedPageSize))
	if err == nil && len(page) != n*c.width() {
		err = fmt.Errorf("its dictionary of %d values has %d bytes", n, len(page))
	}
	return n, err
}

// checkPage returns how many rows there are up to the page's end.
func (c *Column) checkPage(h *format.PageHeader, codec format.CompressionCodec, page []byte, seen, rows, words int) (
	int, error) {
	n, encoding, size := int(h.DataPageHeader.V.NumValues), h.DataPageHeader.V.Encoding, int(h.UncompressedPageSize)
	var there []byte // whether values are there
	coded, v2 := true, h.Type == format.DataPageV2
	if v2 { // whose levels are not compressed
		d := &h.DataPageHeaderV2.V
		n, encoding, coded = int(d.NumValues), d.Encoding, !d.IsCompressed.Valid || d.IsCompressed.V
		levels := int(d.DefinitionLevelsByteLength)
		if d.RepetitionLevelsByteLength != 0 || levels < 0 || levels > min(len(page), size) ||
			levels > 0 && !c.optional {
			return 0, fmt.Errorf("a page has %d bytes of repetitions and %d of what is there",
				d.RepetitionLevelsByteLength, levels)
		}
		there, page, size = page[:levels], page[levels:], size-levels
	}
	if n < 0 || n > rows-seen {
		return 0, fmt.Errorf("a page says that it has %d values of %d", n, rows-seen)
	}
	if !coded {
		codec = format.Uncompressed
	}
	page, err := unpack(codec, page, size)
	if err != nil {
		return 0, err
	}
	if c.optional && !v2 {
		if e := h.DataPageHeader.V.DefinitionLevelEncoding; e != format.RLE {
			return 0, fmt.Errorf("a page says by the encoding %d what is there; expected runs (%d)", e, format.RLE)
		}
		if len(page) < 4 || uint64(binary.LittleEndian.Uint32(page)) > uint64(len(page)-4) {
			return 0, errors.New("a page is cut off")
		}
		levels := binary.LittleEndian.Uint32(page)
		there, page = page[4:4+levels], page[4+levels:]
	}
	if c.optional {
		if err := runs(there, 1, n); err != nil {
			return 0, err
		}
	}
	switch encoding {
	case format.Plain, format.ByteStreamSplit:
		if len(page)%c.width() != 0 || len(page) > n*c.width() || !c.optional && len(page) != n*c.width() {
			return 0, fmt.Errorf("a page of %d values has %d bytes", n, len(page))
		}
	case plainDictionary, format.RLEDictionary:
		if len(page) > 0 && page[0] > 32 || words < 0 {
			return 0, errors.New("a page has places in no dictionary, or of more than 32 bits")
		}
		if len(page) > 0 {
			err = runs(page[1:], int(page[0]), n)
		}
	default:
		name := map[format.Encoding]string{5: "delta (DELTA_BINARY_PACKED)", 6: "delta", 7: "delta"}[encoding]
		err = fmt.Errorf("a page has the encoding %s, number %d; expected plain, dictionary or byte-stream-split "+
			"(column_encoding in pyarrow)", cmp.Or(name, "unknown"), encoding)
	}
	return seen + n, err
}

// runs says where runs of one number, and of numbers of width bits packed one after the other, stand for more than n
// numbers and the rest of a pack of eight.
func runs(b []byte, width, n int) error {
	for left := uint64(n); len(b) > 0; {
		head, k := binary.Uvarint(b)
		if k <= 0 || head>>1 > left+7 {
			return fmt.Errorf("a page of %d values has runs of more", n)
		}
		b = b[k:]
		count, size := head>>1, uint64(width+7)/8
		if head&1 == 1 {
			count, size = 8*count, count*uint64(width)
		}
		if size > uint64(len(b)) || count > left+7 {
			return fmt.Errorf("a page of %d values is cut off, or has runs of more", n)
		}
		b, left = b[size:], left-min(left, count)
	}
	return nil
}

// unpack returns a page that has size bytes when it is unpacked. What it allocates grows with what comes out,
// and that is at most size and a little.
func unpack(codec format.CompressionCodec, b []byte, size int) (out []byte, err error) {
	var r io.Reader
	switch codec {
	case format.Uncompressed:
		out = b
	case format.Snappy:
		n, err := snappy.DecodedLen(b)
		if err != nil || n != size || n > 64*(len(b)+64) { // 22 bytes from one, at most
			return nil, fmt.Errorf("a page says that it has %d bytes, its header %d", n, size)
		}
		out, err = snappy.Decode(nil, b)
		if err != nil {
			return nil, fmt.Errorf("a page cannot be unpacked: %w", err)
		}
	case format.Gzip:
		r, err = gzip.NewReader(bytes.NewReader(b))
	case format.Zstd:
		var z *zstd.Decoder
		if z, err = zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(64<<20)); err == nil {
			defer z.Close()
			r = z
		}
	default:
		name := map[format.CompressionCodec]string{format.Brotli: "Brotli", format.Lz4Raw: "LZ4", 5: "LZ4",
			3: "LZO"}[codec]
		return nil, fmt.Errorf("its compression is %s (number %d); expected none, Snappy, gzip or Zstandard: "+
			"compression='snappy' in pandas or pyarrow", cmp.Or(name, "unknown"), codec)
	}
	if r != nil && err == nil {
		out, err = io.ReadAll(io.LimitReader(r, int64(size)+1))
	}
	if err == nil && len(out) != size {
		err = fmt.Errorf("it unpacks to more or fewer bytes than the %d that its header says", size)
	}
	if err != nil {
		return nil, fmt.Errorf("a page cannot be unpacked: %w", err)
	}
	return out, nil
}

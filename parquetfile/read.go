// Package parquetfile reads and writes tables of numbers in Parquet files
// (github.com/apache/parquet-format).
//
// Files are written by parquet-go. They are read by the code here, which takes files that nobody vouches for:
// it checks every claim of a footer or header before it acts on it, and its memory grows with what a file
// holds, where general readers allocate what headers claim. It reads flat columns of numbers, in plain,
// dictionary and byte-stream-split encoding, uncompressed or by Snappy, gzip or Zstandard: what the usual
// programs write by default.
//
// It is not for nested columns, words, dates or decimals: a Column says so by name.
package parquetfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// An Error says what is wrong with a file, and where.
type Error struct {
	Column string // empty: not of one column
	Fault  string
}

func (e *Error) Error() string {
	if e.Column == "" {
		return e.Fault
	}
	return fmt.Sprintf("column %q: %s", e.Column, e.Fault)
}

// A NumberError is a whole number that float64 does not hold: it lies beyond ±2⁵³.
type NumberError struct {
	Column string
	Row    int // from 0
	Value  string
}

func (e *NumberError) Error() string {
	return fmt.Sprintf("row %d (from 0), column %q is %s; expected a whole number of at most 2^53, beyond which "+
		"float64 rounds", e.Row, e.Column, e.Value)
}

func faulty(column, format string, v ...any) error { return &Error{column, fmt.Sprintf(format, v...)} }

// A Kind is what a column holds.
type Kind int

// Kinds of columns. Only Numbers can be read.
const (
	Numbers Kind = iota
	Words
	Nested
	Other // dates, times, decimals, bytes
)

// A Column is one of a file.
type Column struct {
	Name string
	Kind Kind
	Type string // in words: "float64", "a string", "a list"

	leaf     int // among the leaves of the schema
	physical int64
	optional bool
	unsigned bool
}

// A File is an opened file.
type File struct {
	Rows    int
	Columns []Column

	r      io.ReaderAt
	size   int64
	groups []group
	leaves int
}

type group struct {
	rows   int
	chunks []value // by leaf
}

// Bounds of files.
const (
	maxFooter  = 64 << 20
	maxHeader  = 1 << 16 // bytes of a page's header
	maxPage    = 1 << 29 // bytes of a page; usual programs make them of about 1 MB
	maxColumns = 1 << 16
	maxRows    = 1 << 40
	magic      = "PAR1"
)

// Physical types.
const (
	boolean, int32s, int64s, int96, float, double, byteArray, fixed = 0, 1, 2, 3, 4, 5, 6, 7
)

// Open reads the footer of a file of so many bytes. The error is an *Error or that of r.
func Open(r io.ReaderAt, size int64) (*File, error) {
	if size < 12 {
		return nil, faulty("", "it has %d bytes, too few for a Parquet file", size)
	}
	var head [4]byte
	var tail [8]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return nil, err
	}
	if string(head[:]) != magic || string(tail[4:]) != magic {
		if string(tail[4:]) == "PARE" {
			return nil, faulty("", "it is encrypted")
		}
		return nil, faulty("", "it does not begin and end with %s as Parquet files do", magic)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > maxFooter || n > size-12 {
		return nil, faulty("", "its footer has %d bytes in a file of %d; expected at most %d", n, size, maxFooter)
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-8-n); err != nil {
		return nil, err
	}
	meta, err := (&decoder{b: footer}).structure(0)
	if err != nil {
		return nil, faulty("", "its footer is damaged: %v", err)
	}
	f := &File{r: r, size: size}
	if err := f.schema(meta.field(2)); err != nil {
		return nil, err
	}
	return f, f.rowGroups(&meta)
}

// schema makes Columns of the elements of the schema, a tree in depth-first order.
func (f *File) schema(elements *value) error {
	if elements == nil || len(elements.list) < 2 {
		return faulty("", "its footer is damaged: it has no columns")
	}
	list := elements.list
	at := 1
	for range list[0].int(5, 0) {
		if at >= len(list) || len(f.Columns) == maxColumns {
			return faulty("", "its footer is damaged: columns are missing, or more than %d", maxColumns)
		}
		e := &list[at]
		c := Column{leaf: f.leaves, physical: e.int(1, -1), optional: e.int(3, 0) == 1}
		if name := e.field(4); name != nil {
			c.Name = string(name.bytes)
		}
		c.describe(e)
		// The leaves below it, and what follows them.
		for open := 1; open > 0; open-- {
			if at >= len(list) {
				return faulty(c.Name, "its footer is damaged: parts of it are missing")
			}
			switch n := list[at].int(5, 0); {
			case n < 0 || n > int64(len(list)):
				return faulty(c.Name, "its footer is damaged: it has %d parts", n)
			case n == 0:
				f.leaves++
			default:
				open += int(n)
			}
			at++
		}
		f.Columns = append(f.Columns, c)
	}
	if at != len(list) || len(f.Columns) == 0 {
		return faulty("", "its footer is damaged: it has %d parts of columns, and uses %d", len(list), at)
	}
	return nil
}

// describe says what a column holds, by its element of the schema.
func (c *Column) describe(e *value) {
	converted, logical := e.int(6, -1), e.field(10)
	of := 0 // LogicalType is a union
	if logical != nil && len(logical.fields) > 0 {
		of = logical.fields[0].id
	}
	set := func(k Kind, name string) { c.Kind, c.Type = k, name }
	switch {
	case e.int(5, 0) > 0:
		set(Nested, "a structure")
	case e.int(3, 0) == 2:
		set(Nested, "a list")
	case c.physical == byteArray && (of == 1 || of == 4 || of == 12 || converted == 0 || converted == 4):
		set(Words, "a string")
	case c.physical == byteArray, c.physical == fixed:
		set(Words, "bytes")
	case c.physical == int96, of == 8, converted == 9, converted == 10:
		set(Other, "a time stamp")
	case of == 6, converted == 6:
		set(Other, "a date")
	case of == 7, converted == 7, converted == 8:
		set(Other, "a time")
	case of == 5, converted == 5:
		set(Other, "a decimal")
	case of != 0 && of != 10:
		set(Other, fmt.Sprintf("of a logical type that is no number (%d)", of))
	case c.physical == boolean:
		set(Other, "a boolean")
	case c.physical == float:
		set(Numbers, "float32")
	case c.physical == double:
		set(Numbers, "float64")
	case c.physical == int32s, c.physical == int64s:
		c.unsigned = converted >= 11 && converted <= 14
		if of == 10 {
			c.unsigned = logical.fields[0].int(2, 1) == 0
		}
		set(Numbers, "whole numbers")
	default:
		set(Other, fmt.Sprintf("of a type that is not known (%d)", c.physical))
	}
}

func (f *File) rowGroups(meta *value) error {
	rows, groups := meta.int(3, -1), meta.field(4)
	if rows < 0 || rows > maxRows {
		return faulty("", "its footer says that it has %d rows", rows)
	}
	f.Rows = int(rows)
	sum := int64(0)
	if groups != nil {
		for i := range groups.list {
			g := &groups.list[i]
			n, chunks := g.int(3, -1), g.field(1)
			if n < 0 || n > rows || chunks == nil || len(chunks.list) != f.leaves {
				return faulty("", "its footer is damaged: row group %d has %d rows, or not all columns", i, n)
			}
			sum += n
			if sum > rows {
				break
			}
			f.groups = append(f.groups, group{int(n), chunks.list})
		}
	}
	if sum != rows {
		return faulty("", "its footer says that it has %d rows, and row groups of %d", rows, sum)
	}
	return nil
}

// plausible bounds the numbers that a file of a size can stand for: dictionaries make much of few bytes, but
// not this much.
func plausible(size int64) float64 { return 1<<20 + 4096*float64(size) }

// Read returns columns, by their places in Columns, as rows of numbers: Rows×len(columns). A number that is
// missing is NaN. There may be at most limit numbers. The error is an *Error, a *NumberError or that of the file.
func (f *File) Read(columns []int, limit int) ([]float64, error) {
	return f.ReadAll(columns, limit, func(e *NumberError, _ int) error { return e })
}

// ReadAll is Read which asks beyond, of each whole number that float64 does not hold, whether that is an error, and
// else reads it as NaN: k is its place in columns.
func (f *File) ReadAll(columns []int, limit int, beyond func(e *NumberError, k int) error) ([]float64, error) {
	if n := float64(f.Rows) * float64(len(columns)); n > float64(limit) || n > plausible(f.size) {
		return nil, faulty("", "it has %d rows of %d numbers in %d bytes; expected at most %d numbers", f.Rows,
			len(columns), f.size, limit)
	}
	for _, c := range columns {
		if c := f.Columns[c]; c.Kind != Numbers {
			return nil, faulty(c.Name, "it is %s; expected numbers", c.Type)
		}
	}
	x := make([]float64, f.Rows*len(columns))
	var buf []byte
	for j, c := range columns {
		at := 0
		for _, g := range f.groups {
			if g.rows == 0 {
				continue
			}
			r := &chunk{f: f, column: &f.Columns[c], first: at, rows: g.rows, dst: x[at*len(columns)+j:],
				stride: len(columns), beyond: func(e *NumberError) error { return beyond(e, j) }, buf: buf}
			if err := r.read(&g.chunks[r.column.leaf]); err != nil {
				return nil, err
			}
			buf = r.buf
			at += g.rows
		}
	}
	return x, nil
}

// chunk is a column of a row group as it is read.
type chunk struct {
	f      *File
	column *Column
	first  int // row of the file
	rows   int
	dst    []float64 // row i goes to i·stride
	stride int
	beyond func(*NumberError) error

	done  int
	codec int64
	words []word // of the dictionary
	buf   []byte // of the present page
}

// A word is a number of a dictionary.
type word struct {
	v     float64
	whole string // what v rounds
}

func (c *chunk) fault(format string, v ...any) error { return faulty(c.column.Name, format, v...) }

// Types of pages.
const (
	pageData, pageIndex, pageDictionary, pageData2 = 0, 1, 2, 3
)

func (c *chunk) read(of *value) error {
	if path := of.field(1); path != nil {
		return c.fault("its numbers are in another file, %.40q", path.bytes)
	}
	meta := of.field(3)
	if meta == nil || of.field(8) != nil {
		return c.fault("it is encrypted, or its description is missing")
	}
	from, n := meta.int(9, -1), meta.int(7, -1)
	if dictionary := meta.int(11, 0); dictionary > 0 && dictionary < from {
		from = dictionary
	}
	c.codec = meta.int(4, 0)
	if from < 4 || n < 0 || from > c.f.size || n > c.f.size-from || meta.int(1, -1) != c.column.physical ||
		meta.int(5, -1) != int64(c.rows) {
		return c.fault("its footer is damaged: %d values of type %d in %d bytes from byte %d", meta.int(5, -1),
			meta.int(1, -1), n, from)
	}
	for end := from + n; c.done < c.rows; {
		header, length, err := c.header(from, end)
		if err != nil {
			return err
		}
		from += length
		packed, size := header.int(3, -1), header.int(2, -1)
		// Numbers of 8 bytes, and whether each is there; a dictionary is no longer than the column.
		most := min(16*int64(c.rows)+1<<16, maxPage)
		if packed < 0 || packed > min(end-from, maxPage) || size < 0 || size > most {
			return c.fault("a page at byte %d says that it has %d bytes, packed in %d of %d; expected at most %d", from,
				size, packed, end-from, most)
		}
		c.buf = slices.Grow(c.buf[:0], int(packed))[:packed]
		if _, err := c.f.r.ReadAt(c.buf, from); err != nil {
			return err
		}
		from += packed
		if err := c.page(&header, c.buf, int(size)); err != nil {
			return err
		}
	}
	return nil
}

// header reads that of the page at a byte of a chunk that ends at another, and returns its length. It asks for more of
// the file only where a header is long: pages may be many and small.
func (c *chunk) header(from, end int64) (header value, length int64, err error) {
	for n := int64(256); ; n *= 4 {
		c.buf = slices.Grow(c.buf[:0], maxHeader)[:min(end-from, n)]
		if _, err := c.f.r.ReadAt(c.buf, from); err != nil {
			return header, 0, err
		}
		d := &decoder{b: c.buf}
		if header, err = d.structure(0); err == nil {
			return header, int64(d.at), nil
		}
		if n >= min(end-from, maxHeader) {
			return header, 0, c.fault("the header of a page at byte %d is damaged: %v", from, err)
		}
	}
}

func (c *chunk) page(header *value, page []byte, size int) error {
	kind := header.int(1, -1)
	of := header.field(map[int64]int{pageData: 5, pageDictionary: 7, pageData2: 8}[kind])
	if kind == pageIndex {
		return nil
	}
	n := of.int(1, -1)
	if of == nil || n < 0 || n > int64(c.rows) || kind != pageDictionary && n > int64(c.rows-c.done) {
		return c.fault("a page of type %d says that it has %d values of %d", kind, n, c.rows-c.done)
	}
	var there []byte // whether values are there
	coded := true
	if kind == pageData2 { // whose levels are not compressed
		levels, repeats := of.int(5, 0), of.int(6, 0)
		if repeats != 0 || levels < 0 || levels > int64(len(page)) || levels > int64(size) {
			return c.fault("a page has %d bytes of repetitions and %d of what is there", repeats, levels)
		}
		there, page, size = page[:levels], page[levels:], size-int(levels)
		coded = of.int(7, 1) == 1
	}
	if coded {
		var err error
		if page, err = unpack(c.codec, page, size); err != nil {
			return c.fault("a page cannot be unpacked: %v", err)
		}
	}
	if kind == pageDictionary {
		if c.words != nil {
			return c.fault("it has two dictionaries")
		}
		if e := of.int(2, 0); e != plain && e != plainDictionary {
			return c.fault("its dictionary has the encoding %d", e)
		}
		if c.words = c.column.plain(page, int(n)); c.words == nil {
			return c.fault("its dictionary of %d values has %d bytes", n, len(page))
		}
		return nil
	}
	encoding := of.int(2, 0)
	if kind == pageData2 {
		encoding = of.int(4, 0)
	} else if c.column.optional {
		if len(page) < 4 {
			return c.fault("a page is cut off")
		}
		if e := of.int(3, levelsRuns); e != levelsRuns {
			return c.fault("a page says by the encoding %d what is there; expected runs (%d)", e, levelsRuns)
		}
		levels := int64(binary.LittleEndian.Uint32(page))
		if page = page[4:]; levels > int64(len(page)) {
			return c.fault("a page has %d bytes of what is there, of %d", levels, len(page))
		}
		there, page = page[:levels], page[levels:]
	}
	return c.values(there, page, int(n), encoding)
}

// Encodings.
const (
	plain, plainDictionary, dictionary, split = 0, 2, 8, 9
	levelsRuns                                = 3
)

// values writes the numbers of a page of n rows.
func (c *chunk) values(there, page []byte, n int, encoding int64) error {
	next, err := c.source(page, n, encoding)
	if err != nil {
		return err
	}
	levels := &hybrid{b: there, width: 1}
	for range n {
		v := word{v: math.NaN()}
		is := uint32(1)
		if c.column.optional {
			if is, err = levels.next(); err != nil {
				return c.fault("a page does not say of all its %d rows whether they are there", n)
			}
		}
		if is == 1 {
			if v, err = next(); err != nil {
				return err
			}
		}
		if v.whole != "" {
			if err := c.beyond(&NumberError{c.column.Name, c.first + c.done, v.whole}); err != nil {
				return err
			}
			v.v = math.NaN()
		}
		c.dst[c.done*c.stride] = v.v
		c.done++
	}
	return nil
}

// source returns the numbers of a page, one after the other.
func (c *chunk) source(page []byte, n int, encoding int64) (next func() (word, error), err error) {
	width := c.column.width()
	short := func() error { return c.fault("a page of %d values is cut off", n) }
	at := 0
	switch encoding {
	case plain:
		return func() (word, error) {
			if len(page)-at < width {
				return word{}, short()
			}
			at += width
			return c.column.number(page[at-width:]), nil
		}, nil
	case split: // the first bytes of all numbers, then the second ones, …
		if len(page)%width != 0 {
			return nil, short()
		}
		stride, b := len(page)/width, make([]byte, width)
		return func() (word, error) {
			if at == stride {
				return word{}, short()
			}
			for i := range b {
				b[i] = page[i*stride+at]
			}
			at++
			return c.column.number(b), nil
		}, nil
	case dictionary, plainDictionary:
		if len(page) == 0 {
			return func() (word, error) { return word{}, short() }, nil // all are missing
		}
		if page[0] > 32 {
			return nil, c.fault("a page has places in a dictionary of %d bits", page[0])
		}
		places := &hybrid{b: page[1:], width: int(page[0])}
		return func() (word, error) {
			k, err := places.next()
			if err != nil {
				return word{}, short()
			}
			if int64(k) >= int64(len(c.words)) {
				return word{}, c.fault("a page names value %d of a dictionary of %d", k, len(c.words))
			}
			return c.words[k], nil
		}, nil
	}
	return nil, c.fault("a page has the encoding %d; expected plain, dictionary or byte-stream-split (write the file "+
		"without delta encodings)", encoding)
}

func (c *Column) width() int {
	if c.physical == int64s || c.physical == double {
		return 8
	}
	return 4
}

// number reads the number that b begins with.
func (c *Column) number(b []byte) word {
	switch c.physical {
	case float:
		return word{v: float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))}
	case double:
		return word{v: math.Float64frombits(binary.LittleEndian.Uint64(b))}
	case int32s:
		if u := binary.LittleEndian.Uint32(b); c.unsigned {
			return word{v: float64(u)}
		} else {
			return word{v: float64(int32(u))}
		}
	}
	const exact = 1 << 53
	u := binary.LittleEndian.Uint64(b)
	if c.unsigned {
		if u > exact {
			return word{whole: strconv.FormatUint(u, 10)}
		}
		return word{v: float64(u)}
	}
	if v := int64(u); v < -exact || v > exact {
		return word{whole: strconv.FormatInt(v, 10)}
	}
	return word{v: float64(int64(u))}
}

// plain returns n numbers; nil: there are not as many.
func (c *Column) plain(b []byte, n int) []word {
	if len(b) < n*c.width() {
		return nil
	}
	dst := make([]word, 0, n)
	for i := range n {
		dst = append(dst, c.number(b[i*c.width():]))
	}
	return dst
}

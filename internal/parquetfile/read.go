// Package parquetfile reads and writes tables of numbers in Parquet files
// (github.com/apache/parquet-format) by parquet-go.
//
// Files to read may come from anybody. parquet-go allocates what headers claim, so each claim is checked first, and
// what it panics with is an error. Read are flat columns of numbers, in plain, dictionary and byte-stream-split
// encoding, uncompressed or by Snappy, gzip or Zstandard: what the usual programs write by default. Nested columns,
// words, dates and decimals are not read: a Column says so by name.
package parquetfile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
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

// A Column is one of a file.
type Column struct {
	Name string
	Type string // in words: "float64", "a string", "a list"
	// Numbers says that it can be read: it holds numbers, one a row.
	Numbers bool

	leaf     int // among the leaves of the schema
	physical format.Type
	logical  format.LogicalTypeValue
	optional bool
	unsigned bool
}

// A File is an opened file.
type File struct {
	Rows    int
	Columns []Column

	r    io.ReaderAt
	size int64
	file *parquet.File
}

// Bounds of files.
const (
	maxFooter  = 64 << 20
	maxHeader  = 1 << 16 // bytes of a page's header
	maxPage    = 1 << 29 // bytes of a page; usual programs make them of about 1 MB
	maxColumns = 1 << 16
	maxRows    = 1 << 40
	maxNested  = 64 // columns in columns
	magic      = "PAR1"
)

// Open reads the footer of a file of `size` bytes. The error is an *Error or that of r.
func Open(r io.ReaderAt, size int64) (f *File, err error) {
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
	defer recovered("", &err)
	meta := new(format.FileMetaData)
	if _, err := decode(footer, meta); err != nil {
		return nil, faulty("", "its footer is damaged: %v", err)
	}
	f = &File{r: r, size: size}
	leaves, err := f.schema(meta.Schema)
	if err != nil {
		return nil, err
	}
	if err := f.rowGroups(meta, leaves); err != nil {
		return nil, err
	}
	f.file, err = parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, faulty("", "it is damaged: %v", err)
	}
	for i, of := range f.file.Root().Columns() {
		f.Columns[i].describe(of)
	}
	return f, nil
}

// recovered makes an error of what parquet-go panics with at a damaged file.
func recovered(column string, err *error) {
	if v := recover(); v != nil {
		*err = faulty(column, "it is damaged: %v", v)
	}
}

// schema makes Columns of the elements of the schema, a tree in depth-first order, and returns how many leaves it has.
func (f *File) schema(list []format.SchemaElement) (leaves int, err error) {
	if len(list) < 2 {
		return 0, faulty("", "its footer is damaged: it has no columns")
	}
	at := 1
	for range list[0].NumChildren.V {
		if at >= len(list) || len(f.Columns) == maxColumns {
			return 0, faulty("", "its footer is damaged: columns are missing, or more than %d", maxColumns)
		}
		e := &list[at]
		c := Column{Name: e.Name, leaf: leaves, physical: e.Type.V, logical: e.LogicalType.Value,
			optional: e.RepetitionType.Valid && e.RepetitionType.V == format.Optional}
		// The leaves below it, and what follows them.
		first := at
		for open := 1; open > 0; open-- {
			if at >= len(list) || at-first > maxNested {
				return 0, faulty(c.Name, "its footer is damaged: parts of it are missing, or more than %d", maxNested)
			}
			switch n := list[at].NumChildren.V; {
			case n < 0 || int(n) > len(list):
				return 0, faulty(c.Name, "its footer is damaged: it has %d parts", n)
			case n == 0 && !list[at].Type.Valid:
				return 0, faulty(c.Name, "its footer is damaged: it has no type")
			case n == 0:
				leaves++
			default:
				open += int(n)
			}
			at++
		}
		f.Columns = append(f.Columns, c)
	}
	if at != len(list) || len(f.Columns) == 0 {
		return 0, faulty("", "its footer is damaged: it has %d parts of columns, and uses %d", len(list), at)
	}
	return leaves, nil
}

// Columns in words: by their logical type, and where they have none by the physical one.
var (
	logicalTypes = map[string]string{"STRING": "a string", "ENUM": "a string", "JSON": "a string", "DATE": "a date",
		"TIME": "a time", "TIMESTAMP": "a time stamp", "DECIMAL": "a decimal", "FLOAT16": "float16"}
	physicalTypes = map[format.Type]string{format.Boolean: "a boolean", format.Int96: "a time stamp"}
	numberTypes   = map[format.Type]string{format.Float: "float32", format.Double: "float64",
		format.Int32: "whole numbers", format.Int64: "whole numbers"}
)

// describe says what a column holds.
func (c *Column) describe(of *parquet.Column) {
	logical := c.logical // parquet-go knows no float16, and its own is of older files too
	if logical == nil && of.Leaf() && of.Type().LogicalType() != nil {
		logical = of.Type().LogicalType().Value
	}
	whole, isWhole := logical.(*format.IntType)
	switch {
	case !of.Leaf():
		c.Type = "a structure"
	case of.Repeated():
		c.Type = "a list"
	case logical != nil && !isWhole:
		name, _, _ := strings.Cut(logical.String(), "(")
		c.Type = cmp.Or(logicalTypes[name], "of a logical type that is no number, "+logical.String())
	default:
		c.unsigned, c.Numbers = isWhole && !whole.IsSigned, numberTypes[c.physical] != ""
		c.Type = cmp.Or(numberTypes[c.physical], physicalTypes[c.physical], "bytes")
	}
}

func (f *File) rowGroups(meta *format.FileMetaData, leaves int) error {
	rows := meta.NumRows
	if rows < 0 || rows > maxRows {
		return faulty("", "its footer says that it has %d rows", rows)
	}
	f.Rows = int(rows)
	sum := int64(0)
	for i := range meta.RowGroups {
		g := &meta.RowGroups[i]
		if g.NumRows < 0 || g.NumRows > rows || len(g.Columns) != leaves {
			return faulty("", "its footer is damaged: row group %d has %d rows, or not all columns", i, g.NumRows)
		}
		if sum += g.NumRows; sum > rows {
			break
		}
	}
	if sum != rows {
		return faulty("", "its footer says that it has %d rows, and row groups of %d", rows, sum)
	}
	return nil
}

// Read returns columns, by their places in Columns, as rows of numbers: Rows×len(columns). A number that is
// missing is NaN. There may be at most limit numbers. The error is an *Error, a *NumberError or that of the file.
func (f *File) Read(columns []int, limit int) ([]float64, error) {
	return f.ReadAll(columns, limit, func(e *NumberError, _ int) error { return e })
}

// ReadAll is Read which asks beyond, of each whole number that float64 does not hold, whether that is an error, and
// else reads it as NaN: k is its place in columns.
func (f *File) ReadAll(columns []int, limit int, beyond func(e *NumberError, k int) error) ([]float64, error) {
	// Dictionaries make much of few bytes, but not as much as the second bound.
	if n := float64(f.Rows) * float64(len(columns)); n > min(float64(limit), 1<<20+4096*float64(f.size)) {
		return nil, faulty("", "it has %d rows of %d numbers in %d bytes; expected at most %d numbers", f.Rows,
			len(columns), f.size, limit)
	}
	for _, c := range columns {
		if c := f.Columns[c]; !c.Numbers {
			return nil, faulty(c.Name, "it is %s; expected numbers", c.Type)
		}
	}
	x := make([]float64, f.Rows*len(columns))
	for j, c := range columns {
		r := reader{column: &f.Columns[c], dst: x, at: j, stride: len(columns),
			beyond: func(e *NumberError) error { return beyond(e, j) }}
		for i, g := range f.file.RowGroups() {
			if g.NumRows() == 0 {
				continue
			}
			chunk := &f.file.Metadata().RowGroups[i].Columns[r.column.leaf]
			if err := f.check(r.column, chunk, int(g.NumRows())); err != nil {
				return nil, err
			}
			if err := r.read(g.ColumnChunks()[r.column.leaf].Pages(), r.done+int(g.NumRows())); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}

// A reader writes a column to dst, row i to i·stride + at.
type reader struct {
	column *Column
	dst    []float64
	at     int
	stride int
	beyond func(*NumberError) error
	done   int
}

// read writes the pages of a row group, whose claims hold, up to a row.
func (r *reader) read(pages parquet.Pages, end int) (err error) {
	defer recovered(r.column.Name, &err)
	defer pages.Close()
	for r.done < end {
		page, err := pages.ReadPage()
		if err != nil {
			return faulty(r.column.Name, "a page cannot be read: %v", err)
		}
		n, places, levels := int(page.NumValues()), []int32(nil), page.DefinitionLevels()
		data, at := page.Data(), 0
		words := page.Dictionary()
		if words != nil {
			places, data = data.Int32(), words.Page().Data()
		}
		if n == 0 || n > end-r.done {
			parquet.Release(page)
			if n == 0 {
				continue
			}
			return faulty(r.column.Name, "a page has %d values of %d", n, end-r.done)
		}
		number := r.column.numbers(data)
		for i := range n {
			v, whole := math.NaN(), ""
			if !r.column.optional || levels[i] == 1 {
				k := at
				if words != nil {
					k = int(places[at])
				}
				v, whole = number(k)
				at++
			}
			if whole != "" {
				if err := r.beyond(&NumberError{r.column.Name, r.done, whole}); err != nil {
					return err
				}
			}
			r.dst[r.done*r.stride+r.at] = v
			r.done++
		}
		parquet.Release(page)
	}
	return nil
}

// width is how many bytes a number has.
func (c *Column) width() int {
	if c.physical == format.Int64 || c.physical == format.Double {
		return 8
	}
	return 4
}

// numbers returns the values of a page, by their places: NaN and the value in words where float64 rounds it.
func (c *Column) numbers(data encoding.Values) func(i int) (v float64, whole string) {
	const exact = 1 << 53
	switch c.physical {
	case format.Float:
		x := data.Float()
		return func(i int) (float64, string) { return float64(x[i]), "" }
	case format.Double:
		x := data.Double()
		return func(i int) (float64, string) { return x[i], "" }
	case format.Int32:
		x := data.Int32()
		return func(i int) (float64, string) {
			if c.unsigned {
				return float64(uint32(x[i])), ""
			}
			return float64(x[i]), ""
		}
	}
	x := data.Int64()
	return func(i int) (float64, string) {
		switch v := x[i]; {
		case c.unsigned && uint64(v) > exact:
			return math.NaN(), strconv.FormatUint(uint64(v), 10)
		case !c.unsigned && (v < -exact || v > exact):
			return math.NaN(), strconv.FormatInt(v, 10)
		default:
			return float64(v), ""
		}
	}
}

// handRows is how many rows are handed on at a time, pages end where they do; groupRows how many rows a row group
// has, all but the last, however rows come. Rows of more than wide columns have an eighth and a quarter of that: a
// row group is kept in memory, and a file of many has a long footer.
const (
	handRows  = 1024
	groupRows = 1 << 16
	wide      = 256
)

// A Writer writes rows of float64 numbers. It keeps a row group of them in memory, and the bytes that it writes
// are a function of names and rows alone.
type Writer struct {
	w     *parquet.GenericWriter[any]
	d     int
	most  int       // rows of a row group
	group int       // rows in the present one
	held  []float64 // as many rows as are handed on at a time
	rows  []parquet.Row
}

// ordered is a group of columns in an order of their own.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func (o ordered) Fields() []parquet.Field { return o.fields }

// NewWriter begins a file with columns of these names, which must differ.
func NewWriter(w io.Writer, names []string) *Writer {
	group := parquet.Group{}
	for _, name := range names {
		group[name] = parquet.Leaf(parquet.DoubleType)
	}
	if len(group) != len(names) || len(names) == 0 {
		panic("parquetfile: columns without names of their own")
	}
	place := map[string]int{}
	for i, name := range names {
		place[name] = i
	}
	fields := group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int { return place[a.Name()] - place[b.Name()] })
	schema := parquet.NewSchema("points", ordered{group, fields})
	hand, most := handRows, groupRows
	if len(names) > wide {
		hand, most = handRows/8, groupRows/4
	}
	rows := make([]parquet.Row, hand)
	for i := range rows {
		rows[i] = make(parquet.Row, len(names))
	}
	return &Writer{d: len(names), most: most, rows: rows, held: make([]float64, 0, hand*len(names)),
		w: parquet.NewGenericWriter[any](w, schema, parquet.CreatedBy("landing", "1", ""),
			parquet.DataPageStatistics(false),
			parquet.MaxRowsPerRowGroup(int64(most)))}
}

// Write appends rows of as many numbers as there are columns.
func (w *Writer) Write(x []float64) error {
	for len(x) > 0 {
		n := min(len(x), cap(w.held)-len(w.held))
		w.held, x = append(w.held, x[:n]...), x[n:]
		if len(w.held) == cap(w.held) {
			if err := w.hand(); err != nil {
				return err
			}
		}
	}
	return nil
}

// hand hands on what is held.
func (w *Writer) hand() error {
	n := len(w.held) / w.d
	for i := range n {
		for j := range w.d {
			w.rows[i][j] = parquet.DoubleValue(w.held[i*w.d+j]).Level(0, 0, j)
		}
	}
	w.held = w.held[:0]
	if _, err := w.w.WriteRows(w.rows[:n]); err != nil {
		return err
	}
	if w.group += n; w.group < w.most {
		return nil
	}
	w.group = 0
	return w.w.Flush()
}

// Close writes what is left and the footer.
func (w *Writer) Close() error {
	if len(w.held) > 0 {
		if err := w.hand(); err != nil {
			return err
		}
	}
	return w.w.Close()
}

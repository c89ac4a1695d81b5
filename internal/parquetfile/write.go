package parquetfile

import (
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
)

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

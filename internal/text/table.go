package text

import "strings"

const (
	gap   = 2  // spaces between columns of a table
	whole = 16 // cells up to this width are not broken, but for those of the first row
)

// Layout lays text out for a terminal. Consecutive lines with tabs are a table, whose cells the tabs separate; other
// lines are folded. A table that is too wide has its long cells folded, or else comes in blocks of columns, each with
// the first column. A width of 0 folds nothing.
func Layout(s string, width int) string {
	var b strings.Builder
	var rows [][]string
	for line := range strings.Lines(s) {
		if strings.Contains(line, "\t") {
			rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
			continue
		}
		writeTable(&b, rows, width)
		rows = nil
		b.WriteString(Fold(line, width))
	}
	writeTable(&b, rows, width)
	return b.String()
}

func writeTable(b *strings.Builder, rows [][]string, width int) {
	var full, least []int // the columns' widths unfolded, and folded as far as words allow
	for i, row := range rows {
		for k, cell := range row {
			if k == len(full) {
				full, least = append(full, 0), append(least, 0)
			}
			longest := 0
			for _, word := range strings.Fields(cell) {
				longest = max(longest, indent(cell)+seen(word))
			}
			if i > 0 {
				longest = max(longest, whole)
			}
			full[k], least[k] = max(full[k], seen(cell)), max(least[k], min(seen(cell), longest))
		}
	}
	for from := 1; from < len(full); {
		block, used := []int{0, from}, least[0]+gap+least[from]
		to := from + 1
		for ; to < len(full) && (width <= 0 || used+gap+least[to] <= width); to++ {
			block, used = append(block, to), used+gap+least[to]
		}
		if from > 1 {
			b.WriteByte('\n')
		}
		writeBlock(b, rows, block, share(full, least, block, width))
		from = to
	}
}

func indent(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// share returns the widths of a block's columns: those wider than a common bound are folded to it.
func share(full, least, block []int, width int) (widths []int) {
	for bound := 1; ; bound++ {
		next, used, folded := make([]int, len(block)), -gap, false
		for i, k := range block {
			next[i] = min(max(bound, least[k]), full[k])
			used, folded = used+gap+next[i], folded || next[i] < full[k]
		}
		if widths != nil && width > 0 && used > width {
			return widths
		}
		if widths = next; !folded {
			return widths
		}
	}
}

func writeBlock(b *strings.Builder, rows [][]string, block, widths []int) {
	for _, row := range rows {
		cells, height := make([][]string, len(block)), 1
		for i, k := range block {
			if k < len(row) {
				var cell strings.Builder
				wrap(&cell, row[k], widths[i], indent(row[k]), "\n")
				cells[i] = strings.Split(cell.String(), "\n")
				height = max(height, len(cells[i]))
			}
		}
		for at := range height {
			line, column := "", 0
			for i, cell := range cells {
				if at < len(cell) {
					line += strings.Repeat(" ", max(0, column-seen(line))) + cell[at]
				}
				column += widths[i] + gap
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
}

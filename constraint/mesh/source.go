package mesh

import (
	"bufio"
	"errors"
	"io"
)

// A source reads a file by lines or bytes and knows where it is.
type source struct {
	*bufio.Reader
	line int   // lines read
	at   int64 // bytes read
}

func newSource(r io.Reader) *source { return &source{Reader: bufio.NewReaderSize(r, maxLine)} }

const maxLine = 1 << 16

var errLong = errors.New("a line of more than 65536 bytes")

// next returns the next line without its end; io.EOF after the last.
func (s *source) next() (string, error) {
	text, err := s.ReadSlice('\n')
	s.at += int64(len(text))
	switch {
	case err == bufio.ErrBufferFull:
		return "", errLong
	case err == io.EOF && len(text) > 0, err == nil:
		s.line++
	default:
		return "", err
	}
	for len(text) > 0 && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r') {
		text = text[:len(text)-1]
	}
	return string(text), nil
}

func (s *source) take(b []byte) error {
	n, err := io.ReadFull(s, b)
	s.at += int64(n)
	return err
}

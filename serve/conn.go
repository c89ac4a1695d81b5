package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// listener bounds the connections that are open at a time: others wait at the door until one ends. One that waits for
// its next request ends for another's sake, so that those who keep connections do not shut out others.
type listener struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   sync.Once
	plain  bool // connections are not encrypted

	mu   sync.Mutex
	idle []net.Conn // that wait for a request, the longest first
	door bool       // somebody is there
}

func limited(l net.Listener, most int, plain bool) *listener {
	return &listener{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{}), plain: plain}
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case l.places <- struct{}{}:
	default:
		l.knock(true)
		defer l.knock(false)
		select {
		case l.places <- struct{}{}:
		case <-l.closed:
			c.Close()
			return nil, net.ErrClosed
		}
	}
	return &conn{Conn: c, leave: func() { <-l.places }, plain: l.plain}, nil
}

// knock says whether somebody waits at the door: then one who is idle goes.
func (l *listener) knock(door bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.door = door; door && len(l.idle) > 0 {
		go l.idle[0].Close() // which takes a while where it is encrypted
	}
}

// state is http.Server.ConnState.
func (l *listener) state(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := slices.Index(l.idle, c); at >= 0 {
		l.idle = slices.Delete(l.idle, at, at+1)
	}
	if state == http.StateIdle {
		if l.idle = append(l.idle, c); l.door {
			go c.Close()
		}
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// conn gives its place back when it is closed.
type conn struct {
	net.Conn
	leave func()
	once  sync.Once
	plain bool
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.leave)
	return err
}

// CloseWrite tells the other side that nothing more comes: package net/http looks for it, and waits before it
// closes, so that the other side reads what was sent.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// ownErrors are what package net/http itself answers to requests that are not HTTP, before any handler sees them:
// a status line and these headers alone.
var ownErrors = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// Write sends what package net/http itself refuses as problem+json too.
func (c *conn) Write(b []byte) (int, error) {
	status, says, ok := bytes.Cut(b, ownErrors)
	if !c.plain || !ok || !bytes.HasPrefix(status, []byte("HTTP/1.1 ")) || bytes.Contains(status, []byte("\r\n")) {
		return c.Conn.Write(b)
	}
	code, err := strconv.Atoi(string(status[len("HTTP/1.1 "):min(len(status), len("HTTP/1.1 ")+3)]))
	if err != nil {
		return c.Conn.Write(b)
	}
	k := badRequest
	if k.status = code; code == bigHeaders.status {
		k = bigHeaders
	}
	body, err := json.Marshal(k.fault("%s", says).problem(""))
	if err != nil {
		return c.Conn.Write(b)
	}
	_, err = fmt.Fprintf(
		c.Conn,
		"%s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		status,
		typeFaults,
		len(body)+1,
		body,
	)
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

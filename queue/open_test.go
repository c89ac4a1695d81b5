package queue

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/landing-diffusion/landing/queue/server"
)

// Addresses with secrets are refused, and their secrets are in no message.
func TestURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "localhost", "10.0.0.1:4222", "nats://a:1,nats://b:2", "tls://a.example.org",
		"wss://a/x"} {
		if err := CheckURL(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"nats://me:sesame@a:1", "nats://sesame@a", "a:1,nats://x:sesame@b", "http://a",
		"nats://", "nats://me:sesame@a:port", "nats://%zz:sesame@a", "me:sesame@a"} {
		var e *URLError
		if err := CheckURL(bad); !errors.As(err, &e) || strings.Contains(err.Error(), "sesame") &&
			!strings.Contains(bad, "//sesame@") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := CheckURL("nats://sesame@a"); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("a token is in the message: %v", err)
	}
}

// A queue that is not there, one that does not let us in and files that are no credentials are told apart.
func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := l.Addr().String()
	l.Close()
	key := filepath.Join(dir, "office.nk")
	s, err := server.Start(server.Options{Listen: "127.0.0.1:0", Key: key, Store: filepath.Join(dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := pair.Seed()
	if err != nil {
		t.Fatal(err)
	}
	plain, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT,
		NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go plain.Start()
	defer plain.Shutdown()
	if !plain.ReadyForConnections(10 * time.Second) {
		t.Fatal("no server")
	}
	var down *DownError
	var auth *AuthError
	var no *CredentialsError
	var unfit *SetupError
	for what, c := range map[string]struct {
		Options
		want any
	}{
		"nobody there":       {Options{URL: dead}, &down},
		"no credentials":     {Options{URL: s.ClientURL()}, &auth},
		"another key":        {Options{URL: s.ClientURL(), Credentials: file("other.nk", string(seed))}, &auth},
		"no such file":       {Options{URL: s.ClientURL(), Credentials: filepath.Join(dir, "nowhere")}, &no},
		"a folder":           {Options{URL: s.ClientURL(), Credentials: dir}, &no},
		"no credentials?":    {Options{URL: s.ClientURL(), Credentials: file("words", "sesame\n")}, &no},
		"half a certificate": {Options{URL: s.ClientURL(), Cert: file("c.pem", "x")}, &no},
		"no authorities":     {Options{URL: s.ClientURL(), CA: filepath.Join(dir, "nowhere.pem")}, &no},
		"no JetStream":       {Options{URL: plain.ClientURL()}, &unfit},
	} {
		c.Away = 2 * time.Second
		q, err := Open(t.Context(), c.Options)
		if err == nil || !errors.As(err, c.want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", what, err)
		}
		if q != nil {
			q.Close()
		}
	}
	q, err := Open(t.Context(), Options{URL: s.ClientURL(), Credentials: key, Away: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	s.Stop()
	if _, err := q.Jobs(t.Context()); !errors.As(err, &down) {
		t.Errorf("a queue that went away: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Jobs(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A server that is too busy to answer as it should is asked again; one that refuses is not.
func TestDial(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err   error
		tries int
	}{{errors.New("nats: expected 'PONG', got 'PING'"), 2}, {nats.ErrTimeout, 2}, {nats.ErrAuthorization, 1},
		{nats.ErrNoServers, 1}} {
		n := 0
		conn, err := dial(t.Context(), func() (*nats.Conn, error) {
			if n++; n == 2 {
				return new(nats.Conn), nil
			}
			return nil, c.err
		})
		if n != c.tries || (conn != nil) != (c.tries == 2) || (err == nil) != (c.tries == 2) {
			t.Errorf("%v: %d tries, %v", c.err, n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := dial(ctx, func() (*nats.Conn, error) { return nil, nats.ErrTimeout })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

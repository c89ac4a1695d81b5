package server

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/landing-diffusion/landing/run"
)

// Who could be reached from other machines asks who is there, or is refused.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "n.conf")
	if err := os.WriteFile(config, []byte("listen: 0.0.0.0:0\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Listen: "0.0.0.0:0"}, {Listen: ":0"}, {Listen: "[::]:0"}, {Listen: "192.0.2.1:4222"},
		{Config: config}} {
		o.Store = filepath.Join(dir, "store")
		s, err := Start(o)
		var open *OpenError
		if !errors.As(err, &open) {
			t.Errorf("%+v: %v", o, err)
		}
		if s != nil {
			s.Stop()
		}
		if _, err := os.Stat(o.Store); err == nil {
			t.Errorf("%+v: the store was made", o)
		}
	}
}

// A key lets those in who have it; the file is made once, for its owner alone.
func TestKey(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "keys", "office.nk")
	var seed []byte
	for i := range 2 {
		s, err := Start(Options{Listen: "0.0.0.0:0", Key: key, Store: filepath.Join(dir, "store")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop()
		if s.Made != (i == 0) {
			t.Errorf("start %d: made %v", i, s.Made)
		}
		info, err := os.Stat(key)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		now, err := os.ReadFile(key)
		if err != nil || i == 1 && string(now) != string(seed) {
			t.Errorf("another key: %v", err)
		}
		seed = now
		_, port, _ := net.SplitHostPort(s.Addr().String())
		url := "nats://127.0.0.1:" + port
		if c, err := nats.Connect(url); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("without a key: %v", err)
			c.Close()
		}
		with, err := nats.NkeyOptionFromSeed(key)
		if err != nil {
			t.Fatal(err)
		}
		c, err := nats.Connect(url, with)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		s.Stop()
	}
	if err := os.WriteFile(key, []byte("no seed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var config *ConfigError
	if _, err := Start(Options{Listen: "127.0.0.1:0", Key: key, Store: filepath.Join(dir, "store")}); !errors.As(err,
		&config) || strings.Contains(err.Error(), "no seed") {
		t.Errorf("not a key: %v", err)
	}
}

// Ports that are taken, stores that another server has and settings that are none are named; the store can be had when
// its server has ended.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(Options{Listen: "127.0.0.1:0", Store: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	var busy *BusyError
	if _, err := Start(Options{Listen: s.Addr().String(), Store: t.TempDir()}); !errors.As(err, &busy) {
		t.Errorf("the same port: %v", err)
	}
	var folder *run.FolderError
	if _, err := Start(Options{Listen: "127.0.0.1:0", Store: dir}); !errors.As(err, &folder) {
		t.Errorf("the same store: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "bad.conf")
	if err := os.WriteFile(bad, []byte("listen: {\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Listen: "nonsense"}, {Listen: "127.0.0.1:99999"}, {Listen: "127.0.0.1:x"},
		{Listen: "127.0.0.1:0", Cert: "c.pem"}, {Listen: "127.0.0.1:0", Cert: "no.pem", CertKey: "no.key"},
		{Config: bad}, {Config: "nowhere.conf"}} {
		o.Store = t.TempDir()
		var config *ConfigError
		if _, err := Start(o); !errors.As(err, &config) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	s.Stop()
	again, err := Start(Options{Listen: "127.0.0.1:0", Store: dir})
	if err != nil {
		t.Fatal(err)
	}
	again.Stop()
}

// By itself a server listens on this machine alone.
func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{"127.0.0.1": true, "127.8.9.1": true, "::1": true, "localhost": true,
		"0.0.0.0": false, "": false, "::": false, "10.0.0.5": false, "example.org": false,
		"localhost.example.org": false} {
		if loopback(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
	host, _, err := net.SplitHostPort(DefaultListen)
	if err != nil || !loopback(host) {
		t.Errorf("by itself it listens on %s", DefaultListen)
	}
}

// Clients are told an address that other machines reach: of a server on all addresses, this machine's name.
func TestURL(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	key := filepath.Join(t.TempDir(), "k.nk")
	for listen, want := range map[string]string{"127.0.0.1:0": "127.0.0.1", "0.0.0.0:0": host, ":0": host} {
		s, err := Start(Options{Listen: listen, Key: key, Store: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		_, port, _ := net.SplitHostPort(s.Addr().String())
		if got := s.URL(); got != "nats://"+net.JoinHostPort(want, port) {
			t.Errorf("%s: %s", listen, got)
		}
		s.Stop()
	}
}

// A store that cannot be written is told once, with why; other errors are not.
func TestBroken(t *testing.T) {
	l := &logger{store: "here", fatal: make(chan string, 1), broken: make(chan error, 1)}
	l.Errorf("JetStream cluster is %s", "slow")
	if len(l.broken) > 0 {
		t.Fatal(<-l.broken)
	}
	for _, text := range []string{"Filestore [%s] Critical write error: %v", "stream '%s' critical write error: %v"} {
		l.Errorf(text, "KV_Jobs", syscall.ENOSPC) // as package nats-server writes it
	}
	var broken *StoreError
	if err := <-l.broken; !errors.As(err, &broken) || broken.Store != "here" ||
		broken.Problem != "no space left on device" {
		t.Errorf("got %v", err)
	}
}

// A server that ends takes no call, and takes no long time.
func TestStop(t *testing.T) {
	s, err := Start(Options{Listen: "127.0.0.1:0", Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	url := s.ClientURL()
	start := time.Now()
	s.Stop()
	if _, err := nats.Connect(url); err == nil || time.Since(start) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

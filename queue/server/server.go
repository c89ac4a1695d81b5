// Package server runs the server of a queue (package queue) in this process: NATS with JetStream, its store in a
// folder. It is the server that a NATS cluster consists of, with the few settings that an office needs; who has a
// cluster needs no package server.
package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	nats "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/landing-diffusion/landing/internal/input"
	"github.com/landing-diffusion/landing/run"
)

// Options are those of a server. The zero value listens on loopback, and keeps what it stores in DefaultStore.
type Options struct {
	Listen   string // host:port; port 0: a free one; "": DefaultListen
	Store    string // folder; "": DefaultStore
	MaxStore int64  // bytes; 0: as much as the disk has
	Key      string // file with the seed of an nkey that clients need; it is made if it is not there. "": none
	Cert     string // files of TLS: certificate, its key,
	CertKey  string
	ClientCA string // and the authorities whose certificates clients need. "": none
	Config   string // a configuration file of NATS, over which Listen, Store and MaxStore go where they are given

	Say   func(line string) // hears warnings and errors of the server; may be nil
	Local bool              // no socket at all: for clients in this process
}

// Defaults.
const (
	DefaultListen = "127.0.0.1:4222"
	DefaultStore  = "landing-queue"
)

// How long a server may take to be there: its store is read first.
const readyTime = 60 * time.Second

// syncEvery is how often what was stored is synced to the disk: what a power cut takes is put back by those who wait
// for it.
const syncEvery = 2 * time.Second

// A Server is a running server.
type Server struct {
	*nats.Server
	Made   bool         // the file Key was made
	Broken <-chan error // gives a *StoreError once what was to be stored could not be: nothing more is then
	store  *run.Folder
}

// A StoreError says that a server cannot write its store.
type StoreError struct{ Store, Problem string }

func (e *StoreError) Error() string {
	return fmt.Sprintf("%s: the queue cannot write its store (%s); a new start, where there is room, goes on with all "+
		"that was stored", e.Store, e.Problem)
}

// An OpenError says that a server would let anybody in.
type OpenError struct{ Listen string }

func (e *OpenError) Error() string {
	return fmt.Sprintf("%s can be reached from other machines: whoever reaches it could read and write all there is. "+
		"Expected --key FILE (an nkey, made if it is not there), --client-ca FILE (certificates), or --config FILE "+
		"with authorization", e.Listen)
}

// A ConfigError says why a server cannot be as asked.
type ConfigError struct{ What, Problem string }

func (e *ConfigError) Error() string { return e.What + ": " + e.Problem }

// A BusyError says that the port is taken.
type BusyError struct {
	Listen string
	Err    error
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("nothing can listen on %s: %v; another queue may run there, --listen names another port",
		e.Listen, e.Err)
}
func (e *BusyError) Unwrap() error { return e.Err }

// Start starts a server and returns when it takes calls. Errors are *OpenError, *ConfigError, *BusyError,
// *run.FolderError of a store that another server has, and those of files.
func Start(o Options) (*Server, error) {
	opts, err := o.base()
	if err != nil {
		return nil, err
	}
	s := &Server{}
	if err := o.address(opts); err != nil {
		return nil, err
	}
	if err := o.security(opts, s); err != nil {
		return nil, err
	}
	if !opts.DontListen && !loopback(opts.Host) && !guarded(opts) {
		return nil, &OpenError{net.JoinHostPort(opts.Host, strconv.Itoa(opts.Port))}
	}
	if err := os.MkdirAll(opts.StoreDir, 0o700); err != nil {
		return nil, err
	}
	s.store = &run.Folder{Dir: opts.StoreDir}
	if err := s.store.Lock(); err != nil {
		if errors.As(err, new(*run.FolderError)) {
			return nil, &run.FolderError{Dir: opts.StoreDir, Problem: "another queue keeps its store here"}
		}
		return nil, err
	}
	if err := s.start(o, opts); err != nil {
		s.store.Unlock()
		return nil, err
	}
	return s, nil
}

// base returns what the configuration file says, or nothing.
func (o *Options) base() (*nats.Options, error) {
	opts := &nats.Options{}
	if o.Config != "" {
		var err error
		if opts, err = nats.ProcessConfigFile(o.Config); err != nil {
			return nil, &ConfigError{o.Config, strings.TrimPrefix(err.Error(), o.Config+":")}
		}
	}
	opts.NoSigs, opts.JetStream, opts.DisableJetStreamBanner = true, true, true
	opts.DontListen = o.Local
	if o.Store != "" || opts.StoreDir == "" {
		opts.StoreDir = o.Store
		if o.Store == "" {
			opts.StoreDir = DefaultStore
		}
	}
	if opts.SyncInterval == 0 {
		opts.SyncInterval = syncEvery
	}
	if o.MaxStore != 0 {
		opts.JetStreamMaxStore = o.MaxStore
	}
	return opts, nil
}

// address sets where the server listens.
func (o *Options) address(opts *nats.Options) error {
	listen := o.Listen
	if listen == "" {
		if o.Config != "" && (opts.Host != "" || opts.Port != 0) {
			if opts.Host == "" {
				opts.Host = nats.DEFAULT_HOST
			}
			if opts.Port == 0 {
				opts.Port = nats.DEFAULT_PORT
			}
			return nil
		}
		listen = DefaultListen
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return &ConfigError{"--listen " + listen, "expected host:port, as in " + DefaultListen}
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return &ConfigError{"--listen " + listen, "expected a port from 0 to 65535; 0 is a free one"}
	}
	if n == 0 {
		n = nats.RANDOM_PORT
	}
	if host == "" {
		host = nats.DEFAULT_HOST // all addresses, which security asks about
	}
	opts.Host, opts.Port = host, n
	return nil
}

// security sets who is let in, and TLS.
func (o *Options) security(opts *nats.Options, s *Server) error {
	if o.Key != "" {
		public, made, err := key(o.Key)
		if err != nil {
			return err
		}
		opts.Nkeys, s.Made = append(opts.Nkeys, &nats.NkeyUser{Nkey: public}), made
	}
	if o.Cert == "" && o.CertKey == "" && o.ClientCA == "" {
		return nil
	}
	if o.Cert == "" || o.CertKey == "" {
		return &ConfigError{"TLS", "expected a certificate and its key, two files"}
	}
	config, err := nats.GenTLSConfig(&nats.TLSConfigOpts{CertFile: o.Cert, KeyFile: o.CertKey, CaFile: o.ClientCA,
		Verify: o.ClientCA != ""})
	if err != nil {
		return &ConfigError{"TLS", err.Error()}
	}
	opts.TLSConfig, opts.TLSVerify, opts.TLSTimeout = config, o.ClientCA != "", 5
	return nil
}

// maxKey bounds a file of a key in bytes.
const maxKey = 1 << 16

// key returns the public part of the nkey whose seed a file holds, and makes the file if it is not there.
func key(path string) (public string, made bool, err error) {
	seed, err := input.Read(path, maxKey)
	if errors.Is(err, fs.ErrNotExist) {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return "", false, err
		}
		if seed, err = pair.Seed(); err != nil {
			return "", false, err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", false, err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // nobody else reads it
		if err != nil {
			return "", false, err
		}
		_, err = f.Write(append(seed, '\n'))
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return "", false, err
		}
		made = true
	} else if err != nil {
		return "", false, err
	}
	pair, err := nkeys.ParseDecoratedUserNKey(seed)
	if err != nil {
		return "", false, &ConfigError{path, "is not the seed of a user's nkey"}
	}
	public, err = pair.PublicKey()
	return public, made, err
}

// loopback reports whether only this machine reaches a host.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// guarded reports whether a server asks who is there.
func guarded(o *nats.Options) bool {
	return len(o.Users) > 0 || len(o.Nkeys) > 0 || o.Username != "" || o.Authorization != "" || o.TLSVerify ||
		len(o.TrustedOperators) > 0 || len(o.TrustedKeys) > 0 || o.AuthCallout != nil
}

func (s *Server) start(o Options, opts *nats.Options) error {
	if !opts.DontListen && opts.Port != nats.RANDOM_PORT {
		// the server would end the whole program
		l, err := net.Listen("tcp", net.JoinHostPort(opts.Host, strconv.Itoa(opts.Port)))
		if err != nil {
			return &BusyError{net.JoinHostPort(opts.Host, strconv.Itoa(opts.Port)), err}
		}
		l.Close()
	}
	server, err := nats.NewServer(opts)
	if err != nil {
		return &ConfigError{"the server", err.Error()}
	}
	l := &logger{say: o.Say, store: opts.StoreDir, fatal: make(chan string, 1), broken: make(chan error, 1)}
	s.Broken = l.broken
	server.SetLoggerV2(l, false, false, false)
	go server.Start()
	deadline := time.Now().Add(readyTime)
	for !server.ReadyForConnections(100 * time.Millisecond) {
		select {
		case why := <-l.fatal:
			server.Shutdown()
			return &ConfigError{"the server", why}
		default:
		}
		if time.Now().After(deadline) {
			server.Shutdown()
			return &ConfigError{"the server", fmt.Sprintf("was not there after %v", readyTime)}
		}
	}
	if !server.JetStreamEnabled() {
		why := "JetStream did not start"
		select {
		case why = <-l.fatal:
		default:
		}
		server.Shutdown()
		return &ConfigError{"the server", why}
	}
	s.Server = server
	return nil
}

// URL returns the address that clients use: where the server listens on all addresses, that of this machine's name.
func (s *Server) URL() string {
	u, err := url.Parse(s.ClientURL())
	if err != nil {
		return s.ClientURL()
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			u.Host = net.JoinHostPort(name, u.Port())
		}
	}
	return u.String()
}

// Stop ends the server and returns when its store is closed.
func (s *Server) Stop() {
	s.Shutdown()
	s.WaitForShutdown()
	s.store.Unlock()
}

// logger hands warnings and errors on. The server writes no secrets in them.
type logger struct {
	say    func(string)
	store  string
	fatal  chan string
	broken chan error
}

func (l *logger) tell(format string, v ...any) {
	if l.say != nil {
		l.say(fmt.Sprintf(format, v...))
	}
}
func (l *logger) Noticef(string, ...any)        {}
func (l *logger) Debugf(string, ...any)         {}
func (l *logger) Tracef(string, ...any)         {}
func (l *logger) Warnf(format string, v ...any) { l.tell(format, v...) }
func (l *logger) Errorf(format string, v ...any) {
	l.tell(format, v...)
	_, why, critical := strings.Cut(fmt.Sprintf(format, v...), "ritical write error: ") // in upper and lower case
	if !critical {
		return
	}
	select {
	case l.broken <- &StoreError{l.store, why}:
	default: // told already
	}
}
func (l *logger) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
	}
}

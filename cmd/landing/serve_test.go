package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/study/serve"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The service draws what generate writes, ends on SIGTERM with code 0, and
// refuses what would not do.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	ok(t, dir, "generate", "r", "-n", "70", "--seed", "3", "-o", "want.npy")
	want := testkit.Must(os.ReadFile("want.npy"))
	taken := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))
	defer taken.Close()
	testkit.OK(t, os.WriteFile("tokens", []byte("ada short\n"), 0o600))
	testkit.OK(t, os.WriteFile("x.pem", []byte("x"), 0o600))
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "expected a run folder or more", nil},
		{exitUsage, "expected a free port", []string{"r", "--listen", taken.Addr().String()}},
		{exitUsage, "which others reach", []string{"r", "--listen", ":0"}},
		{exitUsage, "which others reach", []string{"r", "--listen", "0.0.0.0:0"}},
		{exitUsage, "which others reach", []string{"r", "--listen", "[::]:0"}},
		{exitUsage, "the number of an address", []string{"r", "--listen", "example.org:80"}},
		{exitUsage, "ADDRESS:PORT", []string{"r", "--listen", "8080"}},
		{exitUsage, "ADDRESS:PORT", []string{"r", "--listen", "127.0.0.1:70000"}},
		{exitUsage, "would both be", []string{"r", "./r"}},
		{exitUsage, "cannot be a run's name", []string{"a/b=r"}},
		{exitUsage, "--queue is 0", []string{"r", "--queue", "0"}},
		{exitUsage, "together", []string{"r", "--tls-cert", "x.pem"}},
		{exitUsage, "together", []string{"r", "--client-ca", "x.pem"}},
		{exitConfig, "x.pem", []string{"r", "--tls-cert", "x.pem", "--tls-key", "x.pem"}},
		{exitConfig, "nosuch.pem", []string{"r", "--tls-cert", "nosuch.pem", "--tls-key", "x.pem"}},
		{exitConfig, "tokens: line 1", []string{"r", "--tokens", "tokens"}},
		{exitConfig, "nosuch", []string{"nosuch", "--listen", "127.0.0.1:0"}},
	} {
		if r := do(t, dir, append([]string{"serve", "-q"}, c.args...)...); r.code != c.code ||
			!strings.Contains(r.stderr, c.says) {
			t.Errorf("serve %v: exit %d, %q; expected %d, %q", c.args, r.code, r.stderr, c.code, c.says)
		}
	}

	testkit.OK(t, os.WriteFile("tokens", []byte("ada 0123456789abcdef\n"), 0o600))
	testkit.OK(t, os.CopyFS("unjudged", os.DirFS("r")))
	const judged = `{"config_sha256": "", "updates": 1, "verdict": {"grade": "not good", "findings": [
		{"code": "walls", "severity": "fault", "says": "too few there"}]}}`
	testkit.OK(t, os.WriteFile(filepath.Join("r", run.EvaluationFile), []byte(judged), 0o600))
	cmd := self(t, "", "serve", "runs.one=r", "unjudged", "--listen", "127.0.0.1:0", "--tokens", "tokens", "--json")
	var log bytes.Buffer
	cmd.Stderr = &log
	out := testkit.Must(cmd.StdoutPipe())
	testkit.OK(t, cmd.Start())
	defer cmd.Process.Kill()
	line := make([]byte, 100)
	n, err := out.Read(line)
	var said serviceAt
	if err == nil {
		valid(t, "serve", line[:n])
		err = json.Unmarshal(line[:n], &said)
	}
	at := said.Address
	if err != nil || !regexp.MustCompile(`^http://127\.0\.0\.1:\d+$`).MatchString(at) {
		t.Fatalf("it says %q (%v)", at, err)
	}
	call := func(method, path, token, body string) (int, []byte) {
		t.Helper()
		r := testkit.Must(http.NewRequest(method, at+path, strings.NewReader(body)))
		r.Header.Set("Authorization", "Bearer "+token)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/x-npy")
		}
		w := testkit.Must(http.DefaultClient.Do(r))
		defer w.Body.Close()
		b := testkit.Must(io.ReadAll(w.Body))
		return w.StatusCode, b
	}
	ask := func(token string) (int, []byte) {
		t.Helper()
		return call("POST", "/v1/runs/runs.one/samples", token, `{"n":70,"seed":3}`)
	}
	get := func(path, token string) []byte {
		t.Helper()
		status, b := call("GET", path, token, "")
		if status != 200 {
			t.Errorf("%s: %d: %s", path, status, b)
		}
		return b
	}
	until := func(status int, token string) (b []byte) {
		t.Helper()
		for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			got, b := ask(token)
			if got == status {
				return b
			}
			if time.Since(begin) > 10*time.Minute {
				t.Fatalf("status %d, expected %d\n%s", got, status, log.String())
			}
		}
	}
	testkit.EqualSlices(t, until(200, "0123456789abcdef"), want, "not the bytes of generate")
	var info serve.RunInfo
	b := get("/v1/runs/runs.one", "0123456789abcdef")
	if err := json.Unmarshal(b, &info); err != nil || info.State != "finished" || info.Grade != "not good" ||
		!strings.HasPrefix(info.Verdict, "not good: one thing") ||
		!slices.Equal(info.Wrong, []string{"walls: too few there"}) || len(info.Cautions) != 1 ||
		!strings.Contains(info.Cautions[0], "other weights") {
		t.Errorf("%v, it tells %+v", err, info)
	}
	testkit.OK(t, cmd.Process.Signal(syscall.SIGTERM))
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, log.String())
	}
	if text := log.String(); !strings.Contains(text, `"path":"/v1/runs/runs.one/samples","status":200`) ||
		strings.Contains(text, "0123456789abcdef") ||
		!strings.Contains(text, "warning: runs.one: walls: too few there") ||
		!strings.Contains(text, "note: unjudged: there is no verdict") ||
		strings.Contains(text, "note: runs.one: there") {
		t.Errorf("its log:\n%s", text)
	}
}

// With certificates of callers the service may have a public address. A caller without a certificate, or with one that
// another signed, cannot send a request. The service ends with its context, as on an interrupt, and that is no failure.
func TestServeCertificates(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	ca, other := newAuthority(t), newAuthority(t)
	pair := ca.sign(t, "localhost")
	write := func(name, kind string, der []byte) {
		t.Helper()
		testkit.OK(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	key := testkit.Must(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))
	write("cert.pem", "CERTIFICATE", pair.Certificate[0])
	write("key.pem", "PRIVATE KEY", key)
	write("ca.pem", "CERTIFICATE", ca.cert.Raw)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int)
	go func() {
		code <- Main(ctx, []string{"serve", "r", "--listen", "0.0.0.0:0", "--json", "--tls-cert", "cert.pem",
			"--tls-key", "key.pem", "--client-ca", "ca.pem"}, in, &stderr)
	}()
	var at serviceAt
	testkit.OK(t, json.NewDecoder(out).Decode(&at))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(at.Address, "https://"))
	if err != nil {
		t.Fatal(at, err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	ask := func(caller ...tls.Certificate) (int, error) {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots,
			Certificates: caller}}}
		defer client.CloseIdleConnections()
		w, err := client.Get("https://localhost:" + port + "/healthz")
		if err != nil {
			return 0, err
		}
		w.Body.Close()
		return w.StatusCode, nil
	}
	if status, err := ask(ca.sign(t, "ada")); status != 200 {
		t.Errorf("a caller that is known: %d, %v", status, err)
	}
	if status, err := ask(other.sign(t, "ada")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a caller that another authority knows: %d, %v", status, err)
	}
	if status, err := ask(); err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("a caller without a certificate: %d, %v", status, err)
	}
	cancel()
	if c := <-code; c != exitOK {
		t.Errorf("exit %d\n%s", c, stderr.String())
	}
}

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	der, key := certificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, a)
	a.cert = testkit.Must(x509.ParseCertificate(der))
	a.key = key
	return a
}

// sign returns a certificate of that name, for services and callers.
func (a *authority) sign(t *testing.T, name string) tls.Certificate {
	t.Helper()
	der, key := certificate(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}, a)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// certificate makes one that an authority signs, or itself if that has none yet.
func certificate(t *testing.T, c *x509.Certificate, by *authority) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key := testkit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	c.SerialNumber = big.NewInt(1)
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := by.cert, by.key
	if parent == nil {
		parent, signer = c, key
	}
	der := testkit.Must(x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer))
	return der, key
}

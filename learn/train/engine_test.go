package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// peer is the other end of an engine's connection. It answers steps by losses and norms of its own, and a pull by the
// weights that it got, half as large. told are the messages but rows, as a text each; rows come in a goroutine's time.
func peer(conn io.ReadWriteCloser, hello string, rowsUntil int) (told, rows *[]string, ended chan bool) {
	e, steps := &Engine{conn: conn}, 0
	told, rows, ended = new([]string), new([]string), make(chan bool)
	answers := make(chan func() error, 99) // the trainer sends rows before it reads them
	go func() {
		for answer := range answers {
			answer()
		}
	}()
	go func() {
		defer close(ended)
		defer close(answers)
		answers <- func() error { return e.send("hello", hello) }
		var weights []arrayfile.Named
		for {
			arrays, about, err := e.receive()
			if err != nil {
				return
			}
			says := about["op"] + " " + about["at"]
			for _, a := range arrays {
				x := a.Array.AsFloat64()
				says += fmt.Sprintf("\n%s %v %.5g %.5g", a.Name, a.Array.Shape, x[:min(24, len(x))], x[len(x)-1])
			}
			switch about["op"] {
			case "rows":
				if *rows = append(*rows, says); len(*rows) == rowsUntil {
					conn.Close()
				}
				continue
			case "weights":
				weights = arrays
			case "step":
				steps++
				answer := arrayfile.Of([]float64{1 / float64(steps)}, 1)
				answers <- func() error {
					return e.send("done", "", arrayfile.Named{Name: "loss", Array: answer},
						arrayfile.Named{Name: "norm", Array: answer})
				}
			case "pull":
				for i, w := range weights {
					x := w.Array.AsFloat64()
					for j := range x {
						x[j] /= 2
					}
					weights[i].Array = arrayfile.Of(x, len(x))
					weights[i].Array.Shape = w.Array.Shape
				}
				answers <- func() error { return e.send("weights", "", weights...) }
			}
			*told = append(*told, says)
		}
	}()
	return told, rows, ended
}

// All that a program is sent that computes the gradients, and what the trainer makes of its answers.
func TestEngine(t *testing.T) {
	for _, c := range []struct {
		hello  string
		failed int
		muon   bool
	}{{"0 1 0 0 0", 0, false}, {"0 2 3 1 1", 7, true}} {
		cfg := smallConfig
		if cfg.MaxFailed = 0.5; c.muon {
			cfg.Optimizer = Muon
		}
		own, other := net.Pipe()
		told, rows, ended := peer(other, c.hello, -1)
		tr, _ := lossy(t, cfg, c.failed)
		e := testkit.Must(NewEngine(own))
		testkit.OK(t, tr.By(e, "run", "network"))
		for range 2 {
			epoch := testkit.Must(tr.Epoch(t.Context()))
			epoch.Seconds, epoch.Simulated = 0, 0
			testkit.KeepValue(t, epoch)
			testkit.OK(t, tr.Fetch())
			testkit.Keep(t, "%+v %.5v", tr.State.Updates, tr.model.Parameters()[:9])
		}
		tr.Leave()
		other.Close()
		<-ended
		testkit.Refused(t, testkit.Err(tr.Epoch(t.Context())), "the program that computes the gradients has ended")
		testkit.Keep(t, "%q\n%q", *told, (*rows)[:tr.State.Updates])
	}
}

// An engine above rank 0 is sent its part of the rows alone.
func TestEngineOfALaterRank(t *testing.T) {
	own, other := net.Pipe()
	_, rows, ended := peer(other, "1 2 5 1 1", 6)
	tr, src := lossy(t, smallConfig, 0)
	e := testkit.Must(NewEngine(own))
	testkit.OK(t, tr.By(e, "run", "network"))
	err := tr.MakeRows(t.Context())
	<-ended
	testkit.Refused(t, err, "has ended")
	testkit.Keep(t, "%d %d %v\n%q", src.prepared, e.Rank, err, *rows)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := tr.MakeRows(stopped); !errors.Is(err, context.Canceled) || slices.Contains(*rows, "") {
		t.Error(err)
	}
}

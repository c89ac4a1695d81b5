package train_test

import (
	"context"
	"fmt"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
)

// A small network learns points on a circle, stops, and goes on from a snapshot.
func Example() {
	process := &langevin.Process{
		Set: zoo.Sphere{D: 2}, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 10, T: 1, SigmaMin: 0.2, SigmaMax: 1.5},
	}
	data, err := langevin.Start(context.Background(), process, 100, 1) // points on the circle
	if err != nil {
		fmt.Println(err)
		return
	}
	pool := parallel.New(1)
	defer pool.Close()
	begin := func() *train.Trainer[float32] {
		method := pathmatch.New(process, pathmatch.Options{})
		model, err := networks.New(score.Config{Dim: 2, Momentum: method.Momentum(), Width: 16, Layers: 1, Seed: 1})
		if err != nil {
			panic(err)
		}
		return train.New(train.Config{Epochs: 3, Batch: 50, Average: 0.9}, method.Source(data, pool), model, pool)
	}
	first := begin()
	if _, err := first.Epoch(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	second := begin()
	if err := second.Restore(first.Snapshot(), first.State); err != nil {
		fmt.Println(err)
		return
	}
	for !second.Done() {
		e, err := second.Epoch(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("epoch %d: %d rows in all\n", e.Epoch, e.Rows)
	}
	// Output:
	// epoch 2: 2000 rows in all
	// epoch 3: 3000 rows in all
}

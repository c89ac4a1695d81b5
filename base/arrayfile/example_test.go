package arrayfile_test

import (
	"bytes"
	"fmt"

	"github.com/landing-diffusion/landing/base/arrayfile"
)

func Example() {
	var file bytes.Buffer
	weights := arrayfile.Array{Shape: []int{2, 2}, Float32: []float32{1, 2, 3, 4}}
	err := arrayfile.EncodeSafetensors(&file, []arrayfile.Named{{Name: "layer.weight", Array: weights}},
		map[string]string{"steps": "1000"})
	if err != nil {
		fmt.Println(err)
		return
	}
	tensors, metadata, err := arrayfile.DecodeSafetensors(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range tensors {
		fmt.Println(t.Name, t.Array.Shape, t.Array.Float32)
	}
	fmt.Println(metadata)
	// Output:
	// layer.weight [2 2] [1 2 3 4]
	// map[steps:1000]
}

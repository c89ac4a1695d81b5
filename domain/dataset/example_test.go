package dataset_test

import (
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/domain/dataset"
)

func ExampleDecodeEarth() {
	p, err := dataset.DecodeEarth("places.csv", strings.NewReader("lat,lon\n0,90\n90,0\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d points in R^%d\n", p.N, p.D)
	for i := range p.N {
		fmt.Printf("%.1f\n", p.Rows([]int{i}))
	}

	_, err = dataset.DecodeEarth("places.csv", strings.NewReader("lat,lon\n95,90\n"))
	fmt.Println(err)
	// Output:
	// 2 points in R^3
	// [0.0 1.0 0.0]
	// [0.0 0.0 1.0]
	// places.csv:2: latitude 95 is outside [-90, 90]
}

// Package earth is the domain of places on Earth: catalogues of latitude and longitude, kept as unit vectors.
package earth

import (
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/earth/demo"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Kind is data.kind earth: lines latitude,longitude.
var Kind = domain.Kind{Name: "earth", Data: "earth", Dim: 3, Read: dataset.ReadEarth,
	ReadGiven: dataset.ReadEarthGiven, New: New}

// Demo is data.kind demo: the earthquakes in the binary.
var Demo = domain.Kind{Name: "earth", Data: "demo", Dim: 3, Bundled: true, New: New,
	Read: func(string) (*dataset.Points, error) {
		return dataset.DecodeEarth(demo.EarthquakesName, demo.Earthquakes())
	},
}

// New makes the domain.
func New(domain.Input) (*domain.Domain, error) {
	return &domain.Domain{
		Unit: "km", PerUnit: 6371,
		Distance: &domain.Distance{
			Name: "Jensen–Shannon distance",
			Note: "Histogram of 30 × 30 cells of latitude and longitude; square root of the divergence, natural " +
				"logarithm.",
			Dim: 3,
			// Cells that are cheap to find are looked up in each comparison.
			Marks:   func(x []float64) []float64 { return x },
			Compare: func(a, b []float64) []float64 { return []float64{metric.EarthJSD(a, b)} },
		},
		Observables: &domain.Observables{
			List: []domain.Observable{
				{Name: "latitude", Unit: "°", File: "latitude",
					Bins: metric.Bins{Lo: -90, Hi: 90, N: domain.DefaultBins}},
				{Name: "longitude", Unit: "°", File: "longitude",
					Bins: metric.Bins{Lo: -180, Hi: 180, N: domain.DefaultBins, Circular: true}},
			},
			Values: func(dst, x []float64, n int) { copy(dst, latLon(x[:3*n])) },
		},
		Draw:  draw,
		Scene: scene,
		Table: &domain.Table{Header: []string{"latitude", "longitude"}, Format: "%.8f",
			Lines: func(x []float64, _ int) []float64 { return latLon(x) }},
	}, nil
}

func draw(c domain.Canvas, v domain.View) {
	layers := []figure.Layer{{Name: "data", LatLon: latLon(v.Data)}, {Name: "samples", LatLon: latLon(v.Samples)}}
	c.Add("map", figure.FigureRef{Title: "Data and samples", Wide: true,
		Caption: "Each point is one place: the catalogue, training rows and held-out ones, and the generated " +
			"samples. Longitude to the right, latitude upwards, in degrees."},
		figure.WorldMap(false, layers))
	c.Add("map-panels", figure.FigureRef{Title: "Side by side", Caption: "The same points apart.", Wide: true},
		figure.WorldMap(true, layers))
	scene(c, v)
}

func scene(c domain.Canvas, v domain.View) {
	layers := []figure.Layer{{Name: "data", LatLon: latLon(v.Data)}, {Name: "samples", LatLon: latLon(v.Samples)}}
	c.Scene(&figure.Globe{Title: "On the sphere", Layers: layers, Caption: v.WorstSample()})
}

func latLon(x []float64) []float64 {
	out := make([]float64, 0, len(x)/3*2)
	for i := 0; i < len(x); i += 3 {
		lat, lon := dataset.LatLon(x[i], x[i+1], x[i+2])
		out = append(out, lat, lon)
	}
	return out
}

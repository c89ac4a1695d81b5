// Package demo holds the data that ships in the binary, so that a first run needs
// no download and no file of the user's own.
//
// The data are small and only for showing how the program works. They are not the
// data sets of the paper, which this module does not distribute.
package demo

import (
	"bytes"
	_ "embed" // for earthquakes.csv
	"io"
)

// EarthquakesName is the file name under which [Earthquakes] is known.
const EarthquakesName = "earthquakes.csv"

//go:embed earthquakes.csv
var earthquakes []byte

// Earthquakes returns the epicentres of one week of earthquakes, 31 January to 7 February 2018, as CSV: comment lines
// that start with '#', the header "latitude,longitude", then one row per earthquake in degrees.
//
// Source: the all-week feed of the U.S. Geological Survey, Earthquake Hazards Program, as packed in vega-datasets 3.2.1
// (data/earthquakes.json). Events of other types (quarry blasts, explosions) are left out. Terms: a work of the U.S.
// Government, in the public domain in the United States.
func Earthquakes() io.Reader { return bytes.NewReader(earthquakes) }

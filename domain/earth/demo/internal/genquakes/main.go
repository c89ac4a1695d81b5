// Command genquakes reduces a USGS earthquake feed (GeoJSON) to the two columns
// that the demo needs. It is run by go generate in package demo.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"strconv"
	"time"
)

// feed is the part of the USGS GeoJSON summary format that is read.
type feed struct {
	Features []struct {
		Properties struct {
			Time int64  // milliseconds since 1970, UTC
			Type string // "earthquake", "quarry blast", …
		}
		Geometry *struct {
			Coordinates []float64 // longitude, latitude, depth in km
		}
	}
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("genquakes: ")
	in := flag.String("in", "earthquakes.json", "USGS feed `file`, GeoJSON")
	out := flag.String("out", "earthquakes.csv", "CSV `file` to write")
	flag.Parse()

	raw, err := os.ReadFile(*in)
	if err != nil {
		log.Fatal(err)
	}
	var f feed
	if err := json.Unmarshal(raw, &f); err != nil {
		log.Fatal(err)
	}
	dst, err := os.Create(*out)
	if err != nil {
		log.Fatal(err)
	}
	if err := reduce(bufio.NewWriter(dst), f); err != nil {
		log.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		log.Fatal(err)
	}
}

// reduce writes the epicentres of f's earthquakes in the feed's order, and says
// on stderr how many events it left out and why.
func reduce(w *bufio.Writer, f feed) error {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	var rows [][2]float64
	var other, nowhere int
	for _, e := range f.Features {
		switch {
		case e.Properties.Type != "earthquake":
			other++
		case e.Geometry == nil || len(e.Geometry.Coordinates) < 2:
			nowhere++
		default:
			first, last = min(first, e.Properties.Time), max(last, e.Properties.Time)
			rows = append(rows, [2]float64{e.Geometry.Coordinates[1], e.Geometry.Coordinates[0]})
		}
	}
	log.Printf("%d earthquakes; left out: %d events of other types, %d without coordinates", len(rows), other, nowhere)

	fmt.Fprintf(w, "# Epicentres of %d earthquakes, %s to %s (UTC), from the all-week feed of the\n", len(rows),
		day(first), day(last))
	fmt.Fprintln(w, "# U.S. Geological Survey, Earthquake Hazards Program (earthquake.usgs.gov). Public domain in the "+
		"United States.")
	fmt.Fprintln(w, "latitude,longitude")
	for _, r := range rows {
		fmt.Fprintf(w, "%s,%s\n", degrees(r[0]), degrees(r[1]))
	}
	return w.Flush()
}

func day(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }

// degrees writes at most four decimals: eleven metres, finer than an epicentre is known. Adding 0 turns −0 into 0.
func degrees(v float64) string { return strconv.FormatFloat(math.Round(v*1e4)/1e4+0, 'f', -1, 64) }

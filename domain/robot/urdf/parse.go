package urdf

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/landing-diffusion/landing/domain/robot"
)

// A document is what a file says, not yet a chain.
type document struct {
	file   string
	name   string
	links  []link
	joints []joint
	notes  []string
	covers []Cover
}

type link struct {
	name   string
	line   int
	shapes []shape
	fault  error // of what is in it, which matters if the chain has it
}

type joint struct {
	name, kind    string
	parent, child string
	mimic         string
	line          int
	origin        robot.Pose
	angle         float64 // the largest of the origin's
	axis          [3]float64

	limited, soft          bool
	lower, upper, velocity float64
	softLower, softUpper   float64
	limitLine              int
	multiplier, offset     float64 // of mimic
	fault                  error   // of what is in it, which matters if the chain has it
}

func (j *joint) element() string { return fmt.Sprintf("joint %q", j.name) }

// A parser reads one file and keeps its first fault: what is read after it does not matter.
type parser struct {
	file    string
	volume  bool
	xml     *xml.Decoder
	fault   error
	skipped map[string]int // elements that are none of URDF's, by name
	order   []string
}

// An element has a start tag, with where it begins and how errors call it, and the elements in it that are read.
type element struct {
	name     string
	line     int
	path     string
	attrs    map[string]string
	children []*element
}

// inside says how errors begin the path of what is in the element.
func (e *element) inside() string {
	switch name := e.attrs["name"]; {
	case e.name == "robot":
		return ""
	case (e.name == "link" || e.name == "joint") && name != "":
		return fmt.Sprintf("%s %q", e.name, name)
	}
	return e.path
}

// contents says which elements are read in an element of a name, and which are passed over without a note: the words
// of a list, or all ("*"). In an element that is not here all are passed over.
var contents = map[string]struct{ read, pass string }{
	"":          {read: "*"},
	"robot":     {read: "link joint", pass: "material transmission gazebo sensor ros2_control"},
	"link":      {read: "collision", pass: "inertial visual"},
	"collision": {read: "origin geometry", pass: "*"},
	"geometry":  {read: "*"},
	"joint": {read: "origin parent child axis limit mimic safety_controller",
		pass: "dynamics calibration hardwareInterface"},
}

func listed(words, name string) bool {
	return words == "*" || slices.Contains(strings.Fields(words), name)
}

func (p *parser) fail(line int, element, format string, v ...any) {
	if p.fault == nil {
		p.fault = wrong(p.file, line, element, format, v...)
	}
}

func (p *parser) parse(r io.Reader) (*document, error) {
	p.xml, p.skipped = xml.NewDecoder(r), map[string]int{}
	d, file := &document{file: p.file}, &element{}
	p.read(file)
	if len(file.children) == 0 {
		p.fail(0, "", "has no element; expected <robot>")
	}
	for i, e := range file.children {
		if e.name != "robot" || i > 0 {
			p.fail(e.line, e.path, "expected one <robot> and nothing beside it")
		}
	}
	if p.fault == nil {
		p.robot(d, file.children[0])
	}
	for _, name := range p.order {
		d.notes = append(d.notes, fmt.Sprintf("passed over <%s>, %d times: not of URDF", name, p.skipped[name]))
	}
	return d, p.fault
}

// read reads what is in an element, to its end.
func (p *parser) read(e *element) {
	in, known := contents[e.name]
	for p.fault == nil {
		line, _ := p.xml.InputPos()
		token, err := p.xml.Token()
		switch t := token.(type) {
		case nil:
			if err != io.EOF {
				p.syntax(err, e.inside())
			}
			return
		case xml.EndElement:
			return
		case xml.Directive:
			p.fail(line, "<!"+brief(string(t))+">", "document types and entities are refused; expected elements only")
		case xml.StartElement:
			name := t.Name.Local
			c := &element{name: name, line: line, path: strings.TrimSpace(e.inside() + " <" + brief(name) + ">")}
			c.attrs = p.attributes(c, t)
			if listed(in.read, name) {
				e.children = append(e.children, c)
				p.read(c)
				p.bound(e)
				continue
			}
			if known && !listed(in.pass, name) {
				p.strange(brief(name))
			}
			if err := p.xml.Skip(); err != nil {
				p.syntax(err, c.path)
			}
		}
	}
}

// bound refuses a robot of too many links or joints.
func (p *parser) bound(robot *element) {
	if robot.name != "robot" || len(robot.children) <= MostLinks {
		return
	}
	last, n := robot.children[len(robot.children)-1], 0
	for _, c := range robot.children {
		if c.name == last.name {
			n++
		}
	}
	if n > MostLinks {
		p.fail(last.line, "", "more than %d %ss; expected at most as many", MostLinks, last.name)
	}
}

// syntax gives an error of the XML reader its place.
func (p *parser) syntax(err error, inside string) {
	line, _ := p.xml.InputPos()
	var at *xml.SyntaxError
	if errors.As(err, &at) {
		p.fail(at.Line, inside, "no well-formed XML: %s", brief(at.Msg))
		return
	}
	p.fail(line, inside, "no well-formed XML: %v", err)
}

// attributes returns those of an element by name; a second one of the same is refused.
func (p *parser) attributes(e *element, tag xml.StartElement) map[string]string {
	if strings.Contains(tag.Name.Space, "xacro") {
		p.fail(e.line, e.path, "is a macro of xacro; expected plain URDF: expand the file with xacro first")
	}
	attrs := map[string]string{}
	for _, a := range tag.Attr {
		if a.Name.Space != "" {
			continue
		}
		if _, twice := attrs[a.Name.Local]; twice {
			p.fail(e.line, e.path, "has the attribute %s twice", brief(a.Name.Local))
		}
		if strings.Contains(a.Value, "${") {
			p.fail(e.line, e.path, "%s=%q is an expression of xacro; expected plain URDF: "+
				"expand the file with xacro first", brief(a.Name.Local), brief(a.Value))
		}
		attrs[a.Name.Local] = a.Value
	}
	return attrs
}

// strange counts an element that is none of URDF's, which a note will say.
func (p *parser) strange(name string) {
	if p.skipped[name] == 0 && len(p.order) == 16 { // as many kinds as anybody reads
		name = "…"
	}
	if p.skipped[name] == 0 {
		p.order = append(p.order, name)
	}
	p.skipped[name]++
}

// one returns the only element of a name in another, or nil.
func (p *parser) one(in *element, name string) (found *element) {
	for _, c := range in.children {
		if c.name == name {
			if found != nil {
				p.fail(c.line, c.path, "is there twice")
			}
			found = c
		}
	}
	return found
}

func (p *parser) robot(d *document, robot *element) {
	d.name = robot.attrs["name"]
	first := map[string]int{} // lines
	for _, e := range robot.children {
		if name := e.attrs["name"]; name == "" || len(name) > 256 {
			p.fail(e.line, e.path, "name=%q; expected a name of 1 to 256 bytes", brief(name))
		}
		if at, twice := first[e.inside()]; twice {
			p.fail(e.line, e.inside(), "is there on line %d already", at)
		}
		first[e.inside()] = e.line
		if p.fault != nil {
			return
		}
		if e.name == "link" {
			l := p.link(e)
			l.fault, p.fault = p.fault, nil
			d.links = append(d.links, l)
			continue
		}
		j := p.joint(e)
		j.fault, p.fault = p.fault, nil
		if p.ends(&j, e); p.fault != nil {
			return
		}
		d.joints = append(d.joints, j)
	}
}

func (p *parser) link(e *element) link {
	l := link{name: e.attrs["name"], line: e.line}
	if !p.volume {
		return l
	}
	for _, c := range e.children {
		origin, geometry := p.origin(p.one(c, "origin")), p.one(c, "geometry")
		if geometry == nil {
			continue
		}
		s := p.geometry(geometry)
		s.origin = origin
		l.shapes = append(l.shapes, s)
	}
	return l
}

// geometry reads the shape in a <geometry>.
func (p *parser) geometry(g *element) (s shape) {
	for i, e := range g.children {
		if i > 0 {
			p.fail(e.line, e.path, "is a second shape; expected one")
		}
		s.line, s.kind = e.line, e.name
		switch s.kind {
		case "sphere":
			s.radius = p.length(e, "radius")
		case "cylinder", "capsule":
			s.radius, s.size[2] = p.length(e, "radius"), p.length(e, "length")
		case "box":
			if s.size = p.triple(e, "size", [3]float64{}); min(s.size[0], s.size[1], s.size[2]) <= 0 {
				p.fail(e.line, e.path, "size=%q; expected lengths above 0", brief(e.attrs["size"]))
			}
		case "mesh":
			s.file, s.size = e.attrs["filename"], p.triple(e, "scale", [3]float64{1, 1, 1})
		default:
			p.fail(e.line, e.path, "is an unknown shape; expected sphere, capsule, cylinder, box or mesh")
		}
	}
	if len(g.children) == 0 {
		p.fail(g.line, g.path, "has no shape; expected sphere, capsule, cylinder, box or mesh")
	}
	return s
}

// kinds of joints in URDF; those without a kind of ours cannot be on the chain.
var kinds = map[string]robot.Kind{
	"revolute": robot.Revolute, "continuous": robot.Continuous, "prismatic": robot.Prismatic, "fixed": robot.Fixed,
	"floating": -1, "planar": -1,
}

func (p *parser) joint(e *element) joint {
	j := joint{name: e.attrs["name"], line: e.line, kind: e.attrs["type"], origin: p.origin(p.one(e, "origin")),
		axis: [3]float64{1, 0, 0}, velocity: math.Inf(1), multiplier: 1}
	if o := p.one(e, "origin"); o != nil {
		rpy := p.triple(o, "rpy", [3]float64{})
		j.angle = max(math.Abs(rpy[0]), math.Abs(rpy[1]), math.Abs(rpy[2]))
	}
	if a := p.one(e, "axis"); a != nil && j.kind != "fixed" {
		j.axis = p.axis(a)
	}
	if _, known := kinds[j.kind]; !known {
		p.fail(j.line, j.element(), "type=%q is unknown; expected revolute, continuous, prismatic or fixed",
			brief(j.kind))
	}
	if l := p.one(e, "limit"); l != nil {
		p.limit(&j, l)
	}
	if m := p.one(e, "mimic"); m != nil {
		if j.mimic = m.attrs["joint"]; j.mimic == "" {
			p.fail(m.line, m.path, "names no joint")
		}
		p.numbers(m, "multiplier", &j.multiplier, "offset", &j.offset)
	}
	if c := p.one(e, "safety_controller"); c != nil {
		p.numbers(c, "soft_lower_limit", &j.softLower, "soft_upper_limit", &j.softUpper)
		j.soft = j.softLower < j.softUpper
	}
	return j
}

// ends reads the links that a joint joins, without which there is no tree.
func (p *parser) ends(j *joint, e *element) {
	end := func(name string) string {
		if l := p.one(e, name); l != nil && l.attrs["link"] != "" {
			return l.attrs["link"]
		}
		p.fail(j.line, j.element(), "names no %s link; expected <%[1]s link=…/>", name)
		return ""
	}
	j.parent, j.child = end("parent"), end("child")
}

// origin reads xyz and rpy, the angles about fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll). Without an element (nil) it is
// the identity.
func (p *parser) origin(e *element) (pose robot.Pose) {
	if e == nil {
		return robot.Identity()
	}
	pose.P = p.triple(e, "xyz", [3]float64{})
	rpy := p.triple(e, "rpy", [3]float64{})
	sr, cr := math.Sincos(rpy[0])
	sp, cp := math.Sincos(rpy[1])
	sy, cy := math.Sincos(rpy[2])
	pose.R = [9]float64{
		cy * cp, cy*sp*sr - sy*cr, cy*sp*cr + sy*sr,
		sy * cp, sy*sp*sr + cy*cr, sy*sp*cr - cy*sr,
		-sp, cp * sr, cp * cr,
	}
	return pose
}

// axis reads a direction, and brings it to length 1.
func (p *parser) axis(e *element) [3]float64 {
	v := p.triple(e, "xyz", [3]float64{1, 0, 0})
	l := math.Hypot(math.Hypot(v[0], v[1]), v[2])
	if l < 1e-9 {
		p.fail(e.line, e.path, "xyz=%q has no direction; expected a vector that is not zero", brief(e.attrs["xyz"]))
	}
	if l != 1 {
		v = [3]float64{v[0] / l, v[1] / l, v[2] / l}
	}
	return v
}

func (p *parser) limit(j *joint, e *element) {
	j.limited, j.limitLine = true, e.line
	p.numbers(e, "lower", &j.lower, "upper", &j.upper, "velocity", &j.velocity)
	for _, v := range []*float64{&j.lower, &j.upper, &j.velocity} {
		if math.Abs(*v) > most {
			*v = math.Inf(int(math.Copysign(1, *v)))
		}
	}
	if j.velocity < 0 {
		p.fail(e.line, e.path, "velocity=%q; expected none below 0", brief(e.attrs["velocity"]))
	}
}

// numbers reads attributes where they are given: a name and where its number goes, one after the other. They may be
// of any size: a limit of −1e16 is none.
func (p *parser) numbers(e *element, list ...any) {
	for i := 0; i < len(list); i += 2 {
		name := list[i].(string)
		if text, given := e.attrs[name]; given {
			*list[i+1].(*float64) = p.decimal(e, name, text)
		}
	}
}

func (p *parser) length(e *element, name string) float64 {
	text, given := e.attrs[name]
	if !given {
		p.fail(e.line, e.path, "has no %s", name)
	}
	v := p.number(e, name, text)
	if v <= 0 {
		p.fail(e.line, e.path, "%s=%q; expected a length above 0", name, brief(text))
	}
	return v
}

// triple reads three numbers; without the attribute the default.
func (p *parser) triple(e *element, name string, or [3]float64) (v [3]float64) {
	text, given := e.attrs[name]
	if !given {
		return or
	}
	fields := strings.Fields(text)
	if len(fields) != 3 {
		p.fail(e.line, e.path, "%s=%q has %d numbers; expected 3", name, brief(text), len(fields))
		return or
	}
	for i, f := range fields {
		v[i] = p.number(e, name, f)
	}
	return v
}

// most is the largest number that a file may say: a thousand kilometres.
const most = 1e6

// decimal reads a number in an attribute's value.
func (p *parser) decimal(e *element, name, text string) float64 {
	text = strings.TrimSpace(text)
	v, err := strconv.ParseFloat(text, 64)
	if strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789+-.eE", r) }) ||
		err != nil && !errors.Is(err, strconv.ErrRange) {
		p.fail(e.line, e.path, "%s=%q: %q; expected a decimal number", name, brief(e.attrs[name]), brief(text))
	}
	return v
}

// number reads one that is at most so large.
func (p *parser) number(e *element, name, text string) float64 {
	v := p.decimal(e, name, text)
	if math.Abs(v) > most {
		p.fail(e.line, e.path, "%s=%q: %q; expected a number of at most %g in size", name, brief(e.attrs[name]),
			brief(text), float64(most))
	}
	return v
}

// brief cuts a text from a file to what a message can carry.
func brief(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "…"
	}
	return s
}

func list(names []string) string {
	names = slices.Clone(names)
	for i := range names {
		names[i] = brief(names[i])
	}
	if n := len(names); n > 12 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:12], ", "), n-12)
	}
	return strings.Join(names, ", ")
}

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
}

type link struct {
	name   string
	line   int
	shapes []shape
	meshes int
}

type joint struct {
	name, kind    string
	parent, child string
	mimic         string
	line          int
	origin        robot.Pose
	axis          [3]float64

	limited                bool
	lower, upper, velocity float64
	limitLine              int
}

func (j *joint) element() string { return fmt.Sprintf("joint %q", j.name) }

// A parser reads tokens of one file.
type parser struct {
	file    string
	volume  bool
	xml     *xml.Decoder
	skipped map[string]int // elements that are none of URDF's, by name
	order   []string
}

// An element is a start tag, with where it begins and how errors call it.
type element struct {
	tag   xml.StartElement
	line  int
	path  string
	attrs map[string]string
}

func (p *parser) fail(line int, element, format string, v ...any) error {
	return &Error{File: p.file, Line: line, Element: element, Why: fmt.Sprintf(format, v...)}
}

func (p *parser) parse(r io.Reader) (*document, error) {
	p.xml, p.skipped = xml.NewDecoder(r), map[string]int{}
	d := &document{file: p.file}
	found := false
	for {
		e, err := p.next("")
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if e.tag.Name.Local != "robot" || found {
			return nil, p.fail(e.line, e.path, "expected one <robot> and nothing beside it")
		}
		found = true
		d.name = e.attrs["name"]
		if err := p.robot(d); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, p.fail(0, "", "has no element; expected <robot>")
	}
	for _, name := range p.order {
		d.notes = append(d.notes, fmt.Sprintf("passed over <%s>, %d times: not of URDF", name, p.skipped[name]))
	}
	return d, nil
}

// next returns the next element inside the one at hand, nil behind the last one, io.EOF
// behind the last of the file. Whoever gets an element reads or skips what is in it.
func (p *parser) next(inside string) (*element, error) {
	for {
		line, _ := p.xml.InputPos()
		token, err := p.xml.Token()
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			return nil, p.syntax(err, inside)
		}
		switch t := token.(type) {
		case xml.EndElement:
			return nil, nil
		case xml.Directive:
			return nil, p.fail(line, "<!"+brief(string(t))+">",
				"document types and entities are refused; expected elements only")
		case xml.StartElement:
			e := &element{tag: t, line: line, path: strings.TrimSpace(inside + " <" + brief(t.Name.Local) + ">")}
			if e.attrs, err = p.attributes(e); err != nil {
				return nil, err
			}
			return e, nil
		}
	}
}

// syntax gives an error of the XML reader its place.
func (p *parser) syntax(err error, inside string) error {
	line, _ := p.xml.InputPos()
	var at *xml.SyntaxError
	if errors.As(err, &at) {
		return &Error{File: p.file, Line: at.Line, Element: inside, Why: "no well-formed XML: " + brief(at.Msg)}
	}
	return &Error{File: p.file, Line: line, Element: inside, Why: "no well-formed XML", Err: err}
}

// attributes returns those of an element by name; a second one of the same is refused.
func (p *parser) attributes(e *element) (map[string]string, error) {
	if strings.Contains(e.tag.Name.Space, "xacro") {
		return nil, p.fail(e.line, e.path, "is a macro of xacro; expected plain URDF: expand the file with xacro first")
	}
	attrs := map[string]string{}
	for _, a := range e.tag.Attr {
		if a.Name.Space != "" {
			continue
		}
		if _, twice := attrs[a.Name.Local]; twice {
			return nil, p.fail(e.line, e.path, "has the attribute %s twice", brief(a.Name.Local))
		}
		if strings.Contains(a.Value, "${") {
			return nil, p.fail(e.line, e.path, "%s=%q is an expression of xacro; expected plain URDF: "+
				"expand the file with xacro first", brief(a.Name.Local), brief(a.Value))
		}
		attrs[a.Name.Local] = a.Value
	}
	return attrs, nil
}

func (p *parser) skip(e *element) error {
	if err := p.xml.Skip(); err != nil {
		return p.syntax(err, e.path)
	}
	return nil
}

// strange is skip of an element that is none of URDF's, which a note will say.
func (p *parser) strange(e *element) error {
	name := brief(e.tag.Name.Local)
	if p.skipped[name] == 0 {
		if len(p.order) == 16 { // as many kinds as anybody reads
			name = "…"
		}
		if p.skipped[name] == 0 {
			p.order = append(p.order, name)
		}
	}
	p.skipped[name]++
	return p.skip(e)
}

func (p *parser) robot(d *document) error {
	links, joints := map[string]int{}, map[string]int{}
	for {
		e, err := p.next("")
		if err != nil || e == nil {
			return p.ended(err)
		}
		switch e.tag.Name.Local {
		case "link":
			l, err := p.link(e)
			if err != nil {
				return err
			}
			if at, twice := links[l.name]; twice {
				return p.fail(l.line, fmt.Sprintf("link %q", l.name), "is there on line %d already", at)
			}
			links[l.name] = l.line
			if d.links = append(d.links, l); len(d.links) > MostLinks {
				return p.fail(l.line, "", "more than %d links; expected at most as many", MostLinks)
			}
		case "joint":
			j, err := p.joint(e)
			if err != nil {
				return err
			}
			if at, twice := joints[j.name]; twice {
				return p.fail(j.line, j.element(), "is there on line %d already", at)
			}
			joints[j.name] = j.line
			if d.joints = append(d.joints, j); len(d.joints) > MostLinks {
				return p.fail(j.line, "", "more than %d joints; expected at most as many", MostLinks)
			}
		case "material", "transmission", "gazebo", "sensor", "ros2_control":
			err = p.skip(e)
		default:
			err = p.strange(e)
		}
		if err != nil {
			return err
		}
	}
}

// ended returns the error, of a file that stops inside an element too.
func (p *parser) ended(err error) error {
	if err == io.EOF {
		return p.fail(0, "", "ends inside <robot>")
	}
	return err
}

// name returns the name of a link or a joint.
func (p *parser) name(e *element) (string, error) {
	name := e.attrs["name"]
	if name == "" || len(name) > 256 {
		return "", p.fail(e.line, e.path, "name=%q; expected a name of 1 to 256 bytes", brief(name))
	}
	return name, nil
}

func (p *parser) link(e *element) (l link, err error) {
	l.line = e.line
	if l.name, err = p.name(e); err != nil {
		return l, err
	}
	path := fmt.Sprintf("link %q", l.name)
	for {
		c, err := p.next(path)
		if err != nil || c == nil {
			return l, p.ended(err)
		}
		switch c.tag.Name.Local {
		case "collision":
			if p.volume {
				err = p.collision(&l, path)
			} else {
				err = p.skip(c)
			}
		case "inertial", "visual":
			err = p.skip(c)
		default:
			err = p.strange(c)
		}
		if err != nil {
			return l, err
		}
	}
}

func (p *parser) collision(l *link, path string) error {
	path += " <collision>"
	origin, placed, seen := robot.Identity(), false, false
	var s shape
	for {
		e, err := p.next(path)
		if err != nil {
			return p.ended(err)
		}
		if e == nil {
			break
		}
		switch e.tag.Name.Local {
		case "origin":
			if placed {
				return p.fail(e.line, e.path, "is there twice")
			}
			placed = true
			if origin, err = p.origin(e); err == nil {
				err = p.skip(e)
			}
		case "geometry":
			if seen {
				return p.fail(e.line, e.path, "is there twice")
			}
			seen = true
			s, err = p.geometry(l, e)
		default:
			err = p.skip(e)
		}
		if err != nil {
			return err
		}
	}
	if s.kind != "" {
		s.origin = origin
		l.shapes = append(l.shapes, s)
	}
	return nil
}

// geometry reads the shape in a <geometry>; one without kind is a mesh.
func (p *parser) geometry(l *link, g *element) (s shape, err error) {
	n := 0
	for {
		e, err := p.next(g.path)
		if err != nil {
			return s, p.ended(err)
		}
		if e == nil {
			break
		}
		if n++; n > 1 {
			return s, p.fail(e.line, e.path, "is a second shape; expected one")
		}
		s.line = e.line
		switch kind := e.tag.Name.Local; kind {
		case "sphere":
			s.kind = kind
			s.radius, err = p.length(e, "radius")
		case "cylinder", "capsule":
			s.kind = kind
			if s.radius, err = p.length(e, "radius"); err == nil {
				s.size[2], err = p.length(e, "length")
			}
		case "box":
			s.kind = kind
			if s.size, err = p.triple(e, "size", [3]float64{}); err == nil && min(s.size[0], s.size[1],
				s.size[2]) <= 0 {
				err = p.fail(e.line, e.path, "size=%q; expected lengths above 0", brief(e.attrs["size"]))
			}
		case "mesh":
			l.meshes++
		default:
			return s, p.fail(e.line, e.path, "is an unknown shape; expected sphere, capsule, cylinder, box or mesh")
		}
		if err == nil {
			err = p.skip(e)
		}
		if err != nil {
			return s, err
		}
	}
	if n == 0 {
		return s, p.fail(g.line, g.path, "has no shape; expected sphere, capsule, cylinder, box or mesh")
	}
	return s, nil
}

// kinds of joints in URDF; those without a kind of ours cannot be on the chain.
var kinds = map[string]robot.Kind{
	"revolute": robot.Revolute, "continuous": robot.Continuous, "prismatic": robot.Prismatic, "fixed": robot.Fixed,
	"floating": -1, "planar": -1,
}

func (p *parser) joint(e *element) (j joint, err error) {
	j = joint{line: e.line, kind: e.attrs["type"], origin: robot.Identity(), axis: [3]float64{1, 0, 0}}
	j.velocity = math.Inf(1)
	if j.name, err = p.name(e); err != nil {
		return j, err
	}
	path := j.element()
	if _, known := kinds[j.kind]; !known {
		return j, p.fail(j.line, path, "type=%q is unknown; expected revolute, continuous, prismatic or fixed",
			brief(j.kind))
	}
	seen := map[string]bool{}
	for {
		c, err := p.next(path)
		if err != nil {
			return j, p.ended(err)
		}
		if c == nil {
			break
		}
		tag := c.tag.Name.Local
		switch tag {
		case "origin", "parent", "child", "axis", "limit", "mimic":
			if seen[tag] {
				return j, p.fail(c.line, c.path, "is there twice")
			}
			seen[tag] = true
		}
		switch tag {
		case "origin":
			j.origin, err = p.origin(c)
		case "axis":
			j.axis, err = p.axis(c)
		case "limit":
			err = p.limit(&j, c)
		case "parent":
			j.parent = c.attrs["link"]
		case "child":
			j.child = c.attrs["link"]
		case "mimic":
			if j.mimic = c.attrs["joint"]; j.mimic == "" {
				err = p.fail(c.line, c.path, "names no joint")
			}
		case "dynamics", "calibration", "safety_controller", "hardwareInterface":
		default:
			if err := p.strange(c); err != nil {
				return j, err
			}
			continue
		}
		if err == nil {
			err = p.skip(c)
		}
		if err != nil {
			return j, err
		}
	}
	for _, end := range [][2]string{{"parent", j.parent}, {"child", j.child}} {
		if end[1] == "" {
			return j, p.fail(j.line, path, "names no %s link; expected <%s link=…/>", end[0], end[0])
		}
	}
	return j, nil
}

// origin reads xyz and rpy, the angles about fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll).
func (p *parser) origin(e *element) (pose robot.Pose, err error) {
	if pose.P, err = p.triple(e, "xyz", [3]float64{}); err != nil {
		return pose, err
	}
	rpy, err := p.triple(e, "rpy", [3]float64{})
	if err != nil {
		return pose, err
	}
	sr, cr := math.Sincos(rpy[0])
	sp, cp := math.Sincos(rpy[1])
	sy, cy := math.Sincos(rpy[2])
	pose.R = [9]float64{
		cy * cp, cy*sp*sr - sy*cr, cy*sp*cr + sy*sr,
		sy * cp, sy*sp*sr + cy*cr, sy*sp*cr - cy*sr,
		-sp, cp * sr, cp * cr,
	}
	return pose, nil
}

// axis reads a direction, and brings it to length 1.
func (p *parser) axis(e *element) (v [3]float64, err error) {
	if v, err = p.triple(e, "xyz", [3]float64{1, 0, 0}); err != nil {
		return v, err
	}
	l := math.Hypot(math.Hypot(v[0], v[1]), v[2])
	if l < 1e-9 {
		return v, p.fail(e.line, e.path, "xyz=%q has no direction; expected a vector that is not zero",
			brief(e.attrs["xyz"]))
	}
	if l != 1 {
		v = [3]float64{v[0] / l, v[1] / l, v[2] / l}
	}
	return v, nil
}

func (p *parser) limit(j *joint, e *element) (err error) {
	j.limited, j.limitLine = true, e.line
	for _, c := range []struct {
		name string
		to   *float64
	}{{"lower", &j.lower}, {"upper", &j.upper}, {"velocity", &j.velocity}} {
		if text, given := e.attrs[c.name]; given {
			if *c.to, err = number(text); err != nil {
				return p.fail(e.line, e.path, "%s=%q; %v", c.name, brief(text), err)
			}
		}
	}
	if j.velocity < 0 {
		return p.fail(e.line, e.path, "velocity=%q; expected none below 0", brief(e.attrs["velocity"]))
	}
	return nil
}

func (p *parser) length(e *element, name string) (float64, error) {
	text, given := e.attrs[name]
	if !given {
		return 0, p.fail(e.line, e.path, "has no %s", name)
	}
	v, err := number(text)
	if err != nil {
		return 0, p.fail(e.line, e.path, "%s=%q; %v", name, brief(text), err)
	}
	if v <= 0 {
		return 0, p.fail(e.line, e.path, "%s=%q; expected a length above 0", name, brief(text))
	}
	return v, nil
}

// triple reads three numbers; without the attribute the default.
func (p *parser) triple(e *element, name string, or [3]float64) (v [3]float64, err error) {
	text, given := e.attrs[name]
	if !given {
		return or, nil
	}
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return v, p.fail(e.line, e.path, "%s=%q has %d numbers; expected 3", name, brief(text), len(fields))
	}
	for i, f := range fields {
		if v[i], err = number(f); err != nil {
			return v, p.fail(e.line, e.path, "%s=%q: %q; %v", name, brief(text), brief(f), err)
		}
	}
	return v, nil
}

// most is the largest number that a file may say: a thousand kilometres.
const most = 1e6

var errNumber = errors.New("expected a decimal number")

func number(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789+-.eE", r) }) {
		return 0, errNumber
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, errNumber
	}
	if math.Abs(v) > most {
		return 0, fmt.Errorf("expected a number of at most %g in size", float64(most))
	}
	return v, nil
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

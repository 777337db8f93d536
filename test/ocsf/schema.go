package main

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
)

// schema is the OCSF schema.
type schema struct {
	Version string
	Classes map[string]object
	Objects map[string]object
}

// object is a class of events or the type of an object.
type object struct {
	Attributes  map[string]attribute
	Constraints *struct {
		AtLeastOne []string `json:"at_least_one"`
		JustOne    []string `json:"just_one"`
	}
}

// attribute is an attribute of a class or an object.
type attribute struct {
	Type        string
	ObjectType  string `json:"object_type"`
	IsArray     bool   `json:"is_array"`
	Requirement string
	Profile     string // The profile that adds the attribute, or "".
	Enum        map[string]struct{ Caption string }
	Sibling     string // The name of the attribute with the caption of the value.
}

// other is the value of an enum whose caption the sender chooses.
const other = "99"

// checker collects the problems of an event.
type checker struct {
	schema   schema
	profiles []any // The profiles of the event.
	problems []string
}

func (c *checker) report(path, format string, args ...any) {
	c.problems = append(c.problems, path+": "+fmt.Sprintf(format, args...))
}

// object checks the attributes of a value against a definition.
func (c *checker) object(path string, o object, value map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(value)) {
		a, ok := o.Attributes[name]
		if !ok || !c.exists(a) {
			c.report(path+name, "is not an attribute")
			continue
		}
		c.attribute(path+name, a, value[name])
		c.sibling(path, name, a, value)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Attributes)) {
		a := o.Attributes[name]
		if _, ok := value[name]; !ok && a.Requirement == "required" && c.exists(a) {
			c.report(path+name, "is required")
		}
	}
	if o.Constraints == nil {
		return
	}
	has := func(name string) bool { return value[name] != nil }
	if names := o.Constraints.AtLeastOne; len(names) > 0 && !slices.ContainsFunc(names, has) {
		c.report(path, "needs one of %v", names)
	}
	if names := o.Constraints.JustOne; len(names) > 0 && len(slices.DeleteFunc(slices.Clone(names), has)) != len(names)-1 {
		c.report(path, "needs exactly one of %v", names)
	}
}

// exists reports whether an attribute exists without a profile, or in one that the event uses.
func (c *checker) exists(a attribute) bool {
	return a.Profile == "" || slices.Contains(c.profiles, any(a.Profile))
}

// sibling checks that the sibling of an enum is the caption of its value.
func (c *checker) sibling(path, name string, a attribute, value map[string]any) {
	number, isNumber := value[name].(float64)
	caption, hasSibling := value[a.Sibling]
	if !isNumber || !hasSibling || a.Sibling == "" || a.Enum == nil {
		return
	}
	id := fmt.Sprintf("%.0f", number)
	if want := a.Enum[id].Caption; id != other && caption != want {
		c.report(path+a.Sibling, "is %q, the caption of %s is %q", caption, id, want)
	}
}

// attribute checks the type of a value, and whether an enum has it.
func (c *checker) attribute(path string, a attribute, value any) {
	if a.IsArray {
		list, ok := value.([]any)
		if !ok {
			c.report(path, "is no list")
		}
		for i, v := range list {
			a.IsArray = false
			c.attribute(fmt.Sprintf("%s[%d]", path, i), a, v)
		}
		return
	}
	if a.Type == "object_t" {
		c.nested(path, a, value)
		return
	}
	if problem := scalar(a.Type, value); problem != "" {
		c.report(path, "%s", problem)
		return
	}
	if len(a.Enum) > 0 {
		if _, ok := a.Enum[fmt.Sprint(value)]; !ok {
			c.report(path, "does not have the value %v", value)
		}
	}
}

// nested checks an object. The attributes of the type "object" are free.
func (c *checker) nested(path string, a attribute, value any) {
	fields, ok := value.(map[string]any)
	if !ok {
		c.report(path, "is no object")
		return
	}
	if a.ObjectType == "object" {
		return
	}
	o, ok := c.schema.Objects[a.ObjectType]
	if !ok {
		c.report(path, "has the unknown type %s", a.ObjectType)
		return
	}
	if len(fields) == 0 {
		c.report(path, "is empty")
	}
	c.object(path+".", o, fields)
}

// scalar returns the problem of a value of a type, or "".
func scalar(kind string, value any) string {
	switch kind {
	case "integer_t", "long_t", "timestamp_t", "port_t":
		if n, ok := value.(float64); !ok || n != math.Trunc(n) {
			return "is no integer"
		}
		if kind == "timestamp_t" && value.(float64) < 1e12 {
			return "is not in milliseconds"
		}
	case "boolean_t":
		if _, ok := value.(bool); !ok {
			return "is no boolean"
		}
	case "float_t":
		if _, ok := value.(float64); !ok {
			return "is no number"
		}
	case "ip_t":
		text, _ := value.(string)
		if _, err := netip.ParseAddr(text); err != nil {
			return "is no address"
		}
	case "json_t":
	default: // All other types are strings.
		if text, ok := value.(string); !ok || text == "" {
			return "is no text"
		}
	}
	return ""
}

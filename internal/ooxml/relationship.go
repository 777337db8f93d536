package ooxml

import (
	"errors"
	"path"
	"strconv"
	"strings"
)

// Relationship is a reference from a part to another part of the file.
type Relationship struct {
	Kind   string // The last path element of its type, such as "styles".
	Target string // Name of the other part.
}

// Relationships are the references of a part.
type Relationships struct {
	byID    map[string]Relationship // The zero Relationship for references to other files.
	targets map[string][]string     // By kind, in order.
}

// ByID returns the relationship with an id, the zero Relationship if it does not exist.
func (r Relationships) ByID(id string) Relationship { return r.byID[id] }

// Targets returns the targets of all relationships of a kind, in order.
func (r Relationships) Targets(kind string) []string { return r.targets[kind] }

// Target returns the target of the first relationship of a kind, or "".
func (r Relationships) Target(kind string) string {
	if names := r.targets[kind]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// freeID returns an unused id.
func (r Relationships) freeID() string {
	for n := len(r.byID) + 1; ; n++ {
		id := "rId" + strconv.Itoa(n)
		if _, taken := r.byID[id]; !taken {
			return id
		}
	}
}

// Relationships returns the relationships of a part, or those of the file if name is "".
func (p *Package) Relationships(name string) (Relationships, error) {
	rels := Relationships{byID: make(map[string]Relationship), targets: make(map[string][]string)}
	dir, _ := path.Split(name)
	err := p.Walk(relationshipsOf(name), func(w *Walker) error {
		return w.Each(func(e Element) error {
			if e.Local != "Relationship" {
				return w.Skip()
			}
			var rel Relationship
			if e.Attr("TargetMode") != "External" {
				rel = Relationship{path.Base(e.Attr("Type")), resolve(dir, e.Attr("Target"))}
				rels.targets[rel.Kind] = append(rels.targets[rel.Kind], rel.Target)
			}
			rels.byID[e.Attr("Id")] = rel
			return w.Skip()
		})
	})
	if errors.Is(err, ErrNoPart) {
		return rels, nil
	}
	return rels, err
}

// relationshipsOf returns the name of the part that contains the relationships of a part.
func relationshipsOf(name string) string {
	dir, base := path.Split(name)
	return dir + "_rels/" + base + ".rels"
}

// resolve returns the name of the part for a target in dir. The name never leaves the root of the file.
func resolve(dir, target string) string {
	target, _, _ = strings.Cut(strings.ReplaceAll(target, `\`, "/"), "#")
	if !strings.HasPrefix(target, "/") {
		target = "/" + dir + target
	}
	return strings.TrimPrefix(path.Clean(target), "/")
}

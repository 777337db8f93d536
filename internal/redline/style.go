package redline

import "github.com/tsumugi-ai/tsumugi/internal/ooxml"

// style is a style of paragraphs or characters.
type style struct {
	basedOn string
	hidden  *bool // Nil if the style does not define it.
}

// styleSheet contains the styles of a file by id. The default paragraph style also has the id "".
type styleSheet map[string]style

// readStyles reads a part with styles, which may be missing.
func readStyles(pkg *ooxml.Package, name string) (styleSheet, error) {
	all := styleSheet{}
	return all, pkg.WalkOptional(name, func(w *ooxml.Walker) error {
		return w.Each(func(e ooxml.Element) error {
			if e.Local != "style" {
				return w.Skip()
			}
			var s style
			err := w.Each(func(e ooxml.Element) error {
				switch e.Local {
				case "basedOn":
					s.basedOn = e.Attr("val")
				case "rPr":
					return w.Each(func(e ooxml.Element) error {
						if e.Local == "vanish" {
							s.hidden = new(e.On("val"))
						}
						return w.Skip()
					})
				}
				return w.Skip()
			})
			all[e.Attr("styleId")] = s
			if e.Attr("type") == "paragraph" && e.Attr("default") != "" && e.On("default") {
				all[""] = s
			}
			return err
		})
	})
}

// maxBases limits the search in the bases of a style, because styles can form a cycle.
const maxBases = 20

// hides reports whether the styles of a paragraph and of its characters hide a text. If both do, the text is visible
// (ECMA-376 part 1, 17.7.3).
func (all styleSheet) hides(paragraph, characters string) bool {
	return all.hidden(paragraph) != (characters != "" && all.hidden(characters))
}

func (all styleSheet) hidden(id string) bool {
	for range maxBases {
		s, ok := all[id]
		if !ok || s.hidden != nil {
			return ok && *s.hidden
		}
		if id = s.basedOn; id == "" {
			break
		}
	}
	return false
}

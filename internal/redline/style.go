package redline

import "github.com/tsumugi-ai/tsumugi/internal/ooxml"

// styleSheet contains the styles of a file by id. The default paragraph style also has the id "".
type styleSheet map[string]ooxml.WordStyle

// readStyles reads a part with styles, which may be missing.
func readStyles(pkg *ooxml.Package, name string) (styleSheet, error) {
	all := styleSheet{}
	return all, pkg.WalkOptional(name, func(w *ooxml.Walker) error {
		return w.Each(func(e ooxml.Element) error {
			if e.Local != "style" {
				return w.Skip()
			}
			var s ooxml.WordStyle
			err := w.Each(func(e ooxml.Element) error { return s.Read(w, e) })
			all[e.Attr("styleId")] = s
			if e.Attr("type") == "paragraph" && e.Attr("default") != "" && e.On("default") {
				all[""] = s
			}
			return err
		})
	})
}

// hides reports whether the styles of a paragraph and of its characters hide a text.
func (all styleSheet) hides(paragraph, characters string) bool {
	return ooxml.HidesText(func(id string) (ooxml.WordStyle, bool) {
		s, ok := all[id]
		return s, ok
	}, paragraph, characters)
}

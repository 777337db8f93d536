package ooxml

// WordStyle contains the properties of a style in a Word file that determine whether text is hidden.
type WordStyle struct {
	BasedOn string // The id of another style; "" for none.
	Hidden  *bool  // Nil if the style does not define it.
}

// MaxBases limits the number of styles that are followed from one style, because styles can form a cycle.
const MaxBases = 20

// Read reads an element inside of a style. It skips elements that are not a part of a WordStyle.
func (s *WordStyle) Read(w *Walker, e Element) error {
	switch e.Local {
	case "basedOn":
		s.BasedOn = e.Attr("val")
	case "rPr":
		return w.All(func(e Element) {
			if e.Local == "vanish" {
				s.Hidden = new(e.On("val"))
			}
		})
	}
	return w.Skip()
}

// HidesText reports whether the styles of a paragraph and of its characters hide a text. characters may be "". If both
// styles hide it, the text is visible (ECMA-376 part 1, 17.7.3). find returns a style by its id.
func HidesText(find func(id string) (WordStyle, bool), paragraph, characters string) bool {
	return hides(find, paragraph) != (characters != "" && hides(find, characters))
}

func hides(find func(id string) (WordStyle, bool), id string) bool {
	for range MaxBases {
		s, ok := find(id)
		if !ok || s.Hidden != nil {
			return ok && *s.Hidden
		}
		if id = s.BasedOn; id == "" {
			break
		}
	}
	return false
}

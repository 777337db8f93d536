package datasource

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxFilename bounds a name, in characters.
const maxFilename = 255

// cleanFilename returns a name that is safe to show and to download: without folders, control characters and
// bidirectional controls. It is "" if nothing is left. Decomposed names, as macOS sends them, are composed.
func cleanFilename(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' ||
			r == '\uFEFF' {
			return -1
		}
		return r
	}, name))
	name = strings.TrimSpace(name)
	if strings.Trim(name, ".") == "" {
		return ""
	}
	if runes := []rune(name); len(runes) > maxFilename {
		// The end says what it is.
		const end = 16
		name = string(runes[:maxFilename-end-1]) + "…" + string(runes[len(runes)-end:])
	}
	return name
}

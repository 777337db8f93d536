package datasource

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxFilename is the largest length of a name, in characters.
const maxFilename = 255

// cleanFilename returns a name that is safe to display and to download: without folders, control characters and
// bidirectional controls. It returns "" if nothing remains. It composes decomposed characters, which macOS sends.
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
		// Keep the end with the extension.
		const end = 16
		name = string(runes[:maxFilename-end-1]) + "…" + string(runes[len(runes)-end:])
	}
	return name
}

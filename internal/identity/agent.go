package identity

import "strings"

// Names of programs and systems, each with the substring of a user agent that identifies it. The order matters: most
// user agents also contain the names of other programs.
var (
	programs = [][2]string{
		{"Edg", "Edge"},
		{"OPR/", "Opera"},
		{"SamsungBrowser", "Samsung Internet"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
	}
	systems = [][2]string{
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Android", "Android"},
		{"Windows", "Windows"},
		{"Mac OS X", "Mac"},
		{"CrOS", "ChromeOS"},
		{"Linux", "Linux"},
	}
)

// Agent returns the display name of the program and the system of a user agent, such as "Chrome（Windows）", or "".
func Agent(userAgent string) string {
	program, system := nameIn(userAgent, programs), nameIn(userAgent, systems)
	switch {
	case program == "":
		return system
	case system == "":
		return program
	}
	return program + "（" + system + "）"
}

// nameIn returns the first name whose substring occurs in text, or "".
func nameIn(text string, names [][2]string) string {
	for _, name := range names {
		if strings.Contains(text, name[0]) {
			return name[1]
		}
	}
	return ""
}

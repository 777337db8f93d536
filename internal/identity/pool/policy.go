package pool

import (
	"crypto/rand"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of a password's length, in characters. 256 is the most that the protocol takes.
const (
	minPassword = 8
	maxPassword = 256
)

// symbols are the characters that Cognito counts as such. A space counts too, unless it is the first or last one.
const symbols = "^$*.[]{}()?-\"!@#%&/\\,><':;|_~`+="

// The characters that generated passwords are made of: what a person may have to type from paper has no look-alikes.
const (
	generatedLength = 16
	generatedUpper  = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	generatedLower  = "abcdefghijkmnpqrstuvwxyz"
	generatedDigits = "23456789"
	generatedSymbol = "!#%+-=?@_"
)

// What a password lacks, in the words of Cognito where it has any. The app tells them apart by these words.
const (
	tooCommon   = "Password must not be a commonly used one"
	tooPersonal = "Password must not contain your email address or name"
	notNew      = "Password must not be the previous one"
)

// Parts of an address or a name are looked for in passwords from this length on, in characters.
const minPersonal = 4

// normalizePassword returns the one form in which a password is hashed: keyboards type the same letters as different
// characters (NFKC). What is too long for a password stays as it is: normalizing takes its time.
func normalizePassword(password string) string {
	if len(password) > maxPassword*utf8.UTFMax {
		return password
	}
	return norm.NFKC.String(password)
}

// checkNewPassword returns what a new password of a user lacks, or "". Of the user the address and the name count.
func checkNewPassword(password string, user User) (string, error) {
	password = normalizePassword(password)
	if lacks := checkPolicy(password); lacks != "" {
		return lacks, nil
	}
	if common, err := isCommon(password); err != nil || common {
		return tooCommon, err
	}
	if user.appearsIn(password) {
		return tooPersonal, nil
	}
	return "", nil
}

// appearsIn reports whether a password contains a user's address or name, or a part of them that is long enough.
func (u User) appearsIn(password string) bool {
	fold := func(text string) string { return strings.ToLower(norm.NFKC.String(text)) }
	local, _, _ := strings.Cut(u.Email, "@")
	name := fold(u.Name)
	parts := append(strings.Fields(name), local, u.Email, strings.Join(strings.Fields(name), ""))
	password = fold(password)
	return slices.ContainsFunc(parts, func(part string) bool {
		return utf8.RuneCountInString(part) >= minPersonal && strings.Contains(password, part)
	})
}

// checkPolicy returns what a normalized password lacks by Cognito's default policy, in Cognito's words, or "".
func checkPolicy(password string) string {
	switch length := utf8.RuneCountInString(password); {
	case length < minPassword:
		return "Password not long enough"
	case length > maxPassword:
		return "Password too long"
	case !utf8.ValidString(password) || strings.ContainsFunc(password, isControl):
		return "Password must not have control characters"
	case strings.TrimSpace(password) != password:
		return "Password must not have leading or trailing spaces"
	case !strings.ContainsFunc(password, between('A', 'Z')):
		return "Password must have uppercase characters"
	case !strings.ContainsFunc(password, between('a', 'z')):
		return "Password must have lowercase characters"
	case !strings.ContainsFunc(password, between('0', '9')):
		return "Password must have numeric characters"
	case !strings.ContainsAny(password, symbols+" "):
		return "Password must have symbol characters"
	}
	return ""
}

func between(low, high rune) func(rune) bool {
	return func(r rune) bool { return low <= r && r <= high }
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// GeneratePassword returns a random password that the policy allows: 16 characters without look-alikes, about 90 bits.
func GeneratePassword() string {
	classes := []string{generatedUpper, generatedLower, generatedDigits, generatedSymbol}
	all := strings.Join(classes, "")
	for {
		var b strings.Builder
		for range generatedLength {
			b.WriteByte(all[randomBelow(len(all))])
		}
		// Drawing again until every class occurs keeps all allowed passwords equally likely.
		if checkPolicy(b.String()) == "" {
			return b.String()
		}
	}
}

// randomBelow returns a number in [0, n) from the system's random source, each as likely as the others.
func randomBelow(n int) int {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil { // Cannot be: crypto/rand.Reader never fails.
		panic(err)
	}
	return int(i.Int64())
}

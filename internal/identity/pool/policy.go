package pool

import (
	"crypto/rand"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of a password's length, in characters. 256 is the maximum of the protocol.
const (
	minPassword = 8
	maxPassword = 256
)

// symbols are the characters that Cognito counts as symbols. A space counts too, unless it is the first or last
// character.
const symbols = "^$*.[]{}()?-\"!@#%&/\\,><':;|_~`+="

// The characters of generated passwords, without look-alikes, because people may have to type them from paper.
const (
	generatedLength = 16
	generatedUpper  = "ABCDEFGHJKLMNPQRSTUVWXYZ"
	generatedLower  = "abcdefghijkmnpqrstuvwxyz"
	generatedDigits = "23456789"
	generatedSymbol = "!#%+-=?@_"
)

// The texts for violated rules, in Cognito's words where Cognito has the rule. The app distinguishes the cases by these
// texts.
const (
	tooCommon   = "Password must not be a commonly used one"
	tooPersonal = "Password must not contain your email address or name"
	notNew      = "Password must not be the previous one"
)

// minPersonal is the minimum length, in characters, of a part of an address or a name that a password must not contain.
const minPersonal = 4

// normalizePassword returns the form of a password that is hashed (NFKC), because keyboards type the same letter as
// different characters. It returns a text that is too long for a password unchanged, because normalizing is expensive.
func normalizePassword(password string) string {
	if len(password) > maxPassword*utf8.UTFMax {
		return password
	}
	return norm.NFKC.String(password)
}

// checkNewPassword returns the rule that a new password violates, or "". It uses only the address and the name of user.
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

// appearsIn reports whether a password contains the user's address or name, or a part of them that is long enough.
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

// checkPolicy returns the rule of Cognito's default policy that a normalized password violates, in Cognito's words, or
// "".
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

// GeneratePassword returns a random password that satisfies the policy: 16 characters without look-alikes, about 90
// bits.
func GeneratePassword() string {
	classes := []string{generatedUpper, generatedLower, generatedDigits, generatedSymbol}
	all := strings.Join(classes, "")
	for {
		var b strings.Builder
		for range generatedLength {
			b.WriteByte(all[randomBelow(len(all))])
		}
		// Rejection sampling keeps all valid passwords equally likely.
		if checkPolicy(b.String()) == "" {
			return b.String()
		}
	}
}

// randomBelow returns a uniform random number in [0, n) from the system's random source.
func randomBelow(n int) int {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil { // Unreachable: crypto/rand.Reader never fails.
		panic(err)
	}
	return int(i.Int64())
}

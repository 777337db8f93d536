package runes

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxScript is the longest text that Script changes. A longer one is not a mark or an exponent.
const maxScript = 16

// superscripts and subscripts contain the raised and lowered forms of characters, each after the character.
var (
	superscripts = forms("0⁰1¹2²3³4⁴5⁵6⁶7⁷8⁸9⁹+⁺-⁻−⁻–⁻＋⁺－⁻=⁼(⁽)⁾（⁽）⁾" +
		"aᵃbᵇcᶜdᵈeᵉfᶠgᵍhʰiⁱjʲkᵏlˡmᵐnⁿoᵒpᵖrʳsˢtᵗuᵘvᵛwʷxˣyʸzᶻ" +
		"AᴬBᴮDᴰEᴱGᴳHᴴIᴵJᴶKᴷLᴸMᴹNᴺOᴼPᴾRᴿTᵀUᵁVⱽWᵂ")
	subscripts = forms("0₀1₁2₂3₃4₄5₅6₆7₇8₈9₉+₊-₋−₋–₋＋₊－₋=₌(₍)₎（₍）₎" +
		"aₐeₑhₕiᵢjⱼkₖlₗmₘnₙoₒpₚrᵣsₛtₜuᵤvᵥxₓ")
)

func forms(pairs string) map[rune]rune {
	found, list := make(map[rune]rune), []rune(pairs)
	for i := 0; i < len(list); i += 2 {
		found[list[i]] = list[i+1]
	}
	for r := '０'; r <= '９'; r++ {
		found[r] = found[r-'０'+'0']
	}
	return found
}

var (
	endsInNumber   = regexp.MustCompile(`[0-9０-９]$`)
	endsInLong     = regexp.MustCompile(`[0-9０-９]{4}$|[,，][0-9０-９]{3}$`) // Is more often a result with a note than a base.
	endsInScript   = regexp.MustCompile(`[⁰¹²³⁴-⁹₀-₉]$`)
	beginsInNumber = regexp.MustCompile(`^[0-9０-９]`)
	exponent       = regexp.MustCompile(`^[\p{Lm}⁰¹²³⁴-⁹⁺⁻]+$`)
	hasNumber      = regexp.MustCompile(`[⁰¹²³⁴-⁹0-9０-９]`)
)

// Script returns a superscript or subscript text with the Unicode forms of its characters, so that 10 and a raised 3
// become 10³. A text with other characters, or with words, is unchanged. The result has as many characters as text,
// apart from a space at its beginning that separates a number from the mark of a note: 1,234 ¹⁾.
func Script(before, text string, raised bool) string {
	text = scripted(text, raised)
	if raised && endsInNumber.MatchString(before) && hasNumber.MatchString(text) &&
		(!exponent.MatchString(text) || endsInLong.MatchString(before)) {
		return " " + text
	}
	return text
}

// AfterScript returns a space if text would continue the number in a script before it: ¹ 2024年.
func AfterScript(before, text string) string {
	if endsInScript.MatchString(before) && beginsInNumber.MatchString(text) {
		return " "
	}
	return ""
}

func scripted(text string, raised bool) string {
	table := subscripts
	if raised {
		table = superscripts
	}
	if utf8.RuneCountInString(text) > maxScript {
		return text
	}
	letter := false // The previous character is a letter.
	word := strings.ContainsFunc(text, func(r rune) bool {
		both := letter && unicode.IsLetter(r)
		letter = unicode.IsLetter(r)
		return both || table[r] == 0 && !strings.ContainsRune(" ,.、・*†‡§", r)
	})
	if word {
		return text
	}
	return strings.Map(func(r rune) rune {
		if form := table[r]; form != 0 {
			return form
		}
		return r
	}, text)
}

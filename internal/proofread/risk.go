package proofread

import (
	"regexp"
	"slices"

	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
)

var (
	addressForm = regexp.MustCompile(`(?:https?://|www\.)[!-~]+|[!-~]+@[!-~]+`)

	// A name is in front of an honorific, or adjacent to the legal form of a company.
	personForm = regexp.MustCompile(`([\p{Han}\p{Katakana}々ー]{1,12})(?:様|さん|さま|氏|殿|先生|会長|社長|部長|課長|係長)`)
	firmForm   = regexp.MustCompile(`(?:株式会社|有限会社|合同会社|\(株\)|\(有\))([\p{Han}\p{Katakana}々ー・A-Za-z]{2,20})|` +
		`([\p{Han}\p{Katakana}々ー・A-Za-z]{2,20})(?:株式会社|有限会社|合同会社|\(株\)|\(有\))`)

	titleForm  = regexp.MustCompile(`(?:様|殿|御中|各位)+$`)
	officeForm = regexp.MustCompile(`(?:(?:代表)?取締役|会長|社長|専務|常務|本?部長|次長|課長|係長|主任|店長|院長|教授|担当者?)+$`)
)

// notNames are words in front of an honorific that are not names.
var notNames = []string{
	"客", "得意", "得意先", "皆", "各位", "御中", "会社", "関係者", "参加者", "出席者", "利用者", "受講者", "保護者", "患者", "一人",
	"業者", "神", "仏", "疲", "苦労", "同", "両", "彼",
}

// risky reports whether two versions of a line differ in a number, a name or an address. Only the writer can confirm
// these.
func risky(before, after string) bool {
	return !slices.Equal(known(before), known(after))
}

// known returns the numbers, names and addresses in a line, sorted.
func known(line string) []string {
	list := answer.Figures(line)
	line = norm.NFKC.String(line)
	list = append(list, addressForm.FindAllString(line, -1)...)
	for _, m := range personForm.FindAllStringSubmatch(line, -1) {
		if name := officeForm.ReplaceAllString(m[1], ""); name != "" && !slices.Contains(notNames, name) {
			list = append(list, name)
		}
	}
	for _, m := range firmForm.FindAllStringSubmatch(line, -1) {
		list = append(list, titleForm.ReplaceAllString(m[1]+m[2], ""))
	}
	slices.Sort(list)
	return list
}

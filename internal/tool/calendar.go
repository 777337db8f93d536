package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/width"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
)

const calendarName = "calendar"

// The dates that the calendar knows. Holidays are known from firstHolidays on.
const (
	firstYear     = 1873 // Japan's first year of the Gregorian calendar.
	lastYear      = 2099
	firstHolidays = 2000
	maxDays       = 100_000 // Of an addition.
)

func calendarTool(now func() time.Time) Tool {
	return newTool(Tool{
		Name: calendarName, Title: "カレンダー",
		Description: "日本の暦を調べる。日付の曜日、和暦、祝日、営業日、年度を返す。今日の日付も分かる。日数や営業日数を足した日、" +
			"二つの日の間の日数と営業日数、月の祝日と営業日数も計算する。営業日は、土日、祝日、年末年始（12月29日から1月3日）を除く日である。",
		Parameters: json.RawMessage(`{
			"type": "object", "additionalProperties": false,
			"properties": {
				"date": {"type": "string", "description": "基準の日。2026-11-28 か 令和8年11月28日 の形、または today。省略すると今日"},
				"add_days": {"type": "integer", "description": "基準の日に足す日数。負の数も可"},
				"add_business_days": {"type": "integer", "description": "基準の日に足す営業日数。負の数も可。基準の日は数えない"},
				"until": {"type": "string", "description": "基準の日からこの日までの日数と営業日数を数える。形は date と同じ"},
				"month": {"type": "string", "description": "2026-11 の形。この月の祝日と営業日数を返す。ほかの引数とは同時に指定しない"}
			}
		}`),
	}, func(_ context.Context, a calendarArguments) (Result, error) {
		text, err := a.answer(now())
		return Result{Text: text}, err
	})
}

type calendarArguments struct {
	Date            string `json:"date"`
	AddDays         int    `json:"add_days"`
	AddBusinessDays int    `json:"add_business_days"`
	Until           string `json:"until"`
	Month           string `json:"month"`
}

// answer returns the answer to a call at a time.
func (a calendarArguments) answer(now time.Time) (string, error) {
	today := dayOf(now.In(japan.Zone))
	if a.Month != "" {
		return describeMonth(a.Month)
	}
	base, err := parseDay(a.Date, today)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	describeDay(&b, base, today)
	if days := a.AddDays; days != 0 {
		if days < -maxDays || days > maxDays {
			return "", fault.Errorf(fault.Invalid, "add_days は-%d以上%d以下で指定してください。", maxDays, maxDays)
		}
		base = base.AddDate(0, 0, days)
		if err := checkYear(base.Year()); err != nil {
			return "", err
		}
		b.WriteString("\n" + distance(days, "日") + "：\n")
		describeDay(&b, base, today)
	}
	if days := a.AddBusinessDays; days != 0 {
		after, err := addBusinessDays(base, days)
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + distance(days, "営業日") + "：\n")
		describeDay(&b, after, today)
	}
	if a.Until != "" {
		until, err := parseDay(a.Until, today)
		if err != nil {
			return "", err
		}
		return b.String() + "\n" + describeSpan(base, until), nil
	}
	return b.String(), nil
}

// distance returns a number of days after, or before, a day.
func distance(days int, unit string) string {
	if days < 0 {
		return strconv.Itoa(-days) + unit + "前"
	}
	return strconv.Itoa(days) + unit + "後"
}

// dayOf returns the beginning of a day in UTC, so that all days have 24 hours.
func dayOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// eras are the Japanese eras since the introduction of the Gregorian calendar, with their first days. The last one is
// first.
var eras = []struct{ name, letter, first string }{
	{"令和", "R", "2019-05-01"},
	{"平成", "H", "1989-01-08"},
	{"昭和", "S", "1926-12-25"},
	{"大正", "T", "1912-07-30"},
	{"明治", "M", "1868-10-23"},
}

// eraYear returns the year of a day in its era.
func eraYear(day time.Time) string {
	for _, e := range eras {
		if day.Format(time.DateOnly) >= e.first {
			if year := day.Year() - atoi(e.first[:4]) + 1; year > 1 {
				return e.name + strconv.Itoa(year) + "年"
			}
			return e.name + "元年"
		}
	}
	return ""
}

var (
	westernDay = regexp.MustCompile(`^(\d{4})(?:-|/|\.|年)(\d{1,2})(?:-|/|\.|月)(\d{1,2})日?$`)
	eraDay     = regexp.MustCompile(`^(令和|平成|昭和|大正|明治|[RHSTMrhstm])\.?(\d{1,2}|元)(?:-|/|\.|年)(\d{1,2})(?:-|/|\.|月)(\d{1,2})日?$`)
)

// parseDay parses a day. The empty text is today.
func parseDay(text string, today time.Time) (time.Time, error) {
	text = strings.ReplaceAll(width.Fold.String(text), " ", "")
	switch text {
	case "", "today", "今日", "本日":
		return today, nil
	case "tomorrow", "明日":
		return today.AddDate(0, 0, 1), nil
	case "yesterday", "昨日":
		return today.AddDate(0, 0, -1), nil
	}
	if parts := westernDay.FindStringSubmatch(text); parts != nil {
		return newDay(atoi(parts[1]), atoi(parts[2]), atoi(parts[3]))
	}
	if parts := eraDay.FindStringSubmatch(text); parts != nil {
		for _, e := range eras {
			if e.name == parts[1] || strings.EqualFold(e.letter, parts[1]) {
				day, err := newDay(atoi(e.first[:4])+max(atoi(parts[2]), 1)-1, atoi(parts[3]), atoi(parts[4]))
				if err == nil && !strings.HasPrefix(eraYear(day), e.name) {
					err = fault.Errorf(fault.Invalid, "%sに、その日はありません。", e.name)
				}
				return day, err
			}
		}
	}
	return time.Time{}, fault.Errorf(fault.Invalid, "日付は 2026-11-28 か 令和8年11月28日 の形で指定してください。")
}

// atoi returns a number of a few digits, and 0 for 元.
func atoi(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

func newDay(year, month, day int) (time.Time, error) {
	if err := checkYear(year); err != nil {
		return time.Time{}, err
	}
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if t.Year() != year || t.Month() != time.Month(month) || t.Day() != day {
		return time.Time{}, fault.Errorf(fault.Invalid, "%d年%d月%d日は、暦にありません。", year, month, day)
	}
	return t, nil
}

func checkYear(year int) error {
	if year < firstYear || year > lastYear {
		return fault.Errorf(fault.Invalid, "%d年から%d年までの日付を指定してください。", firstYear, lastYear)
	}
	return nil
}

// weekday returns the name of a day of the week.
func weekday(day time.Time) string { return string([]rune("日月火水木金土")[day.Weekday()]) }

// describeDay writes what the calendar knows about a day.
func describeDay(b *strings.Builder, day, today time.Time) {
	fmt.Fprintf(b, "日付：%s（%s曜日）\n和暦：%s%d月%d日\n", day.Format("2006-01-02"), weekday(day), eraYear(day), day.Month(), day.Day())
	if day.Year() < firstHolidays {
		fmt.Fprintf(b, "祝日：%d年より前の祝日は調べられない\n", firstHolidays)
	} else {
		name, open := cmp.Or(holiday(day), "祝日ではない"), "はい"
		if !isBusinessDay(day) {
			open = "いいえ"
		}
		fmt.Fprintf(b, "祝日：%s\n営業日：%s\n", name, open)
	}
	fiscal := day.AddDate(0, -3, 1-day.Day()) // The first day of the month three months before.
	_, week := day.ISOWeek()
	fmt.Fprintf(b, "年度：%d年度（%s度）\n週：第%d週\n", fiscal.Year(),
		eraYear(time.Date(fiscal.Year(), time.May, 1, 0, 0, 0, 0, time.UTC)), week)
	if days := daysBetween(today, day); days == 0 {
		b.WriteString("今日である\n")
	} else {
		fmt.Fprintf(b, "今日（%s）の%s\n", today.Format("2006-01-02"), distance(days, "日"))
	}
}

func daysBetween(from, to time.Time) int { return int(to.Sub(from) / (24 * time.Hour)) }

// describeSpan counts the days from one day to another. The first day is not counted, the last one is.
func describeSpan(from, until time.Time) string {
	days := daysBetween(from, until)
	text := fmt.Sprintf("%sから%sまで：%d日（初日を含めると%d日）\n", from.Format("2006-01-02"), until.Format("2006-01-02"), days,
		days+sign(days))
	if min(from.Year(), until.Year()) < firstHolidays || days > maxDays || days < -maxDays {
		return text
	}
	open := 0
	for day := from; !day.Equal(until); {
		if day = day.AddDate(0, 0, sign(days)); isBusinessDay(day) {
			open++
		}
	}
	return text + fmt.Sprintf("営業日：%d日（初日を含めない）\n", open)
}

// sign returns -1 for a negative number, else 1.
func sign(n int) int { return cmp.Or(cmp.Compare(n, 0), 1) }

// describeMonth lists the holidays of a month and counts its business days.
func describeMonth(text string) (string, error) {
	first, err := time.Parse("2006-01", text)
	if err != nil || first.Year() < firstHolidays || first.Year() > lastYear {
		return "", fault.Errorf(fault.Invalid, "月は 2026-11 の形で、%d年から%d年まで指定できます。", firstHolidays, lastYear)
	}
	var holidays strings.Builder
	days, open := 0, 0
	for day := first; day.Month() == first.Month(); day = day.AddDate(0, 0, 1) {
		days++
		if isBusinessDay(day) {
			open++
		}
		if name := holiday(day); name != "" {
			fmt.Fprintf(&holidays, "- %s（%s）%s\n", day.Format("2006-01-02"), weekday(day), name)
		}
	}
	if holidays.Len() == 0 {
		holidays.WriteString("なし\n")
	}
	return fmt.Sprintf("%d年%d月（%s）：%d日、営業日%d日\n祝日：\n%s", first.Year(), first.Month(), eraYear(first), days, open,
		holidays.String()), nil
}

// addBusinessDays returns the n-th business day after a day, or before it if n is negative.
func addBusinessDays(day time.Time, n int) (time.Time, error) {
	const most = 10_000
	if n < -most || n > most {
		return time.Time{}, fault.Errorf(fault.Invalid, "add_business_days は-%d以上%d以下で指定してください。", most, most)
	}
	for step := sign(n); n != 0; {
		day = day.AddDate(0, 0, step)
		if day.Year() < firstHolidays || day.Year() > lastYear {
			return time.Time{}, fault.Errorf(fault.Invalid, "営業日は%d年から%d年まで数えられます。", firstHolidays, lastYear)
		}
		if isBusinessDay(day) {
			n -= step
		}
	}
	return day, nil
}

// isBusinessDay reports whether offices are open: not on weekends and holidays, and not from December 29 to January 3.
func isBusinessDay(day time.Time) bool {
	if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday || holiday(day) != "" {
		return false
	}
	return (day.Month() != time.December || day.Day() < 29) && (day.Month() != time.January || day.Day() > 3)
}

package extract

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// era is a Japanese era.
type era struct {
	from               time.Time
	letter, sign, name string
}

var eras = []era{
	{time.Date(2019, 5, 1, 0, 0, 0, 0, time.UTC), "R", "令", "令和"},
	{time.Date(1989, 1, 8, 0, 0, 0, 0, time.UTC), "H", "平", "平成"},
	{time.Date(1926, 12, 25, 0, 0, 0, 0, time.UTC), "S", "昭", "昭和"},
	{time.Date(1912, 7, 30, 0, 0, 0, 0, time.UTC), "T", "大", "大正"},
	{time.Date(1868, 1, 25, 0, 0, 0, 0, time.UTC), "M", "明", "明治"},
}

const (
	maxSerial  = 2_958_466 // The day after 9999-12-31.
	days1904   = 1462      // Difference between Excel's two date systems, in days.
	millisADay = 24 * 60 * 60 * 1000
)

// dateParts is a date in Excel's 1900 date system, which includes the nonexistent 1900-02-29.
type dateParts struct {
	time.Time
	day, month int
	serial     float64
}

// dateOf converts a serial number to a date, rounded to the precision of the format. ok is false if the number is out
// of range.
func dateOf(serial float64, is1904, withMillis bool) (d dateParts, ok bool) {
	if is1904 {
		serial += days1904
	}
	if serial < 0 || serial >= maxSerial {
		return d, false
	}
	unit := 1000.0
	if withMillis {
		unit = 1
	}
	millis := math.Round(serial*millisADay/unit) * unit
	days, rest := math.Floor(millis/millisADay), math.Mod(millis, millisADay)
	d.serial = millis / millisADay
	base := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if days < 60 {
		base = base.AddDate(0, 0, 1)
	}
	d.Time = base.AddDate(0, 0, int(days)).Add(time.Duration(rest) * time.Millisecond)
	d.day, d.month = d.Day(), int(d.Month())
	switch days {
	case 60:
		d.day, d.month = 29, 2
	case 0:
		d.Time, d.day, d.month = d.AddDate(0, 0, 1), 0, 1
	}
	return d, true
}

const weekdays = "日月火水木金土"

// date formats a serial number as a date, a time or an elapsed time. For a number out of range, it returns the number
// itself, which is more useful than Excel's row of # signs.
func (s *formatSection) date(serial float64, is1904 bool) string {
	half, millis := false, false
	for _, t := range s.tokens {
		half = half || t.kind == tokenHalfDay
		millis = millis || t.kind == tokenMillis
	}
	d, ok := dateOf(serial, is1904, millis)
	if !ok {
		return generalNumber(serial)
	}
	var out strings.Builder
	for _, t := range s.tokens {
		switch t.kind {
		case tokenLiteral:
			out.WriteString(t.text)
		case tokenGeneral:
			out.WriteString(generalNumber(serial))
		case tokenHalfDay:
			am, pm, _ := strings.Cut(t.text, "/")
			if d.Hour() >= 12 {
				am = pm
			}
			out.WriteString(am)
		case tokenElapsed:
			out.WriteString(s.elapsed(t, d.serial))
		case tokenMillis:
			fraction := strconv.Itoa(1000 + d.Nanosecond()/1e6)[1:]
			out.WriteString("." + (fraction + t.text)[:len(t.text)])
		case 'h':
			hour := d.Hour()
			if half {
				hour = (hour+11)%12 + 1
			}
			out.WriteString(s.field(hour, len(t.text)))
		case tokenMinute:
			out.WriteString(s.field(d.Minute(), len(t.text)))
		case 's':
			out.WriteString(s.field(d.Second(), len(t.text)))
		default:
			out.WriteString(s.dayPart(t, d))
		}
	}
	return strings.TrimSpace(out.String())
}

// field formats a number of a date, with two digits if the format has two letters.
func (s *formatSection) field(n, width int) string {
	text := strconv.Itoa(n)
	if width > 1 && n < 10 {
		text = "0" + text
	}
	return s.withDigits(text, width == 1)
}

func (s *formatSection) elapsed(t formatToken, serial float64) string {
	units := map[byte]float64{'h': 24, 'm': 24 * 60, 's': 24 * 60 * 60}
	return s.field(int(math.Floor(serial*units[t.text[0]]+1e-6)), len(t.text))
}

// dayPart formats a year, era, month, day or weekday.
func (s *formatSection) dayPart(t formatToken, d dateParts) string {
	weekday := string([]rune(weekdays)[d.Weekday()])
	switch t.text {
	case "y", "yy":
		return s.withDigits(strconv.Itoa(100 + d.Year()%100)[1:], false)
	case "m", "mm":
		return s.field(d.month, len(t.text))
	case "mmm", "mmmm":
		if s.japanese {
			return strconv.Itoa(d.month) + "月"[:3*(len(t.text)-3)]
		}
		if len(t.text) == 3 {
			return time.Month(d.month).String()[:3]
		}
		return time.Month(d.month).String()
	case "mmmmm":
		return time.Month(d.month).String()[:1]
	case "d", "dd":
		return s.field(d.day, len(t.text))
	case "aaa":
		return weekday
	case "aaaa":
		return weekday + "曜日"
	}
	switch {
	case t.kind == 'y':
		return s.withDigits(strconv.Itoa(d.Year()), false)
	case t.kind == 'd' && s.japanese:
		return weekday + "曜日"[:6*(min(len(t.text), 4)-3)]
	case t.kind == 'd' && len(t.text) == 3:
		return d.Weekday().String()[:3]
	case t.kind == 'd':
		return d.Weekday().String()
	}
	return s.eraPart(t, d)
}

// eraPart formats the era or the year of the era.
func (s *formatSection) eraPart(t formatToken, d dateParts) string {
	for _, e := range eras {
		if d.Before(e.from) {
			continue
		}
		year := d.Year() - e.from.Year() + 1
		inEra := s.field(year, len(t.text))
		if year == 1 && s.gannen {
			inEra = "元"
		}
		switch t.text {
		case "g":
			return e.letter
		case "gg":
			return e.sign
		case "e", "ee", "r":
			return inEra
		case "rr":
			return e.name + inEra
		}
		if t.kind == 'g' {
			return e.name
		}
		return inEra
	}
	return ""
}

package tool

import "time"

// holiday returns the name of a holiday since 2000, or "", by the Act on National Holidays with its amendments, and the
// special laws for 2019 to 2021.
func holiday(day time.Time) string {
	if name := namedHoliday(day); name != "" {
		return name
	}
	yesterday, tomorrow := day.AddDate(0, 0, -1), day.AddDate(0, 0, 1)
	// A holiday on a Sunday is moved to the next day that is not a holiday. Before 2007 it was moved only to Monday.
	for before := yesterday; namedHoliday(before) != ""; before = before.AddDate(0, 0, -1) {
		if before.Weekday() == time.Sunday && (day.Year() >= 2007 || day.Weekday() == time.Monday) {
			return "振替休日"
		}
	}
	if day.Weekday() != time.Sunday && namedHoliday(yesterday) != "" && namedHoliday(tomorrow) != "" {
		return "国民の休日" // A day between two holidays.
	}
	return ""
}

// namedHoliday returns the name of a holiday that is neither a moved one nor a day between two holidays.
func namedHoliday(day time.Time) string {
	if name, special := specialHolidays[day.Format(time.DateOnly)]; special {
		return name
	}
	year, month, date := day.Date()
	for _, h := range holidays {
		if h.month != month || year < h.from || h.until != 0 && year > h.until {
			continue
		}
		if h.date == date || h.monday > 0 && day.Weekday() == time.Monday && (date-1)/7+1 == h.monday {
			return h.name
		}
	}
	switch {
	case month == time.March && date == equinox(year, 20.8431):
		return "春分の日"
	case month == time.September && date == equinox(year, 23.2488):
		return "秋分の日"
	}
	return ""
}

// equinox returns the day of the month of an equinox, which is at offset in 1980 and moves by the length of the year.
// It is right from 1980 to 2099.
func equinox(year int, offset float64) int {
	years := year - 1980
	return int(offset+0.242194*float64(years)) - years/4
}

// holidays are the rules of the law: a date, or the n-th Monday of a month. until is 0 for a rule that is still valid.
var holidays = []struct {
	name         string
	month        time.Month
	date, monday int
	from, until  int
}{
	{"元日", time.January, 1, 0, 0, 0},
	{"成人の日", time.January, 0, 2, 2000, 0},
	{"建国記念の日", time.February, 11, 0, 0, 0},
	{"天皇誕生日", time.February, 23, 0, 2020, 0},
	{"みどりの日", time.April, 29, 0, 0, 2006},
	{"昭和の日", time.April, 29, 0, 2007, 0},
	{"憲法記念日", time.May, 3, 0, 0, 0},
	{"みどりの日", time.May, 4, 0, 2007, 0},
	{"こどもの日", time.May, 5, 0, 0, 0},
	{"海の日", time.July, 20, 0, 0, 2002},
	{"海の日", time.July, 0, 3, 2003, 0},
	{"山の日", time.August, 11, 0, 2016, 0},
	{"敬老の日", time.September, 15, 0, 0, 2002},
	{"敬老の日", time.September, 0, 3, 2003, 0},
	{"体育の日", time.October, 0, 2, 2000, 2019},
	{"スポーツの日", time.October, 0, 2, 2020, 0},
	{"文化の日", time.November, 3, 0, 0, 0},
	{"勤労感謝の日", time.November, 23, 0, 0, 0},
	{"天皇誕生日", time.December, 23, 0, 0, 2018},
}

// specialHolidays are the holidays that special laws added or moved from 2019 to 2021, by date. An empty name means that the
// day was not a holiday in that year.
var specialHolidays = map[string]string{
	"2019-05-01": "即位の日", "2019-10-22": "即位礼正殿の儀",
	"2020-07-20": "", "2020-07-23": "海の日", "2020-07-24": "スポーツの日", "2020-08-10": "山の日", "2020-08-11": "", "2020-10-12": "",
	"2021-07-19": "", "2021-07-22": "海の日", "2021-07-23": "スポーツの日", "2021-08-08": "山の日", "2021-08-11": "", "2021-10-11": "",
}

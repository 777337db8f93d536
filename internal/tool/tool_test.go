package tool_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// call calls a built-in tool on Saturday, 28 November 2026, at 8 o'clock in Japan.
func call(t testing.TB, name, arguments string) (string, error) {
	t.Helper()
	now := func() time.Time { return time.Date(2026, time.November, 27, 23, 0, 0, 0, time.UTC) }
	tools := tool.BuiltIn(now)
	i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Name == name })
	if i < 0 || !json.Valid(tools[i].Parameters) {
		t.Fatalf("no tool is named %s", name)
	}
	result, err := tools[i].Call(t.Context(), json.RawMessage(arguments))
	return result.Text, err
}

func TestCalendar(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string][]string{
		`{}`:                                           {"2026-11-28（土曜日）", "令和8年11月28日", "営業日：いいえ", "2026年度（令和8年度）", "今日である"},
		`{"date":"2026-01-01"}`:                        {"元日", "2025年度（令和7年度）", "日前"},
		`{"date":"令和元年５月１日"}`:                          {"2019-05-01（水曜日）", "令和元年5月1日", "即位の日"},
		`{"date":"S64.1.7"}`:                           {"1989-01-07", "昭和64年1月7日", "祝日は調べられない"},
		`{"date":"today","add_business_days":1}`:       {"1営業日後：\n日付：2026-11-30"},
		`{"date":"2026-12-28","add_business_days":1}`:  {"日付：2027-01-04"},
		`{"date":"2027-01-04","add_business_days":-1}`: {"\n1営業日前：\n日付：2026-12-28"},
		`{"date":"2024-02-28","add_days":2}`:           {"2日後：\n日付：2024-03-01"},
		`{"date":"2024-03-01","add_days":-2}`:          {"\n2日前：\n日付：2024-02-28"},
		`{"date":"2026-11-20","until":"2026-12-01"}`:   {"11日（初日を含めると12日）", "営業日：6日"},
		`{"date":"2026-12-01","until":"2026-11-20"}`:   {"-11日（初日を含めると-12日）", "営業日：6日"},
		`{"date":"2026-11-29","until":"2026-11-27"}`:   {"-2日", "営業日：1日"}, // As with add_business_days.
		`{"date":"2026-11-29","until":"2026-11-29"}`:   {"営業日：0日"},
		`{"month":"2026-09"}`:                          {"30日、営業日19日", "2026-09-22（火）国民の休日", "敬老の日", "秋分の日"},
		`{"month":"2026-06"}`:                          {"祝日：\nなし"},
	} {
		got, err := call(t, "calendar", arguments)
		for _, part := range want {
			if err != nil || !strings.Contains(got, part) {
				t.Errorf("%s: %q is missing in %q, %v", arguments, part, got, err)
			}
		}
	}
}

// TestHolidays compares the holidays of some years with the list of the Cabinet Office.
func TestHolidays(t *testing.T) {
	t.Parallel()
	for year, want := range map[string]string{
		"2003": "01-01 01-13 02-11 03-21 04-29 05-03 05-05 07-21 09-15 09-23 10-13 11-03 11-23 11-24 12-23",
		"2009": "01-01 01-12 02-11 03-20 04-29 05-03 05-04 05-05 05-06 07-20 09-21 09-22 09-23 10-12 11-03 11-23 12-23",
		"2019": "01-01 01-14 02-11 03-21 04-29 04-30 05-01 05-02 05-03 05-04 05-05 05-06 07-15 08-11 08-12 09-16 09-23 " +
			"10-14 10-22 11-03 11-04 11-23",
		"2020": "01-01 01-13 02-11 02-23 02-24 03-20 04-29 05-03 05-04 05-05 05-06 07-23 07-24 08-10 09-21 09-22 11-03 11-23",
		"2021": "01-01 01-11 02-11 02-23 03-20 04-29 05-03 05-04 05-05 07-22 07-23 08-08 08-09 09-20 09-23 11-03 11-23",
		"2026": "01-01 01-12 02-11 02-23 03-20 04-29 05-03 05-04 05-05 05-06 07-20 08-11 09-21 09-22 09-23 10-12 11-03 11-23",
	} {
		var got []string
		for month := time.January; month <= time.December; month++ {
			first := time.Date(2000, month, 1, 0, 0, 0, 0, time.UTC).Format("01")
			text := must.Get(call(t, "calendar", `{"month":"`+year+"-"+first+`"}`))(t)
			for line := range strings.Lines(text) {
				if day, found := strings.CutPrefix(line, "- "+year+"-"); found {
					got = append(got, day[:5])
				}
			}
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("%s:\ngot  %s\nwant %s", year, all, want)
		}
	}
}

func TestCalculate(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		"1+2*3": "7",
		"（１２３，４５６円＋１円）×2": "246,914",
		"0.1+0.2":                      "0.3",
		"10/4":                         "2.5",
		"1/3":                          "0.33333333333333333333（小数第20位までの近似値）",
		"3億5000万円 * 8%":                "28,000,000",
		"1,200千円 + 2百万円":               "3,200,000",
		"-7.5 - -2":                    "-5.5",
		"round(2.5) + round(-2.5)":     "0",
		"round(1234.567; 2)":           "1,234.57",
		"round(1,234; -2)":             "1,200",
		"floor(-1.5)":                  "-2",
		"ceil(1.01)":                   "2",
		"sum(1, 2, 3) / 2":             "3",
		"average(1,2)":                 "1.5",
		"max(1;2)-min(1;2)+abs(-4)":    "5",
		"pow(1.05; 3) * 1000000":       "1,157,625",
		"pow(2; -2)":                   "0.25",
		"12345678901234567890 * 10":    "123,456,789,012,345,678,900",
		"007":                          "7",
		"99999999.99 * 100 - 0.000001": "9,999,999,998.999999",
	} {
		arguments, _ := json.Marshal(map[string]string{"expression": expression})
		got, err := call(t, "calculate", string(arguments))
		if err != nil || got != expression+" = "+want {
			t.Errorf("%q, %v; want %s", got, err, want)
		}
	}
	if got, err := call(t, "calculate", `{"expression":"123,456,789円","unit":"百万円"}`); err != nil ||
		!strings.HasSuffix(got, "= 123.456789百万円") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestInvalidArgumentsAreRefused: each error names the mistake, so that the model can correct it.
func TestInvalidArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, part string }{
		{"calendar", `{"date":"2026-02-30"}`, "暦にありません"},
		{"calendar", `{"date":"平成31年5月1日"}`, "平成に、その日はありません"},
		{"calendar", `{"date":"11/28"}`, "の形で指定"},
		{"calendar", `{"date":"1600-01-01"}`, "1873年から"},
		{"calendar", `{"day":"2026-11-28"}`, "引数を読み取れません"},
		{"calendar", `{"add_days":"1"}`, "add_days の型"},
		{"calendar", `{"add_days":1000000}`, "add_days は"},
		{"calendar", `{"date":"2099-12-31","add_days":1}`, "までの日付"},
		{"calendar", `{"date":"2099-12-31","add_business_days":1}`, "数えられます"},
		{"calendar", `{"month":"1999-12"}`, "2000年から"},
		{"calculate", `{"expression":""}`, "1文字以上"},
		{"calculate", `{"expression":"1/0"}`, "0で割る"},
		{"calculate", `{"expression":"1/(2-2)"}`, "0で割る"},
		{"calculate", `{"expression":"2^3"}`, "pow"},
		{"calculate", `{"expression":"sum(100,200)"}`, "; で区切って"},
		{"calculate", `{"expression":"sqrt(2)"}`, "関数 sqrt"},
		{"calculate", `{"expression":"pow(10; 501)"}`, "整数"},
		{"calculate", `{"expression":"pow(pow(10; 500); 2)"}`, "大きすぎ"},
		{"calculate", `{"expression":"1 +"}`, "式を読み取れません"},
		{"calculate", `{"expression":"7//2"}`, "割り算は /"},
		{"calculate", `{"expression":"8/*2*/"}`, "割り算は /"},
		{"calculate", `{"expression":"10 % 3"}`, "余り"},
		{"calculate", `{"expression":"１０％(3)"}`, "余り"},
		{"calculate", `{"expression":"os.Exit"}`, "使えないもの"},
		{"calculate", `{"expression":"func(){}()"}`, ""},
		{"calculate", `{"expression":"0x10"}`, ""},
		{"calculate", `{"expression":"1","unit":"ドル"}`, "単位"},
		{"calculate", `[]`, "引数を読み取れません"},
	} {
		got, err := call(t, c.tool, c.arguments)
		if detail := fault.DetailOf(err); err == nil || detail == "" || !strings.Contains(detail, c.part) {
			t.Errorf("%s: %q, %v", c.arguments, got, err)
		}
	}
}

// FuzzTools: arguments written by a model neither crash a tool nor produce invalid text.
func FuzzTools(f *testing.F) {
	f.Add(`{"expression":"round(3億5000万円*8%;2)"}`)
	f.Add(`{"date":"令和8年11月28日","add_business_days":-3,"until":"2027-01-01"}`)
	f.Add(`{"month":"2026-11"}`)
	f.Fuzz(func(t *testing.T, arguments string) {
		for _, name := range []string{"calendar", "calculate"} {
			result, err := call(t, name, arguments)
			if !utf8.ValidString(result) || err != nil && fault.DetailOf(err) == "" {
				t.Errorf("%q, %v", result, err)
			}
		}
	})
}

// TestLimitsOfNumbers: the limits in the errors are written without exponents.
func TestLimitsOfNumbers(t *testing.T) {
	t.Parallel()
	request := tool.InputRequest{Forms: []tool.InputForm{{ID: "f", Fields: []tool.InputField{{
		Name: "n", Type: tool.FieldNumber, Minimum: new(1e6), Maximum: new(25e6),
	}}}}}
	for n, want := range map[float64]string{0.5: "1000000以上", 1e9: "25000000以下"} {
		err := request.Check(tool.InputResponse{
			Action: tool.InputAccept, Values: map[string]map[string]any{"f": {"n": n}},
		})
		if fields := fault.FieldsOf(err); len(fields) != 1 || !strings.Contains(fields[0].Message, want) {
			t.Errorf("%v: %v", n, fields)
		}
	}
}

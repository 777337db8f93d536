package extract_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, content, want string }{
		{
			"headings", "a.csv", "氏名,年齢,住所\n佐藤,30,東京\n鈴木,,大阪\n",
			"氏名 / 年齢 / 住所\n\n氏名: 佐藤 / 年齢: 30 / 住所: 東京\n\n氏名: 鈴木 / 住所: 大阪",
		},
		{"tabs", "a.tsv", "氏名\t年齢\n佐藤, 太郎\t30\n", "氏名 / 年齢\n\n氏名: 佐藤, 太郎 / 年齢: 30"},
		{"semicolons", "a.csv", "氏名;年齢\n佐藤;30\n", "氏名 / 年齢\n\n氏名: 佐藤 / 年齢: 30"},
		{
			"semicolons and numbers with commas", "a.csv", "品名;金額\nみかん;1,200,000\n梨;300\n",
			"品名 / 金額\n\n品名: みかん / 金額: 1,200,000\n\n品名: 梨 / 金額: 300",
		},
		{
			"a title before semicolons", "a.csv", "売上表（円, 税込）\n品名;金額\nみかん;1,200\n",
			"売上表（円, 税込）\n\n品名 / 金額\n\n品名: みかん / 金額: 1,200",
		},
		{
			"semicolons in quotes", "a.csv", "品名,説明\nみかん,\"甘い;大きい\"\n梨,\"硬い;重い\"\n柿,\n",
			"品名 / 説明\n\n品名: みかん / 説明: 甘い;大きい\n\n品名: 梨 / 説明: 硬い;重い\n\n品名: 柿",
		},
		{"tabs in .csv", "a.csv", "氏名\t年齢\n佐藤\t30\n", "氏名 / 年齢\n\n氏名: 佐藤 / 年齢: 30"},
		{"title before headings", "a.csv", "売上表,,\n\n品名,金額,備考\nみかん,100,\n", "売上表\n\n品名 / 金額 / 備考\n\n品名: みかん / 金額: 100"},
		{"quotes", "a.csv", "品名,説明\n\"みかん\",\"甘い,\n\"\"大\"\"玉\"\n", "品名 / 説明\n\n品名: みかん / 説明: 甘い, \"大\"玉"},
		{"bare quote", "a.csv", "品名,寸法\n板,5\"角\n", "品名 / 寸法\n\n品名: 板 / 寸法: 5\"角"},
		{"more cells than headings", "a.csv", "品名,数\n板,5,追加\n", "品名 / 数\n\n品名: 板 / 数: 5 / 追加"},
		{"no name of a column", "a.csv", ",2024,2025\n東京,1,2\n", "2024 / 2025\n\n東京 / 2024: 1 / 2025: 2"},
		{"data from the start", "a.csv", "11002,北海道,札幌市\n12025,北海道,函館市\n", "11002 / 北海道 / 札幌市\n\n12025 / 北海道 / 函館市"},
		{"one column", "a.csv", "一\n二\n", "一\n\n二"},
		{"nothing but commas", "a.csv", ",,\n,,\n", ",,\n,,\n"},
	}
	for _, test := range tests {
		if got := pageOf(t, test.file, []byte(test.content)); got != test.want {
			t.Errorf("%s: read as %q, want %q", test.name, got, test.want)
		}
	}
}

func TestUnclosedQuote(t *testing.T) {
	t.Parallel()
	content := "品名,数\n\"板,5\n" + strings.Repeat("釘,100\n", 200)
	if got := pageOf(t, "a.csv", []byte(content)); got != content {
		t.Errorf("read as %.100q, want the text as it is", got)
	}
}

func TestRecordTooLongForATable(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"one line":   "a" + strings.Repeat(",", 20_000),
		"many lines": "a" + strings.Repeat(",\"\n\"", 20_000),
	} {
		if got := pageOf(t, "a.csv", []byte(content)); got != content {
			t.Errorf("%s: read as %.100q, want the text as it is", name, got)
		}
	}
}

// TestLongHeadings verifies that headings are written above blocks of rows if pairs would become too long.
func TestLongHeadings(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	content.WriteString(strings.Repeat("とても長い見出し,", 9) + "合計\n")
	for i := range 5000 {
		fmt.Fprintf(&content, "%d,1,2,,4,5,6,7,8,9\n", i)
	}
	got := pageOf(t, "a.csv", []byte(content.String()))
	if len(got) > 4*content.Len()+64<<10 {
		t.Fatalf("%d bytes grew to %d", content.Len(), len(got))
	}
	blocks := strings.Split(got, "\n\n")
	if len(blocks) < 10 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for i, block := range blocks {
		if head, _, _ := strings.Cut(block, "\n"); !strings.Contains(head, "とても長い見出し") ||
			!strings.HasSuffix(head, "合計") {
			t.Fatalf("block %d begins with %q, want the headings", i, head)
		}
		if len(block) > 4000 {
			t.Fatalf("block %d has %d bytes", i, len(block))
		}
	}
	if !strings.Contains(got, "\n4999 | 1 | 2 |  | 4 | 5 | 6 | 7 | 8 | 9") {
		t.Error("the last row is missing or its empty cell has lost its place")
	}
}

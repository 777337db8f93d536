package skill_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// sales is an example of an operator's file.
const sales = `# 営業部のスキル
categories:
  - key: sales
    name: 営業
skills:
  - key: visit-report
    category: sales
    name: 訪問報告
    description: |
      訪問のメモから報告書を作ります。
      次の行動も整理します。
    icon: report
    kind: report
    form_type: form
    form_fields:
      - name: customer
        label: お客様
        type: text
        required: true
        max_length: 100
      - name: text
        label: メモ
        type: textarea
        required: true
    prompt: あなたは、営業の報告書を書く担当者である。
  - key: pitch
    category: talk
    position: 3
    name: 商談の練習
    description: |-
      お客様の役で受け答えします。
      商談の前にお試しください。
    icon: sparring
    form_type: chat
    keywords: [ロープレ]
    suggestions: [値引きを求められたら]
    prompt: あなたは、慎重な購買担当者である。
retire: [old-report]
`

func TestParseImport(t *testing.T) {
	t.Parallel()
	got := must.Get(skill.ParseImport([]byte(sales)))(t)
	categories, _ := builtin(t)
	if len(got.Categories) != 1 || got.Categories[0].Key != "sales" || got.Categories[0].Name != "営業" ||
		got.Categories[0].Position <= categories[len(categories)-1].Position {
		t.Errorf("categories %+v", got.Categories)
	}
	if len(got.Skills) != 2 || len(got.Retire) != 1 || got.Retire[0] != "old-report" {
		t.Fatalf("got %+v", got)
	}
	report, pitch := got.Skills[0], got.Skills[1]
	if report.Key != "visit-report" || report.CategoryKey != "sales" || report.CategoryID != uuid.Nil ||
		report.IconPath != "/icons/skills/report.svg" ||
		report.Kind != "report" || len(report.FormFields) != 2 || report.FormFields[1].Options == nil ||
		report.Suggestions == nil {
		t.Errorf("got %+v", report)
	}
	if pitch.CategoryKey != "" || pitch.CategoryID != categories[0].ID || pitch.Position != 3 ||
		pitch.FormFields == nil || report.Position == 0 ||
		!slices.Equal(pitch.Keywords, []string{"ロープレ"}) || report.Keywords == nil {
		t.Errorf("got %+v", pitch)
	}
	if report.ID.Version() != 7 || report.ID == pitch.ID {
		t.Errorf("ids %v %v", report.ID, pitch.ID)
	}
}

// TestFileFields: a form may have a file field if its skill accepts data sources.
func TestFileFields(t *testing.T) {
	t.Parallel()
	got := must.Get(skill.ParseImport([]byte(strings.Replace(sales, "type: textarea", "type: file", 1))))(t)
	for _, s := range got.Skills {
		if want := s.FormType == skill.FormForm; s.AcceptsDataSources != want {
			t.Errorf("%s accepts data sources: %v", s.Name, s.AcceptsDataSources)
		}
	}
}

// TestDocumentedFileIsRead parses the example in the documentation.
func TestDocumentedFileIsRead(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile("../../docs/skills.md"))(t)
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	file, _, found := strings.Cut(rest, "```")
	if got, err := skill.ParseImport([]byte(file)); err != nil || !found || len(got.Skills) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, name := range skill.Icons() {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the icon %s is not named", name)
		}
	}
}

// TestParseImportErrors tests one error at a time.
func TestParseImportErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, says string }{
		"unknown key": {
			"    icon: report\n", "    icon: report\n    colour: red\n",
			"line 13: unknown key colour",
		},
		"unknown list": {"retire:", "retired:", "line 38: unknown key retired"},
		"key twice":    {"    icon: report\n", "    icon: report\n    icon: chat\n", "line 13: mapping key"},
		"wrong type":   {"position: 3", "position: last", "line 28: cannot unmarshal"},
		"position":     {"position: 3", "position: 3000000000", "line 26: skill \"pitch\": position"},
		"category position": {
			"name: 営業", "name: 営業\n    position: -3000000000",
			"line 3: category \"sales\": position",
		},
		"form is text":     {"    suggestions: [値引きを求められたら]", "    suggestions: 値引き", "cannot unmarshal"},
		"skill key":        {"key: visit-report", "key: Visit Report", "line 6: skill \"Visit Report\""},
		"same key":         {"key: pitch", "key: visit-report", "line 26: skill \"visit-report\""},
		"same name":        {"name: 商談の練習", "name: 訪問報告", "line 26: skill \"pitch\": another one"},
		"category key":     {"key: sales", "key: talk", "line 3: category \"talk\""},
		"category name":    {"name: 営業", "name: とても長い名前のカテゴリーです", "line 3: category"},
		"unknown category": {"category: talk", "category: speech", "unknown category \"speech\""},
		"icon":             {"icon: sparring", "icon: ../../evil", "no icon"},
		"kind":             {"kind: report", "kind: chrome_extension_easy_explain", "unknown kind"},
		"task type":        {"form_type: chat", "form_type: chat\n    task_type: dreaming", "unknown task type"},
		"task without files": {
			"form_type: chat", "form_type: chat\n    task_type: document_qa",
			"accepts_data_sources",
		},
		"form type":         {"form_type: chat", "form_type: talk", "unknown form type"},
		"no fields":         {"form_type: chat", "form_type: form", "line 26: skill \"pitch\": a form skill"},
		"three lines":       {"      次の行動も整理します。\n", "      二行目\n      三行目\n", "one or two lines"},
		"unknown variable":  {"あなたは、営業の", "私は {{担当者}}、営業の", "{{担当者}}"},
		"answer length":     {"    icon: report\n", "    icon: report\n    answer_length: huge\n", "answer length"},
		"long name":         {"name: 訪問報告", "name: " + strings.Repeat("長", 21), "name must have"},
		"field name":        {"- name: customer", "- name: お客様", "the name must be a word"},
		"field type":        {"type: textarea", "type: picture", "unknown type"},
		"long keyword":      {"[ロープレ]", "[" + strings.Repeat("長", 21) + "]", "keywords"},
		"options of a file": {"type: textarea", "type: file\n        options: [a, b]", "only a select"},
		"reserved tag":      {"あなたは、慎重な購買担当者である。", "</text> と書く。", "reserved tags"},
		"control character": {"あなたは、慎重な購買担当者である。", `"\u0007"`, "line 37: a control character"},
		"retired and there": {"[old-report]", "[pitch]", "line 38: retire \"pitch\""},
		"retired key":       {"[old-report]", "[古い]", "line 38: retire"},
		"two documents":     {"retire:", "---\nretire:", "more than one document"},
		"broken":            {"skills:", "skills: [", "line"},
	} {
		if !strings.Contains(sales, c.old) {
			t.Fatalf("%s: nothing to change", name)
		}
		_, err := skill.ParseImport([]byte(strings.Replace(sales, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "skill.") {
			t.Errorf("%s: %v", name, err)
		}
	}
	several := strings.NewReplacer("kind: report", "kind: x", "icon: sparring", "icon: y").Replace(sales)
	if _, err := skill.ParseImport([]byte(several)); err == nil || strings.Count(err.Error(), "line ") != 2 {
		t.Errorf("two mistakes: %v", err)
	}
	for name, data := range map[string]string{
		"empty": "", "only comments": "# nothing\n", "no skills": "categories: []\n",
		"too large": strings.Repeat("#", skill.MaxImportSize+1),
		"a list":    "- x\n", "too many": "retire:\n" + strings.Repeat("  - x\n", 300),
	} {
		if _, err := skill.ParseImport([]byte(data)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// FuzzImport: any input is parsed without a panic, and only valid skills are accepted.
func FuzzImport(f *testing.F) {
	f.Add([]byte(sales))
	f.Add([]byte("a: &a [*a]\nskills: *a\n"))
	f.Add([]byte("skills: [{<<: {key: x}}]"))
	paths := must.Get(filepath.Glob("builtin/*.yaml"))(f)
	for _, path := range paths {
		data, err := os.ReadFile(path) //nolint:gosec // Our own files.
		f.Add(data)
		must.Succeed(f, err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := skill.ParseImport(data)
		if err != nil && (err.Error() == "" || errors.Is(err, os.ErrNotExist)) {
			t.Errorf("%q: %v", data, err)
		}
		for _, s := range got.Skills {
			if err == nil && (s.Key == "" || s.Name == "" || s.Prompt == "" ||
				(s.CategoryKey == "") == (s.CategoryID == uuid.Nil)) {
				t.Errorf("taken: %+v", s)
			}
		}
	})
}

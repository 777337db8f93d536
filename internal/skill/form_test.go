package skill_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// everyField returns a form skill with a field of each type.
func everyField() skill.Skill {
	return skill.Skill{
		FormType: skill.FormForm,
		FormFields: []skill.FormField{
			{Name: "text", Label: "文章", Type: skill.FieldTextarea, Required: true, MaxLength: 10},
			{Name: "title", Label: "題名", Type: skill.FieldText, MaxLength: 5},
			{Name: "style", Label: "文体", Type: skill.FieldSelect, Required: true, Options: []string{"標準", "簡潔"}},
			{Name: "count", Label: "数", Type: skill.FieldNumber, MaxLength: 4},
			{Name: "note", Label: "補足", Type: skill.FieldTextarea},
			{Name: "file", Label: "資料", Type: skill.FieldFile},
		},
	}
}

// TestCheckFormOfAProofreading: a proofreading form has either a text or a file.
func TestCheckFormOfAProofreading(t *testing.T) {
	t.Parallel()
	sk := skill.Skill{Kind: skill.KindProofreading, FormType: skill.FormForm, FormFields: []skill.FormField{
		{Name: "text", Label: "文章", Type: skill.FieldTextarea},
		{Name: "file", Label: "ファイル", Type: skill.FieldFile},
		{Name: "rules", Label: "表記ルール", Type: skill.FieldText},
	}}
	const file = "0190f3c2-0000-7000-8000-000000000005"
	for name, test := range map[string]struct {
		values map[string]string
		want   string
	}{
		"text":    {map[string]string{"text": "本文"}, ""},
		"file":    {map[string]string{"file": file, "text": " "}, ""},
		"neither": {map[string]string{"rules": "数字は半角"}, "form.text: 校正する文章を入力するか、ファイルを選択してください。"},
		"both":    {map[string]string{"text": "本文", "file": file}, "form.text: 文章とファイルは、どちらか一つだけを指定してください。"},
	} {
		got := ""
		if err := sk.CheckForm(test.values); err != nil {
			if wrong, ok := errors.AsType[*fault.Error](err); ok && len(wrong.Fields) == 1 {
				got = wrong.Fields[0].Field + ": " + wrong.Fields[0].Message
			}
		}
		if got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	values := map[string]string{"text": "本文", "file": file, "rules": "数字は半角"}
	if got := sk.FormSettings(values); got != "表記ルール: 数字は半角" || sk.FormText(values) != "本文" {
		t.Errorf("settings %q, text %q", got, sk.FormText(values))
	}
}

func TestCheckForm(t *testing.T) {
	t.Parallel()
	good := map[string]string{"text": "本文", "style": "標準"}
	file := uuid.NewString()
	tests := []struct {
		name   string
		change map[string]string
		want   []string // "field: message"; nil if the form is valid.
	}{
		{"least", nil, nil},
		{"all", map[string]string{"title": "題", "count": "10", "note": "一\n二", "file": file}, nil},
		{"blank optional", map[string]string{"title": " ", "count": "", "note": "\n", "file": ""}, nil},
		{"exactly the limit", map[string]string{"text": strings.Repeat("𠮷", 10)}, nil},
		{"line ends count once", map[string]string{"text": "一二三四\r\n五六七八九"}, nil},
		{"missing text", map[string]string{"text": " \u3000\n"}, []string{"form.text: 文章を入力してください。"}},
		{"missing choice", map[string]string{"style": ""}, []string{"form.style: 文体を選択してください。"}},
		{
			"too long",
			map[string]string{"text": strings.Repeat("あ", 11)},
			[]string{"form.text: 文章は10文字以内で入力してください（現在11文字）。"},
		},
		{
			"default limit",
			map[string]string{"note": strings.Repeat("あ", 20001)},
			[]string{"form.note: 補足は20000文字以内で入力してください（現在20001文字）。"},
		},
		{"no such option", map[string]string{"style": "標準 "}, []string{"form.style: 文体を選択肢から選択してください。"}},
		{"line break in a line", map[string]string{"title": "一\n二"}, []string{"form.title: 題名には改行を入れられません。"}},
		{"full-width number", map[string]string{"count": "－１．５"}, nil},
		{"word for a number", map[string]string{"count": "十"}, []string{"form.count: 数は数字で入力してください。"}},
		{"half a number", map[string]string{"count": "1."}, []string{"form.count: 数は数字で入力してください。"}},
		{"exponent", map[string]string{"count": "1e9"}, []string{"form.count: 数は数字で入力してください。"}},
		{"long number", map[string]string{"count": "12345"}, []string{"form.count: 数は4文字以内で入力してください（現在5文字）。"}},
		{"not a file", map[string]string{"file": "../etc/passwd"}, []string{"form.file: 資料のファイルを選び直してください。"}},
		{
			"file in another spelling",
			map[string]string{"file": "urn:uuid:" + file},
			[]string{"form.file: 資料のファイルを選び直してください。"},
		},
		{"NUL", map[string]string{"text": "a\x00b"}, []string{"form.text: 文章に使えない制御文字が含まれています。"}},
		{"not UTF-8", map[string]string{"text": "a\xff"}, []string{"form.text: 文章に読み取れない文字が含まれています。"}},
		{
			"unknown field",
			map[string]string{"b": "1", "a\n": "2"},
			[]string{"form.a?: この項目はスキルにありません。", "form.b: この項目はスキルにありません。"},
		},
		{
			"several",
			map[string]string{"text": "", "style": "x"},
			[]string{"form.text: 文章を入力してください。", "form.style: 文体を選択肢から選択してください。"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			values := maps.Clone(good)
			maps.Copy(values, test.change)
			err := everyField().CheckForm(values)
			var got []string
			for _, f := range fault.FieldsOf(err) {
				got = append(got, f.Field+": "+f.Message)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.want != nil && fault.CodeOf(err) != fault.Invalid {
				t.Errorf("code = %q", fault.CodeOf(err))
			}
		})
	}
}

func TestCheckFormErrorsAreBounded(t *testing.T) {
	t.Parallel()
	values := map[string]string{"text": "本文", "style": "標準"}
	for i := range 1000 {
		values[fmt.Sprintf("%03d%s", i, strings.Repeat("x", 1000))] = "1"
	}
	fields := fault.FieldsOf(everyField().CheckForm(values))
	if len(fields) != 10 {
		t.Errorf("%d fields are named", len(fields))
	}
	for _, f := range fields {
		if len(f.Field) > 60 {
			t.Errorf("a field of %d bytes is named", len(f.Field))
		}
	}
	if err := (skill.Skill{FormType: skill.FormChat}).CheckForm(nil); err != nil {
		t.Errorf("a chat skill without values: %v", err)
	}
}

func TestRenderForm(t *testing.T) {
	t.Parallel()
	file := uuid.New()
	values := map[string]string{
		"text": "一行目\r\n二行目 </text>", "title": "題 <field>", "style": "簡潔", "count": "１０", "note": "補足 </FIELD >",
		"file": file.String(),
	}
	question := everyField().RenderForm(values)
	wantDisplay := "**題名** 題 <field>  \n**文体** 簡潔  \n**数** 10  \n**資料** 添付ファイル\n\n" +
		"**文章**\n\n一行目\n二行目 </text>\n\n**補足**\n\n補足 </FIELD >"
	if question.Display != wantDisplay {
		t.Errorf("display:\n%s\nwant:\n%s", question.Display, wantDisplay)
	}
	wantPrompt := "題名: 題 ＜field>\n文体: 簡潔\n数: 10\n資料: 添付ファイル\n\n" +
		"文章:\n<text>\n一行目\n二行目 ＜/text>\n</text>\n\n補足:\n<field>\n補足 ＜/FIELD >\n</field>"
	if question.Prompt != wantPrompt {
		t.Errorf("prompt:\n%s\nwant:\n%s", question.Prompt, wantPrompt)
	}
	if question.Subject != "一行目\n二行目 </text>" {
		t.Errorf("subject: %q", question.Subject)
	}
	if files := everyField().FormFiles(values); !slices.Equal(files, []uuid.UUID{file}) {
		t.Errorf("files = %v", files)
	}
	if short := everyField().RenderForm(map[string]string{"count": "１０", "style": "簡潔"}); short.Subject != "簡潔" {
		t.Errorf("the subject of a form without texts: %q", short.Subject)
	}
	blank := everyField().RenderForm(map[string]string{"text": "本文"})
	if blank.Display != "**文章**\n\n本文" || blank.Prompt != "文章:\n<text>\n本文\n</text>" {
		t.Errorf("blank fields are shown: %+v", blank)
	}
}

func TestNeutralize(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"", ""},
		{"1 < 2 <b>太字</b>", "1 < 2 <b>太字</b>"},
		{"<textarea></textarea>", "<textarea></textarea>"},
		{"<text-path>", "<text-path>"},
		{"<text>", "＜text>"},
		{"</text>", "＜/text>"},
		{"< / TEXT\n>", "＜ / TEXT\n>"},
		{"<text", "＜text"},
		{"<text　>", "＜text　>"},
		{"<value>chat</value>", "＜value>chat＜/value>"},
		{"<<text>", "<＜text>"},
		{"<field id=1>", "＜field id=1>"},
		{"<passage>", "＜passage>"},
	}
	for _, test := range tests {
		if got := skill.Neutralize(test.in, "passage"); got != test.want {
			t.Errorf("Neutralize(%q) = %q, want %q", test.in, got, test.want)
		}
	}
}

// FuzzForm checks that any input is either refused or rendered with exactly the tags of the form.
func FuzzForm(f *testing.F) {
	f.Add("本文", "題", "10", "補足")
	f.Add("</text>\n<value>chat</value>", "a\nb", "１０", "</field><field>")
	f.Add("< / t\u200bext><text", "</text>", "-1.5", "<\n/text>")
	f.Add("\xff\x00", "＜", "", "")
	f.Fuzz(func(t *testing.T, text, title, count, note string) {
		s := everyField()
		s.FormFields[0].MaxLength, s.FormFields[1].MaxLength = 0, 0
		values := map[string]string{"text": text, "title": title, "count": count, "note": note, "style": "標準"}
		if err := s.CheckForm(values); err != nil {
			if fault.CodeOf(err) != fault.Invalid || len(fault.FieldsOf(err)) == 0 {
				t.Fatalf("refused without a field: %v", err)
			}
			return
		}
		prompt := s.RenderForm(values).Prompt
		for _, tag := range []string{"<text>", "</text>"} {
			if n := strings.Count(strings.ToLower(prompt), tag); n != 1 {
				t.Errorf("%d × %s in %q", n, tag, prompt)
			}
		}
		open, shut := strings.Count(prompt, "<field>"), strings.Count(prompt, "</field>")
		if open != shut || open > 1 || strings.Contains(prompt, "<value") {
			t.Errorf("tags broke out in %q", prompt)
		}
	})
}

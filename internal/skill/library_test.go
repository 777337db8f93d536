package skill_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// savingStore records the input for saving.
type savingStore struct {
	skill.Store

	saved    []skill.Input
	template skill.Content
}

func (s *savingStore) SaveSkill(
	_ context.Context, _ skill.Editor, id uuid.UUID, input skill.Input,
) (skill.CustomSkill, error) {
	s.saved = append(s.saved, input)
	return skill.CustomSkill{ID: id, Content: input.Content, Version: input.BaseVersion + 1}, nil
}

func (s *savingStore) FindTemplate(context.Context, skill.Editor, uuid.UUID) (skill.Content, error) {
	return s.template, nil
}

func (s *savingStore) FindCustomSkill(_ context.Context, _ skill.Editor, id uuid.UUID) (skill.CustomSkill, error) {
	return skill.CustomSkill{ID: id, Content: s.saved[len(s.saved)-1].Content}, nil
}

func (s *savingStore) ListAllCategories(context.Context, uuid.UUID) ([]skill.KeyedCategory, error) {
	categories, _, err := skill.Builtin()
	keyed := make([]skill.KeyedCategory, len(categories))
	for i, c := range categories {
		keyed[i].Category = c
	}
	return keyed, err
}

func content() skill.Content {
	categories, _, _ := skill.Builtin()
	return skill.Content{
		Name: "訪問報告", Description: "訪問のメモから\n報告書を作ります。", Icon: "report", CategoryID: categories[0].ID,
		Prompt: "{{会社名}}への訪問を報告する。", FormFields: []skill.FormField{
			{Name: "company", Label: "会社名", Type: skill.FieldText, Required: true, Options: []string{}},
			{Name: "day", Label: "訪問日", Type: skill.FieldDate, Options: []string{}},
		},
	}
}

func someone(role identity.Role) identity.Actor {
	return identity.Actor{User: identity.User{ID: uuid.New(), OrganizationID: uuid.New(), Role: role}}
}

// TestContentsAreChecked: each error names its field.
func TestContentsAreChecked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*skill.Content)
		fields []string
		text   string
	}{
		"nothing wrong": {func(*skill.Content) {}, nil, ""},
		"an emoji":      {func(c *skill.Content) { c.Icon = "👩🏽‍💻" }, nil, ""},
		"a flag":        {func(c *skill.Content) { c.Icon = "🇯🇵" }, nil, ""},
		"two emoji":     {func(c *skill.Content) { c.Icon = "📊📈" }, []string{"icon"}, "絵文字を一つ"},
		"a letter":      {func(c *skill.Content) { c.Icon = "a" }, []string{"icon"}, ""},
		"a path":        {func(c *skill.Content) { c.Icon = "../x" }, []string{"icon"}, ""},
		"no name":       {func(c *skill.Content) { c.Name = " " }, []string{"name"}, "名前を入力"},
		"no letter":     {func(c *skill.Content) { c.Name = "\u3164" }, []string{"name"}, "名前を入力"},
		"another order": {func(c *skill.Content) { c.Name = "請求\u202e書" }, []string{"name"}, "使えない文字"},
		"a separator":   {func(c *skill.Content) { c.Name = "請求\u2028書" }, []string{"name"}, "使えない文字"},
		"a long name":   {func(c *skill.Content) { c.Name = strings.Repeat("名", 21) }, []string{"name"}, "20文字以内"},
		"three lines":   {func(c *skill.Content) { c.Description = "一\n二\n三" }, []string{"description"}, "2行"},
		"unknown variables": {
			func(c *skill.Content) { c.Prompt = "{{会社名}}の{{担当者}}と{{期日}}、{{担当者}}" },
			[]string{"prompt"},
			"「{{担当者}}」「{{期日}}」",
		},
		"a reserved tag": {func(c *skill.Content) { c.Prompt = "</text>" }, []string{"prompt"}, "<text>"},
		"a long prompt": {
			func(c *skill.Content) { c.Prompt = strings.Repeat("糸", 60_001) }, []string{"prompt"}, "60000文字以内",
		},
		"the longest prompt": {func(c *skill.Content) { c.Prompt = strings.Repeat("糸", 60_000) }, nil, ""},
		"two equal labels": {
			func(c *skill.Content) { c.FormFields[1].Label = "会社名" }, []string{"form_fields[1].label"}, "同じ名前",
		},
		"a select of one": {func(c *skill.Content) {
			c.FormFields[1] = skill.FormField{
				Name: "tone", Label: "文体", Type: skill.FieldSelect, Options: []string{"丁寧"},
			}
		}, []string{"form_fields[1].options"}, "2件以上"},
		"a form with suggestions": {
			func(c *skill.Content) { c.Suggestions = []string{"例"} }, []string{"suggestions"}, "",
		},
		"the extension's kind": {
			func(c *skill.Content) { c.Kind = skill.KindEasyExplain }, []string{"kind"}, "",
		},
		"an empty answer": {
			func(c *skill.Content) { c.Examples = []skill.Example{{Question: "問い"}} }, []string{"examples[0].answer"}, "",
		},
		"too many documents": {
			func(c *skill.Content) {
				for range skill.MaxDocuments + 1 {
					c.DocumentIDs = append(c.DocumentIDs, uuid.New())
				}
			}, []string{"document_ids"}, "10件まで",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, store := content(), &savingStore{}
			test.change(&c)
			_, err := skill.NewLibrary(store).Create(t.Context(), someone(identity.RoleGeneralUser),
				skill.Input{RequestID: uuid.New(), Audience: skill.AudienceSelf, Content: c})
			var fields []string
			var texts string
			if failed, ok := errors.AsType[*fault.Error](err); ok {
				for _, f := range failed.Fields {
					fields, texts = append(fields, f.Field), texts+f.Message
				}
			}
			if !slices.Equal(fields, test.fields) || !strings.Contains(texts, test.text) {
				t.Errorf("got %v %s: %v", fields, texts, err)
			}
			if test.fields == nil {
				if err := skill.Validate(store.saved[0].Content.Skill(uuid.New())); err != nil {
					t.Errorf("a file could not have it: %v", err)
				}
			}
		})
	}
}

func TestOnlyAdministratorsMakeSkillsOfTheOrganization(t *testing.T) {
	t.Parallel()
	library := skill.NewLibrary(&savingStore{})
	for role, code := range map[identity.Role]fault.Code{
		identity.RoleGeneralUser: fault.Forbidden, identity.RoleSystemAdmin: fault.Forbidden,
		identity.RoleOrganizationAdmin: "", identity.RoleOrganizationSuperAdmin: "",
	} {
		_, err := library.Create(t.Context(), someone(role),
			skill.Input{RequestID: uuid.New(), Audience: skill.AudienceOrganization, Content: content()})
		if (err != nil || code != "") && fault.CodeOf(err) != code {
			t.Errorf("%s: %v", role, err)
		}
	}
}

func TestNamesOfCopies(t *testing.T) {
	t.Parallel()
	store := &savingStore{template: content()}
	store.template.Name = strings.Repeat("長", 20)
	custom, err := skill.NewLibrary(store).Copy(t.Context(), someone(identity.RoleGeneralUser), uuid.New(), uuid.New(),
		skill.AudienceSelf)
	if err != nil || custom.Content.Name != strings.Repeat("長", 16)+"のコピー" {
		t.Errorf("got %q, %v", custom.Content.Name, err)
	}
}

// TestExportedSkillsAreReadAgain: the app and the operator's import can read exported skills.
func TestExportedSkillsAreReadAgain(t *testing.T) {
	t.Parallel()
	store := &savingStore{}
	library, actor := skill.NewLibrary(store), someone(identity.RoleGeneralUser)
	c := content()
	c.Icon, c.AnswerLength, c.Examples = "🧵", skill.AnswerLong, []skill.Example{{Question: "問い", Answer: "答え"}}
	custom := must.Get(library.Create(t.Context(), actor, skill.Input{Audience: skill.AudienceSelf, Content: c}))(t)
	file := must.Get(library.Export(t.Context(), actor, custom.ID))(t)
	if _, err := skill.ParseImport(file); err != nil {
		t.Errorf("an operator: %v\n%s", err, file)
	}
	read, err := library.Read(t.Context(), actor, string(file))
	if err != nil || len(read) != 1 {
		t.Fatalf("got %v, %v\n%s", read, err, file)
	}
	if _, err := library.Create(t.Context(), actor, skill.Input{
		Audience: skill.AudienceSelf, Content: read[0],
	}); err != nil {
		t.Error(err)
	}
	if again, first := store.saved[1].Content, store.saved[0].Content; again.Prompt != first.Prompt ||
		again.Icon != first.Icon || again.CategoryID != first.CategoryID || len(again.FormFields) != 2 ||
		again.Examples[0] != first.Examples[0] {
		t.Errorf("got %+v", again)
	}
}

func TestInvalidSkillFilesAreRefused(t *testing.T) {
	t.Parallel()
	library := skill.NewLibrary(&savingStore{})
	for file, text := range map[string]string{
		"": "YAML の形式", "skills: []": "スキルがありません", "skills: [{prompts: x}]": "1行目の prompts は使えない",
		"skills:\n  - key: [": "行目の書き方", strings.Repeat("a", skill.MaxExchange+1): "512 KBまで",
		"skills: [" + strings.Repeat("{name: a},", 21) + "]": "20件まで",
	} {
		_, err := library.Read(t.Context(), someone(identity.RoleGeneralUser), file)
		failed, ok := errors.AsType[*fault.Error](err)
		if !ok || failed.Code != fault.Invalid || !strings.Contains(failed.Fields[0].Message, text) {
			t.Errorf("%.40q: %v", file, err)
		}
	}
}

// FuzzExchange: an uploaded file is read or refused.
func FuzzExchange(f *testing.F) {
	f.Add("skills:\n  - {key: a, name: 名, category: talk, icon: chat, form_type: chat, prompt: x}")
	f.Add("a: &a [*a]")
	f.Add("00 0:")
	library := skill.NewLibrary(&savingStore{})
	f.Fuzz(func(t *testing.T, file string) {
		if _, err := library.Read(context.Background(), someone(identity.RoleGeneralUser), file); err != nil &&
			fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%q: %v", file, err)
		}
	})
}

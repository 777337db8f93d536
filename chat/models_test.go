package chat_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// offered are the operator's models in these tests: the first one is the default.
var offered = llmtest.Offers{
	{ID: "standard", Name: "標準モデル", Thinking: llm.ThinkingNone, ContextTokens: 32_000},
	{ID: "careful", Name: "熟考モデル", Note: "時間がかかります", Thinking: llm.ThinkingSwitch, ContextTokens: 64_000},
	{ID: "seeing", Name: "画像モデル", Sees: true, Thinking: llm.ThinkingAlways, ContextTokens: 128_000},
}

// settled holds an organization's settings and a skill's model in memory.
type settled struct {
	chat.Store

	settings chat.ModelSettings
	logged   []org.Change // The changes of the last call.
	skill    string
}

func (s *settled) ModelSettings(context.Context, uuid.UUID) (chat.ModelSettings, error) {
	return s.settings, nil
}

func (s *settled) MemberModelSettings(context.Context, identity.Owner) (chat.ModelSettings, error) {
	return s.settings, nil
}

func (s *settled) GroupNames(context.Context, uuid.UUID) (map[uuid.UUID]string, error) {
	return nil, nil
}

func (s *settled) SetModelSettings(
	_ context.Context, actor identity.Actor, settings chat.ModelSettings,
	check func(*org.Member, chat.ModelSettings) ([]org.Change, error),
) error {
	changes, err := check(&org.Member{ID: actor.ID, Role: actor.Role, State: identity.StateActive}, s.settings)
	if err != nil {
		return err
	}
	s.settings, s.logged = settings, changes
	return nil
}

// skills returns the service of skills. Each skill wishes the same model.
func (s *settled) skills() *skill.Service {
	return skill.NewService(wishing{model: s.skill}, skill.Config{})
}

// wishing is a store of skills that wish a model.
type wishing struct {
	skill.Store
	model string
}

func (w wishing) FindSkill(context.Context, uuid.UUID, uuid.UUID, uuid.UUID) (skill.Skill, error) {
	return skill.Skill{Model: w.model}, nil
}

// TestModelChoice: the models that a member may choose, and the default model.
func TestModelChoice(t *testing.T) {
	t.Parallel()
	allow := func(defaultID string, ids ...string) chat.ModelSettings {
		s := chat.ModelSettings{DefaultID: defaultID}
		for _, id := range ids {
			s.Models = append(s.Models, chat.ModelSetting{ID: id, Allowed: true})
		}
		return s
	}
	for name, test := range map[string]struct {
		settled settled
		ids     []string
		answers string
	}{
		"without settings":              {settled{}, []string{"standard"}, "standard"},
		"the skill wishes, not allowed": {settled{skill: "careful"}, []string{"standard"}, "standard"},
		"two are allowed": {
			settled{settings: allow("seeing", "seeing", "careful")}, []string{"careful", "seeing"}, "seeing",
		},
		"the skill wishes": {
			settled{settings: allow("seeing", "seeing", "careful"), skill: "careful"}, []string{"careful", "seeing"}, "careful",
		},
		"the skill's is withdrawn": {settled{settings: allow("careful", "careful"), skill: "seeing"}, []string{"careful"}, "careful"},
		"the default is not offered any more": {
			settled{settings: allow("gone", "gone", "careful")}, []string{"standard", "careful"}, "standard",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := newID()
			got, err := chat.NewModels(offered, test.settled.skills(), &test.settled).Choice(t.Context(), identity.Owner{}, &id)
			must.Succeed(t, err)
			var ids []string
			for _, m := range got.Models {
				ids = append(ids, m.ID)
			}
			if !slices.Equal(ids, test.ids) || got.DefaultID != test.answers {
				t.Errorf("%q may be chosen, and %s answers", ids, got.DefaultID)
			}
		})
	}
}

// TestModelSettings: administrators allow and name models; other members may not. Errors name their field.
func TestModelSettings(t *testing.T) {
	t.Parallel()
	s := &settled{}
	models := chat.NewModels(offered, s.skills(), s)
	admin := identity.Actor{User: identity.User{Role: identity.RoleOrganizationAdmin}}
	member := identity.Actor{User: identity.User{Role: identity.RoleGeneralUser}}
	if _, err := models.Settings(t.Context(), member); !errors.Is(err, org.ErrForbidden) {
		t.Errorf("a member reads: %v", err)
	}
	if _, err := models.SetSettings(t.Context(), member, chat.ModelSettings{}); !errors.Is(err, org.ErrForbidden) {
		t.Errorf("a member writes: %v", err)
	}
	standard := chat.ModelSetting{ID: "standard", Allowed: true}
	for field, settings := range map[string]chat.ModelSettings{
		"default_id":     {DefaultID: "careful", Models: []chat.ModelSetting{standard, {ID: "careful"}}},
		"models[1].id":   {DefaultID: "standard", Models: []chat.ModelSetting{standard, {ID: "unknown", Allowed: true}}},
		"models[2].id":   {DefaultID: "standard", Models: []chat.ModelSetting{standard, {ID: "seeing"}, standard}},
		"models[0].name": {Models: []chat.ModelSetting{{ID: "standard", Name: strings.Repeat("名", 41)}}},
		"models[0].note": {Models: []chat.ModelSetting{{ID: "standard", Note: "二行の\n説明"}}},
	} {
		_, err := models.SetSettings(t.Context(), admin, settings)
		if fields := fault.FieldsOf(err); len(fields) != 1 || fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	got, err := models.SetSettings(t.Context(), admin, chat.ModelSettings{
		DefaultID: "careful", Models: []chat.ModelSetting{{ID: "careful", Allowed: true, Name: " よく考えるモデル "}},
	})
	if err != nil || got.DefaultID != "careful" || len(got.Models) != 3 || got.Models[0].Setting.Allowed {
		t.Fatalf("%+v %v", got, err)
	}
	if name, note := got.Models[1].Display(); name != "よく考えるモデル" || note != "時間がかかります" {
		t.Errorf("it is shown as %s, %s", name, note)
	}
	rename := chat.ModelSettings{DefaultID: "careful", Models: []chat.ModelSetting{
		{ID: "careful", Allowed: true, Name: "熟考"},
	}}
	if _, err = models.SetSettings(t.Context(), admin, rename); err != nil || !slices.Equal(s.logged, []org.Change{
		{Field: "model_name", Before: "よく考えるモデル", After: "熟考"},
	}) {
		t.Errorf("a new name is logged as %+v, %v", s.logged, err)
	}
	// The audit log has the models' names, never their ids.
	if _, err = models.SetSettings(t.Context(), admin, chat.ModelSettings{DefaultID: "seeing", Models: []chat.ModelSetting{
		{ID: "careful", Allowed: true, Note: "待てるとき"}, {ID: "seeing", Allowed: true},
	}}); err != nil {
		t.Fatal(err)
	}
	if want := []org.Change{
		{Field: "default_id", Before: "熟考", After: "画像モデル"},
		{Field: "allowed_models", Before: "熟考", After: "熟考モデル、画像モデル"},
		{Field: "model_name", Before: "熟考", After: "熟考モデル"},
		{Field: "model_note", Before: "熟考モデル：時間がかかります", After: "熟考モデル：待てるとき"},
	}; !slices.Equal(s.logged, want) {
		t.Errorf("logged %+v", s.logged)
	}
}

// allow sets the models that the owner's organization allows. The first one is its default.
func (f *fixture) allow(models ...chat.ModelSetting) {
	f.t.Helper()
	for i := range models {
		models[i].Allowed = true
	}
	if err := f.db.SetModelSettings(f.t.Context(), identity.Actor{User: identity.User{
		OrganizationID: f.owner.OrganizationID, ID: f.owner.UserID,
	}}, chat.ModelSettings{DefaultID: models[0].ID, Models: models}, func(
		*org.Member, chat.ModelSettings,
	) ([]org.Change, error) {
		return nil, nil
	}); err != nil {
		f.t.Fatal(err)
	}
}

// TestChosenModelAnswers: the request has the model's id and the thinking switch. The answer has the model's name at
// the time, even if the model is renamed later.
func TestChosenModelAnswers(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, nil)
	f.named()
	s := f.startWith(chat.Deps{Model: model, Offers: offered}, mute())
	on := true
	ask := func(q chat.Question) (llm.Request, chat.Message) {
		exchange := f.sendTo(s, q)
		call := model.Next(t)
		call.Finish()
		return call.Request, f.waitAt(s, exchange).Answer
	}
	first, answer := ask(f.question("標準で"))
	if id, name := answer.Writer(); first.Model != "standard" || id != "standard" || name != "標準モデル" {
		t.Errorf("%q was asked, and %s %s wrote it", first.Model, id, name)
	}
	f.allow(chat.ModelSetting{ID: "standard"}, chat.ModelSetting{ID: "careful", Name: "じっくり"})
	q := f.question("考えて")
	q.ModelID, q.Thinking = "careful", &on
	second, careful := ask(q)
	if id, name := careful.Writer(); second.Model != "careful" || second.Thinking == nil || !*second.Thinking ||
		id != "careful" || name != "じっくり" {
		t.Errorf("%+v, and %s %s wrote it", second, id, name)
	}
	f.allow(chat.ModelSetting{ID: "seeing"})
	if got, err := s.FindMessage(t.Context(), f.owner, careful.ID); err != nil || got.ModelName != "じっくり" {
		t.Errorf("later it is %+v, %v", got, err)
	}
	if third, _ := ask(chat.Question{RequestID: newID(), ThreadID: f.thread.ID, Regenerate: &careful.ID}); third.Model != "seeing" {
		t.Errorf("%s answers again", third.Model)
	}
	// A refused question names its field and stores nothing.
	before := len(f.messages())
	again := f.question("だめ")
	again.ModelID = "careful"
	think := f.question("切り替えられない")
	think.ModelID, think.Thinking = "seeing", &on
	for field, q := range map[string]chat.Question{"model_id": again, "thinking": think} {
		_, err := s.Send(t.Context(), f.owner, q)
		if fields := fault.FieldsOf(err); len(fields) != 1 || fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
		if field == "model_id" && fault.CodeOf(err) != chat.ModelNotAllowed {
			t.Errorf("code %s", fault.CodeOf(err))
		}
	}
	if after := len(f.messages()); after != before {
		t.Errorf("%d messages, before %d", after, before)
	}
	// A repeated request returns its answer, whatever models are allowed since.
	if got, err := s.Send(t.Context(), f.owner, q); err != nil || got.Answer.ID != careful.ID {
		t.Errorf("repeated: %+v %v", got, err)
	}
}

// TestTitleModel: the answering model writes the title, unless the operator configures a model for titles.
func TestTitleModel(t *testing.T) {
	t.Parallel()
	for want, offers := range map[string]chat.Offers{"careful": offered, "seeing": titled{offered}} {
		f := newFixture(t, nil)
		f.allow(chat.ModelSetting{ID: "careful"})
		model := newTitler(llmtest.Say("はい"))
		s := f.startWith(chat.Deps{Model: model, Offers: offers}, mute())
		exchange := f.sendTo(s, f.question("見出しは？"))
		call := model.next(t)
		if call.model != want {
			t.Errorf("%q was asked for the title, want %q", call.model, want)
		}
		close(call.say)
		f.waitAt(s, exchange)
	}
}

// models is an alias that can be embedded together with its method Offers.
type models = chat.Offers

// titled adds a model for titles.
type titled struct{ models }

func (titled) TitleModel() string { return "seeing" }

// TestR95_TakeoverKeepsTheModel: the next run uses the model of the question, even if it is no longer allowed, and the
// operator's default if it is no longer offered.
func TestR95_TakeoverKeepsTheModel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		offers llmtest.Offers
		want   string
		called string
	}{
		"withdrawn by the organization": {offered, "careful", "熟考モデル"},
		"not offered any more":          {offered[:1], "standard", "標準モデル"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			f.named()
			f.allow(chat.ModelSetting{ID: "careful"})
			off := false
			model := llmtest.NewLive()
			slow := f.startWith(chat.Deps{Model: model, Offers: offered}, mute())
			q := f.question("引き継いで")
			q.Thinking = &off
			exchange := f.sendTo(slow, q)
			model.Next(t).Emit("途中まで")
			f.allow(chat.ModelSetting{ID: "seeing"})

			next := llmtest.NewLive()
			server := f.startWith(chat.Deps{Model: next, Offers: test.offers}, chat.Config{Alone: true})
			after := next.Next(t)
			thinks := after.Request.Thinking
			if after.Request.Model != test.want || (test.want == "careful") != (thinks != nil && !*thinks) {
				t.Errorf("the next run asks %q, thinking %v", after.Request.Model, thinks)
			}
			after.Finish()
			if got := f.waitAt(server, exchange).Answer; got.ModelName != test.called {
				t.Errorf("stored %+v", got)
			}
		})
	}
}

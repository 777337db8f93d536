package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// Limits of an organization's name and note for a model, in characters.
const (
	maxModelName = 40
	maxModelNote = 60
)

// ModelNotAllowed is the code of a question for a model that does not exist or that the organization does not allow.
const ModelNotAllowed fault.Code = "model_not_allowed"

// Offers are the models that the operator offers. *llm.Router implements it.
type Offers interface {
	// Offers returns the models in the operator's order, and the id of the default model.
	Offers() (defaultID string, offers []llm.Offer)

	// TitleModel returns the id of the model that writes titles, or "" for the answering model.
	TitleModel() string

	// Available reports for each model id whether its provider lists the model. It omits models whose provider could
	// not be asked.
	Available(ctx context.Context) map[string]bool
}

// Price is the price of a model.
type Price = llm.Price

// ModelSettings are an organization's decisions about the operator's models. The zero value allows only the operator's
// default. Its JSON form is the stored form.
type ModelSettings struct {
	DefaultID string         `json:"default_id,omitempty"`
	Models    []ModelSetting `json:"models,omitempty"`
}

// ModelSetting is an organization's decision about a model.
type ModelSetting struct {
	ID      string `json:"id"`
	Allowed bool   `json:"allowed,omitempty"`
	Name    string `json:"name,omitempty"` // Replaces the operator's name, as Note replaces the operator's note.
	Note    string `json:"note,omitempty"`

	// Groups are the groups whose members may choose the model; empty for everyone. A deleted group remains, so that the
	// model does not become available to others.
	Groups []uuid.UUID `json:"groups,omitempty"`
}

// Choice is a person's choice of a model.
type Choice struct {
	ModelID  string // "" for the default.
	Thinking *bool  // Nil for the model's default.
}

// AnswerModel is the model that answers a question. The zero value is the model of a Service without Offers.
type AnswerModel struct {
	ID            string
	Name          string
	Sees          bool // Whether it reads pictures.
	Thinking      *bool
	ContextTokens int  // 0 if unknown.
	Continues     bool // Whether it can continue an answer that was begun.
}

// OfferedModel is a model with an organization's decision about it.
type OfferedModel struct {
	llm.Offer

	Setting   ModelSetting
	Available *bool // Whether the provider lists it. Set by Settings; nil if unknown.
}

// Display returns the name and note for people.
func (m OfferedModel) Display() (name, note string) {
	return cmp.Or(m.Setting.Name, m.Name), cmp.Or(m.Setting.Note, m.Note)
}

// Models determines the model for an answer. It is safe for concurrent use.
type Models struct {
	offers Offers
	skills *skill.Service
	store  Store
}

// NewModels returns a Models.
func NewModels(offers Offers, skills *skill.Service, store Store) *Models {
	return &Models{offers: offers, skills: skills, store: store}
}

// ModelChoice is the list of models for a choice.
type ModelChoice struct {
	DefaultID  string
	Models     []OfferedModel
	GroupNames map[uuid.UUID]string // Of the organization's groups. Set by Settings.
}

// Choice returns the models that a member may choose, and the default model. With skillID, the default is that of a
// thread with the skill.
func (m *Models) Choice(ctx context.Context, owner identity.Owner, skillID *uuid.UUID) (ModelChoice, error) {
	var sk skill.Skill
	if skillID != nil {
		var err error
		if sk, err = m.skills.Get(ctx, owner.OrganizationID, owner.UserID, *skillID); err != nil {
			return ModelChoice{}, err
		}
	}
	settings, err := m.store.MemberModelSettings(ctx, owner)
	if err != nil {
		return ModelChoice{}, err
	}
	allowed, fallback := allowedModels(m.offers, settings)
	if indexOfModel(allowed, sk.Model) >= 0 {
		fallback = sk.Model
	}
	return ModelChoice{DefaultID: fallback, Models: allowed}, nil
}

// Settings returns all models with the decisions of the actor's organization. For administrators.
func (m *Models) Settings(ctx context.Context, actor identity.Actor) (ModelChoice, error) {
	if !actor.Role.IsAdmin() {
		return ModelChoice{}, org.ErrForbidden
	}
	settings, err := m.store.ModelSettings(ctx, actor.OrganizationID)
	if err != nil {
		return ModelChoice{}, err
	}
	names, err := m.store.GroupNames(ctx, actor.OrganizationID)
	if err != nil {
		return ModelChoice{}, err
	}
	allowed, fallback := allowedModels(m.offers, settings)
	all := applySettings(m.offers, settings)
	available := m.offers.Available(ctx)
	for i := range all {
		all[i].Setting.Allowed = indexOfModel(allowed, all[i].ID) >= 0
		if is, known := available[all[i].ID]; known {
			all[i].Available = &is
		}
	}
	return ModelChoice{DefaultID: fallback, Models: all, GroupNames: names}, nil
}

// SetSettings replaces the decisions of the actor's organization, and returns them like Settings. For administrators.
func (m *Models) SetSettings(ctx context.Context, actor identity.Actor, s ModelSettings) (ModelChoice, error) {
	if !actor.Role.IsAdmin() {
		return ModelChoice{}, org.ErrForbidden
	}
	all := applySettings(m.offers, ModelSettings{})
	for i := range s.Models {
		if err := checkModelSetting(all, s.Models[:i], &s.Models[i], i); err != nil {
			return ModelChoice{}, err
		}
	}
	i := slices.IndexFunc(s.Models, func(m ModelSetting) bool { return m.ID == s.DefaultID && m.Allowed })
	switch {
	case i < 0:
		return ModelChoice{}, fault.InvalidField("default_id", "利用を許可したモデルの中から、既定のモデルを選択してください。")
	case len(s.Models[i].Groups) > 0:
		return ModelChoice{}, fault.InvalidField("default_id", "既定のモデルは、メンバー全員が選べるモデルにしてください。")
	}
	names, err := m.store.GroupNames(ctx, actor.OrganizationID)
	if err != nil {
		return ModelChoice{}, err
	}
	check := func(actor *org.Member, before ModelSettings) ([]org.Change, error) {
		if actor == nil || !actor.Role.IsAdmin() || actor.State != identity.StateActive {
			return nil, org.ErrForbidden
		}
		if err := checkModelGroups(before, s, names); err != nil {
			return nil, err
		}
		return modelChanges(m.offers, before, s, names), nil
	}
	err = m.store.SetModelSettings(ctx, actor, s, check)
	if err != nil {
		return ModelChoice{}, err
	}
	return m.Settings(ctx, actor)
}

// Names returns the organization's names of models, by id. For a model that is no longer offered, the name is its id.
func (m *Models) Names(ctx context.Context, organizationID uuid.UUID) (func(id string) string, error) {
	settings, err := m.store.ModelSettings(ctx, organizationID)
	if err != nil {
		return nil, err
	}
	all := applySettings(m.offers, settings)
	return func(id string) string {
		i := indexOfModel(all, id)
		if i < 0 {
			return id
		}
		name, _ := all[i].Display()
		return name
	}, nil
}

// checkModelGroups rejects groups that do not exist, unless the model had them before.
func checkModelGroups(before, after ModelSettings, names map[uuid.UUID]string) error {
	for i, m := range after.Models {
		for j, id := range m.Groups {
			_, exists := names[id]
			if !exists && !slices.ContainsFunc(before.Models, func(was ModelSetting) bool {
				return was.ID == m.ID && slices.Contains(was.Groups, id)
			}) {
				return fault.InvalidField(fmt.Sprintf("models[%d].group_ids[%d]", i, j), "グループが見つかりません。")
			}
		}
	}
	return nil
}

// modelChanges returns the differences between two settings for the audit log, with the names of models and groups.
func modelChanges(offers Offers, before, after ModelSettings, groups map[uuid.UUID]string) (changes []org.Change) {
	add := func(field, was, is string) {
		if was != is {
			changes = append(changes, org.Change{Field: field, Before: was, After: is})
		}
	}
	wasAllowed, wasDefault := allowedModels(offers, before)
	isAllowed, isDefault := allowedModels(offers, after)
	if wasDefault != isDefault {
		add("default_id", modelNames(wasAllowed, wasDefault), modelNames(isAllowed, isDefault))
	}
	if !slices.EqualFunc(wasAllowed, isAllowed, func(a, b OfferedModel) bool { return a.ID == b.ID }) {
		add("allowed_models", modelNames(wasAllowed, ""), modelNames(isAllowed, ""))
	}
	was := applySettings(offers, before)
	for i, m := range applySettings(offers, after) {
		name, note := m.Display()
		oldName, oldNote := was[i].Display()
		add("model_name", oldName, name)
		if note != oldNote {
			add("model_note", joinNote(name, oldNote), joinNote(name, note))
		}
		if !slices.Equal(m.Setting.Groups, was[i].Setting.Groups) {
			add("model_groups", joinNote(name, groupNames(was[i].Setting.Groups, groups)),
				joinNote(name, groupNames(m.Setting.Groups, groups)))
		}
	}
	return changes
}

// modelNames returns the names of models, or of the model with an id.
func modelNames(list []OfferedModel, id string) string {
	var names []string
	for _, m := range list {
		if name, _ := m.Display(); id == "" || m.ID == id {
			names = append(names, name)
		}
	}
	return strings.Join(names, "、")
}

// groupNames returns the names of groups. A deleted group has its id.
func groupNames(ids []uuid.UUID, names map[uuid.UUID]string) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = cmp.Or(names[id], id.String())
	}
	return strings.Join(list, "、")
}

// joinNote joins a model's name and its note or groups.
func joinNote(name, note string) string {
	if note == "" {
		return ""
	}
	return name + "：" + note
}

// checkModelSetting validates one decision and trims its texts. place is its index, for the error.
func checkModelSetting(all []OfferedModel, before []ModelSetting, s *ModelSetting, index int) error {
	field := func(name string) string { return fmt.Sprintf("models[%d].%s", index, name) }
	if indexOfModel(all, s.ID) < 0 {
		return fault.InvalidField(field("id"), "このモデルは、サーバーで提供されていません。画面を読み込み直して、もう一度お試しください。")
	}
	if slices.ContainsFunc(before, func(other ModelSetting) bool { return other.ID == s.ID }) {
		return fault.InvalidField(field("id"), "同じモデルが重複しています。")
	}
	for _, text := range []struct {
		name  string
		value *string
		limit int
	}{{"name", &s.Name, maxModelName}, {"note", &s.Note, maxModelNote}} {
		*text.value = strings.TrimSpace(*text.value)
		if utf8.RuneCountInString(*text.value) > text.limit {
			return fault.InvalidField(field(text.name), "%d文字以内で入力してください。", text.limit)
		}
		if strings.ContainsFunc(*text.value, unicode.IsControl) {
			return fault.InvalidField(field(text.name), "改行などの制御文字は使えません。")
		}
	}
	return nil
}

// applySettings returns the operator's models with an organization's decisions.
func applySettings(offers Offers, settings ModelSettings) []OfferedModel {
	_, list := offers.Offers()
	all := make([]OfferedModel, len(list))
	for i, offer := range list {
		all[i] = OfferedModel{Offer: offer, Setting: ModelSetting{ID: offer.ID}}
		for _, s := range settings.Models {
			if s.ID == offer.ID {
				all[i].Setting = s
			}
		}
	}
	return all
}

// allowedModels returns the models that an organization's members may choose, and the id of its default. The operator's
// default replaces a default that was never set, or that is no longer offered.
func allowedModels(offers Offers, settings ModelSettings) (list []OfferedModel, defaultID string) {
	all := applySettings(offers, settings)
	list = slices.DeleteFunc(slices.Clone(all), func(m OfferedModel) bool { return !m.Setting.Allowed })
	if indexOfModel(list, settings.DefaultID) >= 0 {
		return list, settings.DefaultID
	}
	defaultID, _ = offers.Offers()
	if indexOfModel(list, defaultID) < 0 {
		list = slices.DeleteFunc(all, func(m OfferedModel) bool { return !m.Setting.Allowed && m.ID != defaultID })
	}
	return list, defaultID
}

func indexOfModel(list []OfferedModel, id string) int {
	return slices.IndexFunc(list, func(m OfferedModel) bool { return m.ID == id })
}

// selectModel returns the model for a question: the question's model, else the skill's if that is allowed, else the
// organization's default. It refuses a question for a model that is not allowed.
func selectModel(offers Offers, settings ModelSettings, sk skill.Skill, want Choice) (AnswerModel, error) {
	if offers == nil {
		return AnswerModel{}, nil
	}
	list, id := allowedModels(offers, settings)
	switch {
	case want.ModelID != "":
		id = want.ModelID
	case indexOfModel(list, sk.Model) >= 0:
		id = sk.Model
	}
	i := indexOfModel(list, id)
	if i < 0 {
		err := fault.InvalidField("model_id", "選択したモデルは、現在利用できません。別のモデルを選択して、もう一度お試しください。")
		err.Code = ModelNotAllowed
		return AnswerModel{}, err
	}
	if want.Thinking != nil && list[i].Thinking != llm.ThinkingSwitch {
		return AnswerModel{}, fault.InvalidField("thinking", "このモデルでは、思考の有無を切り替えられません。")
	}
	return list[i].answerModel(want.Thinking), nil
}

func (m OfferedModel) answerModel(thinking *bool) AnswerModel {
	name, _ := m.Display()
	return AnswerModel{
		ID: m.ID, Name: name, Sees: m.Sees, Thinking: thinking, ContextTokens: m.ContextTokens,
		Continues: m.Continues && m.Thinking != llm.ThinkingAlways,
	}
}

// previousModel returns the model for the next run of an answer: the same model, even if it is no longer allowed, or
// the operator's default if it is no longer offered.
func previousModel(offers Offers, answer Message) AnswerModel {
	if offers == nil {
		return AnswerModel{}
	}
	all := applySettings(offers, ModelSettings{})
	if i := indexOfModel(all, answer.ModelID); i >= 0 {
		chosen := all[i].answerModel(answer.Thinking)
		chosen.Name = cmp.Or(answer.ModelName, chosen.Name)
		return chosen
	}
	id, _ := offers.Offers()
	return all[indexOfModel(all, id)].answerModel(nil)
}

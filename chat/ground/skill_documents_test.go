package ground_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// saveSkill saves the skill 規程の相談 of the owner, an administrator, with documents. With a zero made it creates a new
// skill.
func (f *fixture) saveSkill(
	audience skill.Audience, custom skill.CustomSkill, documents ...uuid.UUID,
) skill.CustomSkill {
	f.t.Helper()
	categories, _, err := skill.Builtin()
	f.must(err)
	custom, err = f.db.SaveSkill(f.t.Context(), skill.Editor{
		OrganizationID: f.owner.OrganizationID, UserID: f.owner.UserID, Admin: true, By: org.System(),
	}, custom.ID, skill.Input{
		RequestID: newID(), Audience: audience, BaseVersion: custom.Version,
		Content: skill.Content{
			Name: "規程の相談", Description: "規程に答えます。", Icon: "chat", CategoryID: categories[0].ID, Prompt: "規程に沿って答える。",
			DocumentIDs: append([]uuid.UUID{}, documents...),
		},
	})
	f.must(err)
	f.skills["規程の相談"] = custom.ID
	return custom
}

// TestR105_DocumentsOfASharedSkillOutliveTheirOwner: the owner deletes a document and leaves the organization. The
// skill answers from both documents until an editor removes them. Then they are deleted completely.
func TestR105_DocumentsOfASharedSkillOutliveTheirOwner(t *testing.T) {
	t.Parallel()
	f := newFixture(t, ground.Config{}, llmtest.Say("休暇は20日です。[1]"))
	f.start()
	maker, colleague := f.owner, f.person(f.owner.OrganizationID, identity.RoleOrganizationAdmin)
	deleted, left := f.read("人事内規.md", rules), f.read("補足.md", "# 補足\n\n休暇は半日でも取得できる。")
	custom := f.saveSkill(skill.AudienceOrganization, skill.CustomSkill{}, deleted, left)

	owner := maker
	f.must(f.sources.Delete(t.Context(), owner, deleted))
	if _, err := f.sources.Find(t.Context(), owner, deleted); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the owner still finds the file: %v", err)
	}
	if list, err := f.sources.List(t.Context(), owner, "", 0, 10); err != nil || len(list) != 1 {
		t.Errorf("the owner's list has %+v, %v", list, err)
	}
	_, err := f.db.ChangeMember(t.Context(), maker.OrganizationID, maker.UserID, org.System(),
		func(org.MemberContext) (org.MemberChange, error) {
			return org.MemberChange{Remove: true, Action: org.ActionRemove, Details: []org.Change{{Field: "name"}}}, nil
		})
	f.must(err)

	f.owner = colleague
	answer := f.ask(f.thread("規程の相談"), "休暇は何日ですか")
	prompt := f.lastRequest().Messages
	if said := prompt[len(prompt)-1].Content; !strings.Contains(said, "20日") || !strings.Contains(said, "半日") {
		t.Errorf("the model reads %q", said)
	}
	if len(answer.Citations) == 0 || answer.Citations[0].DataSourceID != uuid.Nil || answer.Notice() != "" {
		t.Errorf("got %+v, %q", answer.Citations, answer.Notice())
	}

	f.saveSkill(skill.AudienceOrganization, custom) // Without documents.
	found, err := f.db.FindSources(t.Context(), identity.Owner{OrganizationID: maker.OrganizationID},
		[]uuid.UUID{deleted, left})
	if err != nil || len(found) != 0 {
		t.Errorf("%+v, %v remain", found, err)
	}
}

// TestR105_MissingSkillDocumentsAreReported: the skill's stored answers and its editors show that documents are
// missing.
func TestR105_MissingSkillDocumentsAreReported(t *testing.T) {
	t.Parallel()
	f := newFixture(t, ground.Config{}, llmtest.Say("休暇は20日です。"))
	f.start()
	document := f.read("人事内規.md", rules)
	custom := f.saveSkill(skill.AudienceSelf, skill.CustomSkill{}, document)
	f.must(f.sources.Delete(t.Context(), f.owner, document))

	answer := f.ask(f.thread("規程の相談"), "休暇は何日ですか")
	if !strings.Contains(answer.Notice(), "ファイル1件") {
		t.Errorf("the answer has the steps %+v", answer.Steps)
	}
	if !slices.ContainsFunc(f.streamed(answer.ID), func(c chunk) bool {
		return c.Data.Kind == chat.StepSkillDocuments && c.Data.Detail == answer.Notice()
	}) {
		t.Error("the stream does not say so")
	}
	editor := skill.Editor{OrganizationID: f.owner.OrganizationID, UserID: f.owner.UserID}
	if custom, err := f.db.FindCustomSkill(t.Context(), editor, custom.ID); err != nil || custom.MissingDocuments != 1 {
		t.Errorf("its editor sees %d, %v", custom.MissingDocuments, err)
	}
	f.saveSkill(skill.AudienceSelf, custom) // An editor saves the skill without documents.
	if answer = f.ask(f.thread("規程の相談"), "休暇は何日ですか"); answer.Notice() != "" {
		t.Errorf("got %q", answer.Notice())
	}
}

package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// editor returns the user as a skill.Editor.
func editor(o identity.Owner) skill.Editor {
	return skill.Editor{
		OrganizationID: o.OrganizationID, UserID: o.UserID,
		By: org.AuditActor{Kind: org.ByMember, ID: &o.UserID, Name: "人"},
	}
}

// admin makes the user an administrator and returns them as a skill.Editor.
func (f *fixture) admin(t *testing.T, o identity.Owner) skill.Editor {
	t.Helper()
	f.exec(t, `UPDATE users SET role = $2 WHERE id = $1`, o.UserID, identity.RoleOrganizationAdmin)
	m := editor(o)
	m.Admin = true
	return m
}

// saving returns a new skill with the given name.
func (f *fixture) saving(name string, audience skill.Audience) skill.Input {
	return skill.Input{RequestID: newID(), Audience: audience, Content: skill.Content{
		Name: name, Description: "説明", Icon: "chat", CategoryID: f.cats[0].ID, Prompt: "秘密の指示です。",
		FormFields: []skill.FormField{}, Suggestions: []string{"例"}, Keywords: []string{}, Examples: []skill.Example{},
		DocumentIDs: []uuid.UUID{},
	}}
}

func (f *fixture) save(t *testing.T, m skill.Editor, s skill.Input) skill.CustomSkill {
	t.Helper()
	custom := must.Get(f.SaveSkill(t.Context(), m, uuid.Nil, s))(t)
	return custom
}

// document stores a data source of a user.
func (f *fixture) document(t *testing.T, o identity.Owner, name string) uuid.UUID {
	t.Helper()
	id := newID()
	f.exec(t, `
		INSERT INTO data_sources (id, organization_id, user_id, filename, media_type, size, sha256, status)
		VALUES ($1, $2, $3, $4, 'text/plain', 1, sha256(convert_to($4, 'UTF8')), 'success')`, id, o.OrganizationID, o.UserID,
		name)
	return id
}

// listed returns the names of the skills that are listed for a user, without the built-in ones.
func (f *fixture) listed(t *testing.T, o identity.Owner) []string {
	t.Helper()
	list := must.Get(f.ListSkills(t.Context(), o.OrganizationID, o.UserID, 0, 100))(t)
	got := names(slices.DeleteFunc(list, func(s skill.Skill) bool { return !s.Made }))
	for _, s := range list {
		if s.Prompt != "" || s.Documents != nil {
			t.Errorf("the list says the prompt of %s", s.Name)
		}
	}
	return got
}

// TestR84_SkillsAreFoundByTheirAudience: only the members in a skill's audience find it in lists and by id, and can
// use it for threads and as a favourite.
func TestR84_SkillsAreFoundByTheirAudience(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	carol := f.user(t, f.a, "carol")
	admin := f.admin(t, carol)
	own := f.save(t, editor(f.ann), f.saving("アンの", skill.AudienceSelf))
	all := f.save(t, admin, f.saving("全員の", skill.AudienceOrganization))
	few := f.saving("選ばれた人の", skill.AudienceMembers)
	few.MemberIDs = []uuid.UUID{f.bob.UserID}
	chosen := f.save(t, admin, few)
	for _, test := range []struct {
		who  identity.Owner
		want []string
	}{
		{f.ann, []string{"アンの", "全員の"}},
		{f.bob, []string{"全員の", "選ばれた人の"}},
		{carol, []string{"全員の"}},
		{f.mallory, []string{}},
	} {
		got := f.listed(t, test.who)
		slices.Sort(got)
		if !slices.Equal(got, test.want) && len(got)+len(test.want) > 0 {
			t.Errorf("got %v, want %v", got, test.want)
		}
		for _, custom := range []skill.CustomSkill{own, all, chosen} {
			may := slices.Contains(test.want, custom.Content.Name)
			_, found := f.FindSkill(t.Context(), test.who.OrganizationID, test.who.UserID, custom.ID)
			starred := f.AddFavoriteSkill(t.Context(), test.who.OrganizationID, test.who.UserID, custom.ID)
			_, began := f.CreateThread(t.Context(), test.who, chat.NewThread{ID: newID(), SkillID: custom.ID})
			for _, err := range []error{found, starred, began} {
				if may != (err == nil) || !may && fault.CodeOf(err) != fault.NotFound {
					t.Errorf("%s: %v", custom.Content.Name, err)
				}
			}
		}
	}
}

// TestR84_OnlyEditorsSeeTheContentOfASkill: to a user who may not edit a skill, its content and versions do not exist.
func TestR84_OnlyEditorsSeeTheContentOfASkill(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := f.admin(t, f.bob)
	own := f.save(t, editor(f.ann), f.saving("アンの", skill.AudienceSelf))
	shared := f.save(t, admin, f.saving("組織の", skill.AudienceOrganization))
	for _, test := range []struct {
		who    skill.Editor
		custom skill.CustomSkill
		may    bool
	}{
		{editor(f.ann), own, true},
		{admin, own, false},
		{f.admin(t, f.mallory), own, false},
		{admin, shared, true},
		{editor(f.ann), shared, false},
		{f.admin(t, f.mallory), shared, false},
	} {
		ctx, id := t.Context(), test.custom.ID
		_, find := f.FindCustomSkill(ctx, test.who, id)
		_, _, versions := f.ListVersions(ctx, test.who, id, 0, 10)
		_, version := f.FindVersion(ctx, test.who, id, 1)
		_, copied := f.FindTemplate(ctx, test.who, id)
		change := f.saving(test.custom.Content.Name, test.custom.Audience)
		change.BaseVersion = 1
		errs := []error{find, versions, version, copied}
		if !test.may {
			_, saved := f.SaveSkill(ctx, test.who, id, change)
			_, archived := f.SetArchived(ctx, test.who, id, true)
			_, requested := f.RequestPublication(ctx, test.who, id, "")
			_, withdrawn := f.WithdrawRequest(ctx, test.who, id)
			errs = append(errs, saved, archived, requested, withdrawn)
		}
		for i, err := range errs {
			if test.may != (err == nil) || !test.may && fault.CodeOf(err) != fault.NotFound {
				t.Errorf("%s, call %d: %v", test.custom.Content.Name, i, err)
			}
		}
	}
}

func TestSavingASkillAgainSavesItOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := editor(f.ann)
	s := f.saving("報告", skill.AudienceSelf)
	first := f.save(t, ann, s)
	if again := f.save(t, ann, s); again.ID != first.ID || again.Version != 1 {
		t.Errorf("got %+v", again)
	}
	other := s
	other.Content.Prompt = "別の指示"
	_, err := f.SaveSkill(t.Context(), ann, uuid.Nil, other)
	wantCode(t, err, fault.RequestConflict)
	_, err = f.SaveSkill(t.Context(), ann, uuid.Nil, f.saving("報告", skill.AudienceSelf))
	wantCode(t, err, fault.Conflict)
	_, err = f.SaveSkill(t.Context(), ann, uuid.Nil, f.saving("校正", skill.AudienceSelf))
	wantCode(t, err, fault.Conflict) // The name of a built-in skill.
	f.save(t, editor(f.bob), f.saving("報告", skill.AudienceSelf))
}

func TestVersionsAreKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := editor(f.ann)
	custom := f.save(t, ann, f.saving("報告", skill.AudienceSelf))
	change := f.saving("報告書", skill.AudienceSelf)
	change.BaseVersion, change.Content.Prompt = 1, "新しい指示"
	custom, err := f.SaveSkill(t.Context(), ann, custom.ID, change)
	if err != nil || custom.Version != 2 || custom.Content.Prompt != "新しい指示" || custom.UpdatedBy != "人" {
		t.Fatalf("got %+v, %v", custom, err)
	}
	stale := f.saving("古い", skill.AudienceSelf)
	stale.BaseVersion = 1
	_, err = f.SaveSkill(t.Context(), ann, custom.ID, stale)
	wantCode(t, err, fault.Conflict)
	versions, total, err := f.ListVersions(t.Context(), ann, custom.ID, 0, 10)
	if err != nil || total != 2 || len(versions) != 2 || versions[0].Version != 2 || versions[1].UserName != "人" {
		t.Errorf("got %+v, %v", versions, err)
	}
	first, err := f.FindVersion(t.Context(), ann, custom.ID, 1)
	if err != nil || first.Content.Name != "報告" || first.Content.Prompt != "秘密の指示です。" {
		t.Errorf("got %+v, %v", first, err)
	}
	_, err = f.FindVersion(t.Context(), ann, custom.ID, 3)
	wantCode(t, err, fault.NotFound)
}

// TestArchivedSkillsKeepTheirThreads: an archived skill is not listed, but its threads remain.
func TestArchivedSkillsKeepTheirThreads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := f.admin(t, f.bob)
	custom := f.save(t, admin, f.saving("組織の", skill.AudienceOrganization))
	thread, err := f.CreateThread(t.Context(), f.ann, chat.NewThread{ID: newID(), SkillID: custom.ID})
	must.Succeed(t, err)
	must.Get(f.SetArchived(t.Context(), admin, custom.ID, true))(t)
	if got := f.listed(t, f.ann); len(got) > 0 {
		t.Errorf("listed: %v", got)
	}
	if found, err := f.FindThread(t.Context(), f.ann, thread.ID); err != nil || found.SkillName != "組織の" {
		t.Errorf("got %+v, %v", found, err)
	}
	_, err = f.CreateThread(t.Context(), f.ann, chat.NewThread{ID: newID(), SkillID: custom.ID})
	wantCode(t, err, fault.NotFound)
	f.save(t, admin, f.saving("組織の", skill.AudienceOrganization)) // The name is free again.
	_, err = f.SetArchived(t.Context(), admin, custom.ID, false)
	wantCode(t, err, fault.Conflict)
}

// TestR84_WithdrawnSkillsRefuseQuestions: a member who is removed from a skill's audience keeps the thread but cannot
// ask in it.
func TestR84_WithdrawnSkillsRefuseQuestions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := f.admin(t, f.bob)
	few := f.saving("選ばれた人の", skill.AudienceMembers)
	few.MemberIDs = []uuid.UUID{f.ann.UserID}
	custom := f.save(t, admin, few)
	thread := must.Get(f.CreateThread(t.Context(), f.ann, chat.NewThread{ID: newID(), SkillID: custom.ID}))(t)
	look := func() bool {
		looked, err := f.LoadThreadState(t.Context(), f.ann, thread.ID, nil, newID(), [32]byte{}, chat.HistoryLimit{Messages: 1, Bytes: 1})
		must.Succeed(t, err)
		found, err := f.FindSkill(t.Context(), f.a, f.ann.UserID, custom.ID)
		if err != nil || found.Withdrawn != looked.Skill.Withdrawn {
			t.Errorf("got %+v, %v", found, err)
		}
		return looked.Skill.Withdrawn
	}
	if look() {
		t.Error("the skill is withdrawn before the change")
	}
	few.RequestID, few.BaseVersion, few.MemberIDs = newID(), 1, []uuid.UUID{f.bob.UserID}
	must.Get(f.SaveSkill(t.Context(), admin, custom.ID, few))(t)
	if !look() {
		t.Error("the skill is not withdrawn")
	}
}

// TestR84_DocumentsBelongToTheEditor: an Editor can add only documents that belong to them.
func TestR84_DocumentsBelongToTheMaker(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	anns, mallorys := f.document(t, f.ann, "規程.txt"), f.document(t, f.mallory, "秘密.txt")
	for _, id := range []uuid.UUID{anns, mallorys, newID()} {
		s := f.saving("資料つき", skill.AudienceOrganization)
		s.Content.DocumentIDs = []uuid.UUID{id}
		_, err := f.SaveSkill(t.Context(), f.admin(t, f.bob), uuid.Nil, s)
		wantCode(t, err, fault.Invalid)
		_, err = f.SaveDraft(t.Context(), f.admin(t, f.bob), newID(), s.Content, 3)
		wantCode(t, err, fault.Invalid)
	}
	s := f.saving("資料つき", skill.AudienceOrganization)
	s.Content.DocumentIDs = []uuid.UUID{anns}
	custom := f.save(t, f.admin(t, f.ann), s)
	found, err := f.FindSkill(t.Context(), f.a, f.bob.UserID, custom.ID)
	if err != nil || len(found.Documents) != 1 || found.Documents[0].OwnerID != f.ann.UserID {
		t.Errorf("got %+v, %v", found.Documents, err)
	}
	// Another administrator may keep and test a document that the skill has, but a copy of the skill does not contain
	// it.
	s.RequestID, s.BaseVersion = newID(), 1
	must.Get(f.SaveSkill(t.Context(), f.admin(t, f.bob), custom.ID, s))(t)
	must.Get(f.SaveDraft(t.Context(), f.admin(t, f.bob), newID(), s.Content, 3))(t)
	copied, err := f.FindTemplate(t.Context(), f.admin(t, f.bob), custom.ID)
	if err != nil || len(copied.DocumentIDs) != 0 {
		t.Errorf("got %+v, %v", copied, err)
	}
	f.exec(t, `DELETE FROM data_sources WHERE id = $1`, anns)
	version, err := f.FindVersion(t.Context(), f.admin(t, f.bob), custom.ID, 1)
	if err != nil || len(version.Content.DocumentIDs) != 1 {
		t.Errorf("the skill has lost its document: %+v, %v", version.Content, err)
	}
	kept, err := f.FindCustomSkill(t.Context(), f.admin(t, f.bob), custom.ID)
	if err != nil || len(kept.Documents) != 1 || kept.Documents[0].OwnerName != "" || kept.MissingDocuments != 0 {
		t.Errorf("its editor sees %+v, %v", kept, err)
	}
	s.RequestID, s.BaseVersion, s.Content.DocumentIDs = newID(), 2, []uuid.UUID{}
	must.Get(f.SaveSkill(t.Context(), f.admin(t, f.bob), custom.ID, s))(t)
	version, err = f.FindVersion(t.Context(), f.admin(t, f.bob), custom.ID, 1)
	if err != nil || len(version.Content.DocumentIDs) != 0 {
		t.Errorf("a version has a deleted document: %+v, %v", version.Content, err)
	}
}

// TestArchivedSkillsRefuseQuestions: a thread of an archived skill can be read, but no question can be asked in it.
func TestArchivedSkillsRefuseQuestions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin := f.admin(t, f.bob)
	custom := f.save(t, admin, f.saving("組織の", skill.AudienceOrganization))
	thread := must.Get(f.CreateThread(t.Context(), f.ann, chat.NewThread{ID: newID(), SkillID: custom.ID}))(t)
	service := skill.NewService(f.DB, skill.Config{})
	for _, archived := range []bool{true, false} {
		must.Get(f.SetArchived(t.Context(), admin, custom.ID, archived))(t)
		looked, err := f.LoadThreadState(t.Context(), f.ann, thread.ID, nil, newID(), [32]byte{}, chat.HistoryLimit{Messages: 1, Bytes: 1})
		must.Succeed(t, err)
		found := must.Get(service.Get(t.Context(), f.a, f.ann.UserID, custom.ID))(t)
		if (service.Unavailable(looked.Skill) != "") != archived || (found.Unavailable != "") != archived {
			t.Errorf("archived %v: %q, %q", archived, service.Unavailable(looked.Skill), found.Unavailable)
		}
	}
}

func TestRequestsArePublishedOrRejected(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann, admin := editor(f.ann), f.admin(t, f.bob)
	s := f.saving("報告", skill.AudienceSelf)
	document := f.document(t, f.ann, "規程.txt")
	s.Content.DocumentIDs = []uuid.UUID{document}
	custom := f.save(t, ann, s)
	request := func() skill.Request {
		custom := must.Get(f.RequestPublication(t.Context(), ann, custom.ID, "お願いします"))(t)
		return *custom.Request
	}
	first := request()
	if again := request(); again.ID != first.ID {
		t.Error("two requests are pending")
	}
	list, total, err := f.ListRequests(t.Context(), admin, 0, 10)
	if err != nil || total != 1 || list[0].UserEmail != "ann@example.com" || list[0].Content != nil {
		t.Errorf("got %+v, %v", list, err)
	}
	found, err := f.FindRequest(t.Context(), admin, first.ID)
	if err != nil || found.Content.Prompt != s.Content.Prompt || found.Documents[0].Filename != "規程.txt" {
		t.Errorf("got %+v, %v", found, err)
	}
	_, err = f.FindRequest(t.Context(), f.admin(t, f.mallory), first.ID)
	wantCode(t, err, fault.NotFound)
	wantCode(t, f.DecideRequest(t.Context(), f.admin(t, f.mallory), first.ID, skill.Decision{Approve: true}),
		fault.NotFound)

	must.Succeed(t, f.DecideRequest(t.Context(), admin, first.ID, skill.Decision{Reason: "表現を直してください。"}))
	must.Succeed(t, f.DecideRequest(t.Context(), admin, first.ID, skill.Decision{}))
	wantCode(t, f.DecideRequest(t.Context(), admin, first.ID, skill.Decision{Approve: true}), fault.Conflict)
	if custom, err = f.FindCustomSkill(t.Context(), ann, custom.ID); err != nil || custom.Request.State != skill.RequestRejected ||
		custom.Request.Reason == "" {
		t.Errorf("got %+v, %v", custom.Request, err)
	}

	must.Succeed(t, f.DecideRequest(t.Context(), admin, request().ID, skill.Decision{Approve: true}))
	published := value[uuid.UUID](t, f, `SELECT id FROM skills WHERE published_from = $1`, custom.ID)
	shared, err := f.FindCustomSkill(t.Context(), admin, published)
	if err != nil || shared.Audience != skill.AudienceOrganization || len(shared.Documents) != 1 {
		t.Errorf("got %+v, %v", shared, err)
	}
	if got := f.listed(t, f.bob); !slices.Equal(got, []string{"報告"}) {
		t.Errorf("got %v", got)
	}
	s.RequestID, s.BaseVersion, s.Content.Prompt = newID(), 1, "第二の指示"
	_, err = f.SaveSkill(t.Context(), ann, custom.ID, s) // The published skill has the same name.
	must.Succeed(t, err)
	for _, archived := range []bool{true, false} {
		_, err = f.SetArchived(t.Context(), ann, custom.ID, archived)
		must.Succeed(t, err)
	}
	must.Succeed(t, f.DecideRequest(t.Context(), admin, request().ID, skill.Decision{Approve: true}))
	if shared, err = f.FindCustomSkill(t.Context(), admin, published); err != nil || shared.Version != 2 ||
		shared.Content.Prompt != "第二の指示" {
		t.Errorf("got %+v, %v", shared, err)
	}
	// An administrator decides about the version that they have read.
	read := request()
	s.RequestID, s.BaseVersion, s.Content.Prompt, s.Content.Name = newID(), 2, "読まれていない指示", "報告（新）"
	_, err = f.SaveSkill(t.Context(), ann, custom.ID, s)
	must.Succeed(t, err)
	replaced := request()
	wantCode(t, f.DecideRequest(t.Context(), admin, read.ID, skill.Decision{Approve: true}), fault.NotFound)
	if shared, err = f.FindCustomSkill(t.Context(), admin, published); err != nil || shared.Version != 2 {
		t.Errorf("got %+v, %v", shared, err)
	}
	if list, total, err = f.ListRequests(t.Context(), admin, 0, 10); err != nil || total != 1 ||
		list[0].ID != replaced.ID || list[0].Version != 3 {
		t.Errorf("got %+v, %v", list, err)
	}

	events, _, err := f.ListEvents(t.Context(), org.AuditQuery{OrganizationID: &f.a, Limit: 50})
	must.Succeed(t, err)
	var actions []string
	for _, e := range slices.Backward(events) {
		actions = append(actions, string(e.Action))
	}
	if got := strings.Join(actions, " "); got != "skill.reject skill.create skill.publish skill.edit skill.publish" {
		t.Errorf("got %s", got)
	}
}

func TestHiddenSkillsAreNotOffered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	admin, id := f.admin(t, f.bob), f.skills[1].ID
	must.Succeed(t, f.HideSkill(t.Context(), admin, id, true))
	must.Succeed(t, f.HideSkill(t.Context(), admin, id, true))
	list, err := f.ListSkills(t.Context(), f.a, f.ann.UserID, 0, 10)
	if err != nil || slices.Contains(names(list), "校正") {
		t.Errorf("got %v, %v", names(list), err)
	}
	_, err = f.CreateThread(t.Context(), f.ann, chat.NewThread{ID: newID(), SkillID: id})
	wantCode(t, err, fault.NotFound)
	if list, err = f.ListSkills(t.Context(), f.b, f.mallory.UserID, 0, 10); err != nil || len(list) != 2 {
		t.Errorf("elsewhere: %v, %v", names(list), err)
	}
	if hidden, err := f.ListHidden(t.Context(), admin); err != nil || !slices.Equal(names(hidden), []string{"校正"}) {
		t.Errorf("hidden: %v, %v", names(hidden), err)
	}
	f.save(t, admin, f.saving("校正", skill.AudienceOrganization)) // It takes the name of the hidden skill.
	must.Succeed(t, f.HideSkill(t.Context(), admin, id, false))
	wantCode(t, f.HideSkill(t.Context(), admin, newID(), true), fault.NotFound)
}

// TestDraftsAreLimited: all editors of a user share a limited number of drafts, and drafts are not listed.
func TestDraftsAreLimited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := editor(f.ann)
	c := f.saving("試す", skill.AudienceSelf).Content
	slots := []uuid.UUID{newID(), newID(), newID()}
	ids := make([]uuid.UUID, len(slots))
	for i, slot := range slots {
		id := must.Get(f.SaveDraft(t.Context(), ann, slot, c, 2))(t)
		ids[i] = id
	}
	if ids[2] != ids[0] || ids[1] == ids[0] {
		t.Errorf("got %v", ids)
	}
	if got := f.listed(t, f.ann); len(got) > 0 {
		t.Errorf("listed: %v", got)
	}
	if _, err := f.CreateThread(t.Context(), f.ann, chat.NewThread{
		ID: newID(), SkillID: ids[1], Lifetime: time.Hour,
	}); err != nil {
		t.Error(err)
	}
	_, err := f.CreateThread(t.Context(), f.bob, chat.NewThread{ID: newID(), SkillID: ids[1], Lifetime: time.Hour})
	wantCode(t, err, fault.NotFound)
	_, err = f.FindCustomSkill(t.Context(), ann, ids[1])
	wantCode(t, err, fault.NotFound)
	// The threads and drafts of a removed member are deleted with the member.
	f.exec(t, `DELETE FROM users WHERE id = $1`, f.ann.UserID)
	if n := value[int](t, f, `SELECT count(*) FROM skills WHERE origin = 'draft'`); n != 0 {
		t.Errorf("%d drafts are left", n)
	}
}

// TestListedSkillsLackTheirPrompts: a list does not read the long texts of its skills.
func TestListedSkillsLackTheirPrompts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(t, f.admin(t, f.bob), f.saving("スキル", skill.AudienceOrganization))
	list := must.Get(f.ListSkills(t.Context(), f.a, f.ann.UserID, 0, 100))(t)
	for _, s := range list {
		if s.Prompt != "" {
			t.Errorf("the list has the prompt of %s", s.Name)
		}
	}
	if !slices.ContainsFunc(list, func(s skill.Skill) bool { return s.Name == "スキル" }) {
		t.Error("the list lacks the skill")
	}
}

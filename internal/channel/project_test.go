package channel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/channeltest"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/project"
)

// actor returns a member of the fixture as an actor.
func actor(owner identity.Owner) identity.Actor {
	return identity.Actor{User: identity.User{
		ID: owner.UserID, OrganizationID: owner.OrganizationID, Role: identity.RoleGeneralUser,
	}}
}

// project creates a project that sato manages.
func (f *fixture) project(draft project.Draft) uuid.UUID {
	f.t.Helper()
	p, err := f.projects.Create(f.t.Context(), actor(f.sato), newID(), draft)
	f.must(err)
	return p.ID
}

// grant makes members viewers of a project of sato, and removes all others except sato.
func (f *fixture) grant(id uuid.UUID, viewers ...identity.Owner) {
	f.t.Helper()
	p, err := f.projects.Find(f.t.Context(), actor(f.sato), id)
	f.must(err)
	grants := []project.Grant{{
		Subject: project.Subject{Kind: project.User, ID: f.sato.UserID}, Role: project.Manager,
	}}
	for _, v := range viewers {
		grants = append(grants, project.Grant{
			Subject: project.Subject{Kind: project.User, ID: v.UserID}, Role: project.Viewer,
		})
	}
	_, err = f.projects.SetGrants(f.t.Context(), actor(f.sato), id, p.Version, grants)
	f.must(err)
}

// command sends a command of a person in the channel, and waits for a notice to the person with a text.
func (f *fixture) command(s *channel.Service, kind channel.Kind, person, name, want string) {
	f.t.Helper()
	in := f.event(kind, person)
	in.Thread, in.Text = "", name
	f.expect(s, in, want)
}

// expect sends an event, and waits for a new notice to its person with a text.
func (f *fixture) expect(s *channel.Service, in channel.IncomingEvent, want string) channel.Notice {
	f.t.Helper()
	known := len(f.surface.Notices())
	f.take(s, in)
	var last channeltest.Notice
	f.until("a notice", func() bool {
		all := f.surface.Notices()
		if len(all) > known {
			last = all[len(all)-1]
		}
		return len(all) > known
	})
	if last.To.Person != in.Person || !strings.Contains(last.Notice.Text, want) {
		f.t.Errorf("%s (%s) by %s: %s is told %q, want %q", in.Kind, in.Text, in.Person, last.To.Person, last.Notice.Text,
			want)
	}
	return last.Notice
}

// TestQuestionsInAChannelOfAProject: a manager binds a channel to a project. Questions of members are asked in the
// project, with its instructions and its skill; others are refused without the name of the project.
func TestQuestionsInAChannelOfAProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.start()
	var skillID uuid.UUID
	f.must(f.sql.QueryRow(t.Context(), `SELECT id FROM skills WHERE name = '文書に質問'`).Scan(&skillID))
	id := f.project(project.Draft{Name: "春の新商品", Instructions: "社外秘の略号を使う。", SkillID: &skillID})
	f.surface.SetPlace(channel.Place{Name: "新商品"})

	f.command(s, channel.KindProject, "sato", "", "連携していません")
	f.command(s, channel.KindBind, "suzuki", "春の新商品", "あなたが管理しているプロジェクトはありません")
	f.command(s, channel.KindBind, "sato", "春の 新商品", "あなたが管理しているプロジェクトはありません")
	f.command(s, channel.KindBind, "sato", "春の新商品", "このチャンネルの全員が読めます")
	f.command(s, channel.KindBind, "sato", "春の新商品", "連携しました")
	f.command(s, channel.KindProject, "sato", "", "プロジェクト「春の新商品」と連携しています")
	list, err := f.projects.Channels(t.Context(), actor(f.sato), id)
	f.must(err)
	if len(list) != 1 || list[0].Channel != "C1" || list[0].Name != "新商品" || list[0].BoundBy.ID != f.sato.UserID {
		t.Errorf("the project has the channels %+v", list)
	}

	f.take(s, f.mention("sato", "発売日は"))
	if system := f.say("四月です。").Request.Messages[0].Content; !strings.Contains(system, "社外秘の略号を使う。") {
		t.Errorf("the instructions of the project are not in %q", system)
	}
	f.answered(1)
	const inProject = `SELECT count(*) FROM threads WHERE project_id = $1 AND user_id = $2 AND visibility = 'private'`
	if n := f.count(inProject+` AND skill_id = $3`, id, f.sato.UserID, skillID); n != 1 {
		t.Errorf("%d threads of sato in the project with its skill", n)
	}
	named := f.mention("sato", "汎用チャット: もう一つ")
	named.Thread = "another"
	f.take(s, named)
	f.say("はい")
	f.answered(2)
	if n := f.count(inProject+` AND skill_id <> $3`, id, f.sato.UserID, skillID); n != 1 {
		t.Errorf("%d threads of sato in the project with the named skill", n)
	}

	refused := f.expect(s, f.mention("suzuki", "発売日は"), "参加していないプロジェクト")
	if refused.Kind != channel.NoticeRefused || strings.Contains(refused.Text, "新商品") {
		t.Errorf("others are told %+v", refused)
	}
	f.command(s, channel.KindProject, "suzuki", "", "参加していないプロジェクト")
	f.command(s, channel.KindUnbind, "suzuki", "", "解除できるのは")
	f.grant(id, f.suzuki)
	f.take(s, f.mention("suzuki", "発売日は"))
	f.say("四月です。")
	f.answered(3)
	if n := f.count(inProject, id, f.suzuki.UserID); n != 1 {
		t.Errorf("%d threads of suzuki in the project", n)
	}

	direct := f.mention("sato", "質問")
	direct.Channel, direct.Direct = "D1", true
	f.take(s, direct)
	f.say("はい")
	last := f.answered(4)
	if n := f.count(`SELECT count(*) FROM threads WHERE project_id IS NULL`); n != 1 {
		t.Errorf("%d threads in no project", n)
	}

	// Answers of an archived project are not repeated.
	again := f.event(channel.KindRegenerate, "sato")
	again.AnswerID = last[0].Draft.AnswerID
	f.must(f.projects.Archive(t.Context(), actor(f.sato), id, true))
	f.expect(s, again, "アーカイブされているため、この回答は")
	f.must(f.projects.Archive(t.Context(), actor(f.sato), id, false))

	// Without the binding, the conversation continues outside of the project, and its answers are not repeated.
	f.exec(`UPDATE users SET role = 'organization-admin' WHERE id = $1`, f.suzuki.UserID)
	f.grant(id)
	f.command(s, channel.KindUnbind, "suzuki", "", "連携を解除しました")
	f.take(s, f.mention("sato", "もう一度"))
	f.say("はい")
	f.answered(5)
	if n := f.count(`SELECT count(*) FROM threads WHERE project_id IS NULL`); n != 2 {
		t.Errorf("%d threads in no project", n)
	}
	again = f.event(channel.KindRegenerate, "sato")
	again.AnswerID = last[0].Draft.AnswerID
	f.expect(s, again, "再生成できません")
	if n := f.count(`
		SELECT count(*) FROM audit_events
		WHERE action IN ('project.channel_bind', 'project.channel_unbind') AND details::text LIKE '%新商品 (C1)%'`); n != 2 {
		t.Errorf("%d entries in the audit log", n)
	}
}

// TestAnswerEndsWithTheAccessToTheProject: a person loses the role in the project while an answer is delivered.
func TestAnswerEndsWithTheAccessToTheProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.startWith(channel.Config{AccessCheck: 10 * time.Millisecond})
	id := f.project(project.Draft{Name: "経理"})
	f.grant(id, f.suzuki)
	f.command(s, channel.KindBind, "sato", "経理", "連携しました")
	f.take(s, f.mention("suzuki", "予算は"))
	call := f.model.Next(t)
	call.Emit("予算は一億円で")
	f.until("the answer begins", func() bool {
		list := f.surface.Messages()
		return len(list) == 1 && list[0].Draft.Markdown != ""
	})
	f.grant(id)
	ended := f.answered(1)[0].Draft
	if ended.State != channel.StateStopped || ended.Markdown != "" || !strings.Contains(ended.Reason, "開けなくなった") {
		t.Errorf("the answer ends as %+v", ended)
	}
	call.Emit("す。")
	call.Finish()
	f.expect(s, f.mention("suzuki", "予算は"), "参加していないプロジェクト")
	if list := f.surface.Messages(); len(list) != 1 || strings.Contains(list[0].Draft.Markdown, "一億円") {
		t.Errorf("the channel shows %+v", list)
	}
}

// TestChannelsThatCannotBeUsedForAProject covers archived and deleted projects, channels of another project, shared
// channels, direct messages, and the limit.
func TestChannelsThatCannotBeUsedForAProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.start()
	first, second := f.project(project.Draft{Name: "一番"}), f.project(project.Draft{Name: "二番"})
	f.surface.SetPlace(channel.Place{Name: "取引先", Shared: true})
	f.command(s, channel.KindBind, "sato", "一番", "共有しているチャンネルは、プロジェクトと連携できません")
	f.surface.SetPlace(channel.Place{Name: "三人", Direct: true})
	f.command(s, channel.KindBind, "sato", "一番", "ダイレクトメッセージは、プロジェクトと連携できません")
	f.surface.SetPlace(channel.Place{Name: "社内"})
	direct := f.event(channel.KindBind, "sato")
	direct.Channel, direct.Direct, direct.Text = "D1", true, "一番"
	f.expect(s, direct, "ダイレクトメッセージは、プロジェクトと連携できません")
	f.command(s, channel.KindUnbind, "sato", "", "連携していません")

	f.command(s, channel.KindBind, "sato", "一番", "連携しました")
	f.command(s, channel.KindBind, "sato", "二番", "すでに別のプロジェクトと連携しています")

	// The channel is shared later. Commands do not contain this information.
	f.policy(channel.Policy{SharedChannels: true})
	mention := f.mention("sato", "質問")
	mention.Shared = true
	f.expect(s, mention, "ほかの会社と共有されました")
	f.surface.SetPlace(channel.Place{Name: "社内", Shared: true})
	question := f.event(channel.KindQuestion, "sato")
	question.Text, question.Thread = "質問", ""
	f.expect(s, question, "ほかの会社と共有されました")
	f.surface.SetPlace(channel.Place{Name: "社内"})

	f.must(f.projects.Archive(t.Context(), actor(f.sato), first, true))
	f.expect(s, f.mention("suzuki", "質問"), "アーカイブまたは削除されています")
	f.say("はい")
	f.answered(1)
	if n := f.count(`SELECT count(*) FROM threads WHERE project_id IS NULL AND user_id = $1`, f.suzuki.UserID); n != 1 {
		t.Errorf("%d threads in no project", n)
	}
	f.command(s, channel.KindBind, "sato", "一番", "アーカイブされています")
	f.command(s, channel.KindBind, "sato", "二番", "すでに別のプロジェクトと連携しています")
	// The name of the archived project is given to a new project.
	f.project(project.Draft{Name: "一番"})
	other := f.event(channel.KindBind, "sato")
	other.Channel, other.Text = "C3", "一番"
	f.expect(s, other, "連携しました")
	f.project(project.Draft{Name: "一番"})
	other = f.event(channel.KindBind, "sato")
	other.Channel, other.Text = "C4", "一番"
	f.expect(s, other, "複数管理している")
	f.must(f.projects.Delete(t.Context(), actor(f.sato), first))
	f.expect(s, f.mention("sato", "質問"), "アーカイブまたは削除されています")
	f.say("はい")
	f.answered(2)
	f.command(s, channel.KindBind, "sato", "二番", "連携しました")

	f.exec(`INSERT INTO project_channels (id, organization_id, project_id, installation_id, channel, name)
	        SELECT gen_random_uuid(), $1, $2, $3, 'C' || n, '' FROM generate_series(101, 100 + $4::int) n`,
		f.sato.OrganizationID, second, f.installation.ID, project.MaxChannels-1)
	more := f.event(channel.KindBind, "sato")
	more.Channel, more.Text = "C2", "二番"
	f.expect(s, more, "20件まで")
	f.must(f.db.EraseInstallation(t.Context(), f.installation.ID))
	if n := f.count(`SELECT count(*) FROM project_channels`); n != 0 {
		t.Errorf("%d channels without a workspace", n)
	}
}

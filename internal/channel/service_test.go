package channel_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestR88_OneAnswerForTwentyEventsOnThreeServers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	servers := []*channel.Service{f.start(), f.start(), f.start()}
	in := f.mention("sato", "年次有給休暇は何日ですか")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := servers[i%3].Enqueue(t.Context(), in); err != nil {
				t.Error(err)
			}
		})
	}
	again := in // The surface also reports it as a second event.
	again.EventID = "another"
	f.take(servers[0], again)
	all.Wait()
	f.say("20日です。")
	got := f.answered(1)
	must.Become(f.t, "all events are handled", func() bool {
		return f.count(`SELECT count(*) FROM channel_events WHERE ended_at IS NULL`) == 0
	})
	if len(got) != 1 || got[0].Draft.Markdown != "20日です。" {
		t.Errorf("%+v", got)
	}
	if n := f.count(`SELECT count(*) FROM messages WHERE role = 'user'`); n != 1 {
		t.Errorf("%d questions", n)
	}
	if n := f.count(`SELECT count(*) FROM channel_events WHERE payload IS NOT NULL OR done <> '{}'`); n != 0 {
		t.Errorf("%d events keep their text", n)
	}
	taken, repeated := int64(0), int64(0)
	for _, s := range servers {
		taken, repeated = taken+s.Stats().Enqueued, repeated+s.Stats().Duplicates
	}
	if taken != 2 || repeated != 19 {
		t.Errorf("%d taken, %d repeated", taken, repeated)
	}
}

func TestR88_DeliveredTextIsTheStoredOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.start()
	f.take(s, f.mention("sato", "質問です"))
	call := f.model.Next(t)
	for i := range 200 {
		call.Emit(fmt.Sprintf("%d番目の文です。", i))
		if i == 100 {
			f.until("a part is shown", func() bool { return len(f.surface.Messages()) > 0 })
		}
	}
	call.Finish()
	m := f.answered(1)[0]
	d, err := f.db.FindDelivery(t.Context(), f.installation.OrganizationID, f.installation.ID, m.Draft.AnswerID)
	f.must(err)
	stored, err := f.chat.FindMessage(t.Context(), f.sato, d.AnswerID)
	f.must(err)
	if sha256.Sum256([]byte(m.Draft.Markdown)) != sha256.Sum256([]byte(stored.Content)) {
		t.Errorf("%q is shown, %q is stored", m.Draft.Markdown, stored.Content)
	}
	for _, v := range f.surface.Violations() {
		t.Error(v)
	}
}

func TestEachPersonHasTheirOwnThread(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.start()
	f.surface.AddMessage("tanaka", "来週の出張の件です。")
	f.take(s, f.mention("sato", "日当はいくらですか"))
	call := f.say("3,000円です。")
	if got := read(call); !strings.Contains(got, "来週の出張の件です。") || !strings.HasSuffix(got, "日当はいくらですか") {
		t.Errorf("the model reads %q", got)
	}
	f.answered(1)
	f.surface.AddMessage("tanaka", "海外の場合も知りたいです。")
	f.take(s, f.mention("sato", "海外ではどうですか"))
	call = f.say("6,000円です。")
	prompt := read(call)
	if strings.Contains(prompt, "来週の出張") || !strings.Contains(prompt, "海外の場合も知りたい") {
		t.Errorf("the model reads %q again", prompt)
	}
	if n := len(call.Request.Messages); n != 4 { // System, question, answer, question.
		t.Errorf("%d messages", n)
	}
	f.answered(2)
	f.take(s, f.mention("suzuki", "私にも教えてください"))
	call = f.say("3,000円です。")
	if n := len(call.Request.Messages); n != 2 {
		t.Errorf("somebody else's conversation was continued: %d messages", n)
	}
	f.answered(3)
	if n := f.count(`SELECT count(*) FROM threads WHERE user_id = $1`, f.sato.UserID); n != 1 {
		t.Errorf("%d threads", n)
	}
	if n := f.count(`SELECT count(*) FROM channel_threads`); n != 2 {
		t.Errorf("%d conversations", n)
	}
}

// TestRefusalsHaveAReason: a person receives the reason if a question is not answered.
func TestRefusalsHaveAReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		link   *channel.LinkedMember
		change func(*channel.IncomingEvent)
		policy channel.Policy
		kind   channel.NoticeKind
		text   string
	}{
		"not linked": {link: &channel.LinkedMember{State: channel.LinkNone}, kind: channel.NoticeLink, text: "連携"},
		"removed":    {link: &channel.LinkedMember{State: channel.LinkRemoved}, kind: channel.NoticeRefused, text: "停止"},
		"stranger":   {link: &channel.LinkedMember{State: channel.LinkRefused}, kind: channel.NoticeRefused, text: "ゲスト"},
		"shared channel": {
			change: func(in *channel.IncomingEvent) { in.Shared = true }, kind: channel.NoticeRefused, text: "ほかの会社",
		},
		"another channel": {
			policy: channel.Policy{Channels: []string{"C9"}}, kind: channel.NoticeRefused, text: "このチャンネル",
		},
		"no question": {
			change: func(in *channel.IncomingEvent) { in.Text = " " }, kind: channel.NoticeRefused, text: "質問",
		},
		"too long": {
			change: func(in *channel.IncomingEvent) { in.Text = strings.Repeat("あ", chat.MaxContent+1) },
			kind:   channel.NoticeRefused, text: "文字以内",
		},
		"no such skill": {
			change: func(in *channel.IncomingEvent) { in.SkillName = "占い" }, kind: channel.NoticeRefused, text: "占い",
		},
		"a form": {
			change: func(in *channel.IncomingEvent) { in.SkillName = "ビジネスメール作成" }, kind: channel.NoticeRefused,
			text: "アプリ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.policy(c.policy)
			if c.link != nil {
				f.link("sato", *c.link)
			}
			in := f.mention("sato", "質問です")
			if c.change != nil {
				c.change(&in)
			}
			f.take(f.start(), in)
			n := f.told("sato", c.kind)
			if !strings.Contains(n.Text, c.text) {
				t.Errorf("%+v", n)
			}
			if c.kind == channel.NoticeLink && !strings.HasPrefix(n.URL, "https://tsumugi.example/setting/slack") {
				t.Errorf("%+v", n)
			}
			if n := f.count(`SELECT count(*) FROM threads`); n != 0 {
				t.Error("a thread was begun")
			}
		})
	}
}

func TestSharedChannelsWhereAllowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.policy(channel.Policy{SharedChannels: true, Channels: []string{"C1"}})
	in := f.mention("sato", "質問です")
	in.Shared = true
	f.take(f.start(), in)
	f.say("答えです。")
	f.answered(1)
}

func TestQuestionsWaitForEachOther(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.start()
	f.take(s, f.mention("sato", "一つ目"))
	first := f.model.Next(t)
	first.Emit("一つ目の")
	f.take(s, f.mention("sato", "二つ目"))
	f.told("sato", channel.NoticeInfo)
	f.take(s, f.mention("sato", "三つ目"))
	first.Emit("答え")
	first.Finish()
	if got := read(f.say("二つ目の答え")); !strings.HasSuffix(got, "二つ目") {
		t.Errorf("%q", got)
	}
	f.answered(2) // Posting the second one may take longer than the third answer.
	if got := read(f.say("三つ目の答え")); !strings.HasSuffix(got, "三つ目") {
		t.Errorf("%q", got)
	}
	got := f.answered(3)
	for i, text := range []string{"一つ目の答え", "二つ目の答え", "三つ目の答え"} {
		if got[i].Draft.Markdown != text {
			t.Errorf("%d: %q", i, got[i].Draft.Markdown)
		}
	}
}

func TestStopsWithinASecond(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(f *fixture, asked channel.IncomingEvent, answer uuid.UUID) channel.IncomingEvent{
		"by the button": func(f *fixture, _ channel.IncomingEvent, answer uuid.UUID) channel.IncomingEvent {
			in := f.event(channel.KindStop, "sato")
			in.AnswerID = answer
			return in
		},
		"what runs": func(f *fixture, _ channel.IncomingEvent, _ uuid.UUID) channel.IncomingEvent {
			return f.event(channel.KindStop, "sato")
		},
		"by deleting the question": func(f *fixture, asked channel.IncomingEvent, _ uuid.UUID) channel.IncomingEvent {
			in := f.event(channel.KindDelete, "sato")
			in.Message = asked.Message
			return in
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			s := f.start()
			asked := f.mention("sato", "質問です")
			f.take(s, asked)
			call := f.model.Next(t)
			call.Emit("途中まで")
			f.until("a part is shown", func() bool { return len(f.surface.Messages()) > 0 })
			answer := f.surface.Messages()[0].Draft.AnswerID

			other := f.event(channel.KindStop, "suzuki")
			other.AnswerID = answer
			f.take(s, other)
			if n := f.told("suzuki", channel.NoticeRefused); !strings.Contains(n.Text, "質問した人だけ") {
				t.Errorf("%+v", n)
			}
			at := time.Now()
			f.take(s, how(f, asked, answer))
			<-call.Gone()
			if took := time.Since(at); took > 5*time.Second { // About one second on an idle machine.
				t.Errorf("stopped after %v", took)
			}
			if m := f.answered(1)[0]; m.Draft.State != channel.StateStopped || m.Draft.Markdown != "途中まで" {
				t.Errorf("%+v", m)
			}
		})
	}
}

func TestWithdrawnBeforeItIsAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.start()
	f.take(s, f.mention("sato", "一つ目"))
	first := f.model.Next(t)
	second := f.mention("sato", "二つ目")
	f.take(s, second)
	f.told("sato", channel.NoticeInfo)
	third := f.mention("sato", "三つ目")
	f.take(s, third) // Queued in its lane behind the second one.
	for _, in := range []channel.IncomingEvent{third, second} {
		deleted := f.event(channel.KindDelete, "sato")
		deleted.Message = in.Message
		f.take(s, deleted)
	}
	must.Become(f.t, "nothing waits", func() bool {
		return f.count(`SELECT count(*) FROM channel_events WHERE ended_at IS NULL`) == 0
	})
	first.Finish()
	if n := f.count(`SELECT count(*) FROM messages WHERE role = 'user'`); n != 1 {
		t.Errorf("%d questions", n)
	}
}

func TestEditedQuestionIsAnsweredAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.start()
	asked := f.mention("sato", "東京の人口は")
	f.take(s, asked)
	f.say("1,400万人です。")
	answer := f.answered(1)[0].Draft.AnswerID

	same := f.event(channel.KindEdit, "sato") // The surface sends such an event when it expands a link.
	same.Message, same.Text = asked.Message, asked.Text
	f.take(s, same)
	f.surface.EditMessage(asked.Message, "大阪の人口は")
	edited := f.event(channel.KindEdit, "sato")
	edited.Message, edited.Text = asked.Message, "大阪の人口は"
	f.take(s, edited)
	if n := f.told("sato", channel.NoticeEdited); n.AnswerID != answer {
		t.Errorf("%+v", n)
	}
	again := f.event(channel.KindRegenerate, "sato")
	again.AnswerID = answer
	f.take(s, again)
	if got := read(f.say("880万人です。")); !strings.HasSuffix(got, "大阪の人口は") {
		t.Errorf("%q", got)
	}
	second := f.answered(2)[1].Draft.AnswerID
	once := f.event(channel.KindRegenerate, "sato")
	once.AnswerID = second
	f.take(s, once)
	if got := read(f.say("879万人です。")); !strings.HasSuffix(got, "大阪の人口は") {
		t.Errorf("%q", got)
	}
	f.answered(3)
	if n := f.count(`SELECT count(*) FROM messages WHERE role = 'user'`); n != 2 {
		t.Errorf("%d questions", n) // The second 再回答 is for the same answer.
	}
	offered := 0
	for _, notice := range f.surface.Notices() {
		if notice.Notice.Kind == channel.NoticeEdited {
			offered++
		}
	}
	if offered != 1 {
		t.Errorf("offered %d times", offered)
	}
	stranger := f.event(channel.KindRegenerate, "suzuki")
	stranger.AnswerID = second
	f.take(s, stranger)
	f.told("suzuki", channel.NoticeRefused)
}

func TestRatings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.start()
	f.take(s, f.mention("sato", "質問"))
	f.say("答え")
	answer := f.answered(1)[0].Draft.AnswerID
	rate := func(person string, rating chat.Rating) {
		in := f.event(channel.KindRate, person)
		in.AnswerID, in.Rating, in.Comment = answer, rating, "よい"
		f.take(s, in)
	}
	rate("suzuki", chat.RatingBad)
	f.told("suzuki", channel.NoticeRefused)
	rate("sato", chat.RatingGood)
	f.told("sato", channel.NoticeFeedback)
	m, err := f.chat.FindMessage(t.Context(), f.sato, answer)
	f.must(err)
	if m.Feedback == nil || m.Feedback.Rating != chat.RatingGood {
		t.Errorf("%+v", m.Feedback)
	}
	unknown := f.event(channel.KindRate, "sato")
	unknown.AnswerID, unknown.Rating = newID(), chat.RatingGood
	f.take(s, unknown)
	f.told("sato", channel.NoticeRefused)
}

func TestMemberAtTheirLimitReceivesANotice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(`UPDATE users SET limit_rule = 'own', limit_tokens = 100 WHERE id = $1`, f.sato.UserID)
	f.exec(`INSERT INTO usage_daily VALUES ($1, (now() AT TIME ZONE 'Asia/Tokyo')::date, $2, 1, 100, 0)`,
		f.sato.OrganizationID, f.sato.UserID)
	s := f.start()
	f.take(s, f.mention("sato", "質問です"))
	if text := f.told("sato", channel.NoticeRefused).Text; !strings.Contains(text, "上限（100トークン）") ||
		!strings.Contains(text, "1日にリセット") || !strings.Contains(text, "右上のメニュー") {
		t.Errorf("told %q", text)
	}
	f.take(s, f.mention("suzuki", "質問です"))
	f.say("はい。")
	f.answered(1)
}

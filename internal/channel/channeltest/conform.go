package channeltest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// Subject is a surface with an empty thread, the subject of Conform.
type Subject struct {
	Surface channel.Surface
	To      channel.Target
	// Content returns the content of a message, and false if the message does not exist.
	Content func(ref channel.Ref) (string, bool)
	// AddMessage writes a message of another person in the thread.
	AddMessage func(text string) channel.Ref
	// CountFiles returns the number of files posted by the assistant in the thread.
	CountFiles func() int
	// Expire makes all streams expire. It is nil if the surface cannot append.
	Expire func()
}

// Conform tests that a surface implements channel.Surface as documented. It calls make for each test.
func Conform(t *testing.T, make func(t *testing.T) Subject) {
	for name, test := range map[string]func(t *testing.T, s Subject){
		"traits": conformTraits, "grows": conformGrows, "posts whole": conformWhole, "replaces": conformReplaces,
		"finds": conformFinds, "expires": conformExpires, "gone": conformGone, "history": conformHistory,
		"attaches": conformAttaches, "failed": conformFailed, "approval": conformApproval,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, make(t))
		})
	}
}

func draft(text string) channel.Draft {
	return channel.Draft{
		AnswerID: uuidv7.New(), Markdown: text, State: channel.StateWriting, Last: true,
		URL: "https://tsumugi.example/chat/1",
	}
}

// shows checks that a message contains the words in order, each once.
func (s Subject) shows(t *testing.T, ref channel.Ref, words ...string) {
	t.Helper()
	text, there := s.Content(ref)
	if !there {
		t.Fatalf("message %q is not there", ref)
	}
	at := 0
	for _, word := range words {
		i := strings.Index(text[at:], word)
		if i < 0 || strings.Count(text, word) != 1 {
			t.Fatalf("%q is not once, and in its place, in %q", word, text)
		}
		at += i
	}
}

func (s Subject) begin(t *testing.T, d channel.Draft) channel.Ref {
	t.Helper()
	ref, err := s.Surface.Begin(t.Context(), s.To, d)
	if err != nil || ref == "" {
		t.Fatalf("begin: %q, %v", ref, err)
	}
	return ref
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func conformTraits(t *testing.T, s Subject) {
	traits := s.Surface.Traits()
	if traits.MaxCharacters < 100 || traits.MaxMessages < 1 || traits.CanAppend && traits.AppendLifetime <= 0 {
		t.Errorf("%+v", traits)
	}
	if traits.CanAppend && !traits.CanReplace {
		t.Error("a surface that appends must replace what it is not sure of")
	}
}

func conformGrows(t *testing.T, s Subject) {
	if !s.Surface.Traits().CanAppend {
		t.Skip("it cannot append")
	}
	one := draft("最初の文です。")
	ref := s.begin(t, one)
	s.shows(t, ref, "最初の文です。")
	two := one
	two.Markdown += "二番目の文です。"
	must(t, s.Surface.Append(t.Context(), s.To, ref, one, two))
	s.shows(t, ref, "最初の文です。", "二番目の文です。")
	end := two
	end.Markdown, end.State = end.Markdown+"最後の文です。", channel.StateDone
	for range 2 { // The second call simulates a lost response to the first one.
		if err := s.Surface.Finish(t.Context(), s.To, ref, two, end); errors.Is(err, channel.ErrCannotAppend) {
			must(t, s.Surface.Replace(t.Context(), s.To, ref, end))
		} else {
			must(t, err)
		}
		s.shows(t, ref, "最初の文です。", "二番目の文です。", "最後の文です。")
	}
}

func conformWhole(t *testing.T, s Subject) {
	d := draft("一度に書く回答です。")
	d.State = channel.StateDone
	ref := s.begin(t, d)
	s.shows(t, ref, "一度に書く回答です。")
	if !s.Surface.Traits().CanReplace {
		return
	}
	d.Markdown = "別の回答です。"
	must(t, s.Surface.Replace(t.Context(), s.To, ref, d))
	s.shows(t, ref, "別の回答です。")
}

func conformReplaces(t *testing.T, s Subject) {
	if !s.Surface.Traits().CanReplace {
		t.Skip("it cannot replace")
	}
	d := draft("古い文です。")
	ref := s.begin(t, d) // Its stream is open.
	d.Markdown = "新しい文です。"
	for range 2 {
		must(t, s.Surface.Replace(t.Context(), s.To, ref, d))
		s.shows(t, ref, "新しい文です。")
	}
	if text, _ := s.Content(ref); strings.Contains(text, "古い文です。") {
		t.Errorf("what was replaced is still there: %q", text)
	}
	from := d
	d.Markdown += "続きの文です。"
	if err := s.Surface.Append(t.Context(), s.To, ref, from, d); !errors.Is(err, channel.ErrCannotAppend) {
		t.Errorf("a message whose stream has ended was appended to: %v", err)
	}
	d.State = channel.StateSuperseded
	d.Markdown = ""
	must(t, s.Surface.Replace(t.Context(), s.To, ref, d))
	if text, _ := s.Content(ref); strings.Contains(text, "新しい文です。") {
		t.Errorf("a superseded message says %q", text)
	}
}

func conformFinds(t *testing.T, s Subject) {
	since := time.Now().Add(-time.Minute)
	d := draft("名前の分からない文です。")
	find := func(known []channel.Ref, d channel.Draft) (channel.Ref, bool) {
		t.Helper()
		ref, found, err := s.Surface.Find(t.Context(), s.To, since, known, d)
		must(t, err)
		return ref, found
	}
	if ref, found := find(nil, d); found {
		t.Fatalf("%q was found before it was posted", ref)
	}
	other := s.begin(t, draft("名前の分からない文です。"))
	ref := s.begin(t, d)
	grown := d
	grown.Markdown += "後から続けて書く文です。"
	if got, found := find([]channel.Ref{other}, grown); !found || got != ref {
		t.Errorf("found %q, %v, not %q", got, found, ref)
	}
	if got, found := find([]channel.Ref{other, ref}, grown); found {
		t.Errorf("%q is known, and was found", got)
	}
	second := grown
	second.Part = 1
	if got, found := find(nil, second); found {
		t.Errorf("%q was found as another part", got)
	}
}

func conformExpires(t *testing.T, s Subject) {
	if !s.Surface.Traits().CanAppend {
		t.Skip("it cannot append")
	}
	d := draft("長く続く文です。")
	ref := s.begin(t, d)
	s.Expire()
	grown := d
	grown.Markdown += "遅れて続く文です。"
	if err := s.Surface.Append(t.Context(), s.To, ref, d, grown); !errors.Is(err, channel.ErrCannotAppend) {
		t.Errorf("append: %v", err)
	}
	grown.State = channel.StateDone
	must(t, s.Surface.Replace(t.Context(), s.To, ref, grown))
	s.shows(t, ref, "長く続く文です。", "遅れて続く文です。")
}

func conformGone(t *testing.T, s Subject) {
	if !s.Surface.Traits().CanReplace {
		t.Skip("it cannot replace")
	}
	d := draft("文です。")
	d.State = channel.StateDone
	if err := s.Surface.Replace(t.Context(), s.To, "1.000001", d); !errors.Is(err, channel.ErrGone) {
		t.Errorf("a message that is not there was replaced: %v", err)
	}
	if _, err := s.Surface.Message(t.Context(), s.To, "1.000001"); !errors.Is(err, channel.ErrGone) {
		t.Errorf("a message that is not there was read: %v", err)
	}
}

func conformHistory(t *testing.T, s Subject) {
	s.AddMessage("一人目の発言です。")
	d := draft("アシスタントの文です。")
	d.State = channel.StateDone
	s.begin(t, d)
	s.AddMessage("二人目の発言です。")
	last := s.AddMessage("最後の発言です。")
	texts := func(before channel.Ref) (list []string) {
		t.Helper()
		messages, err := s.Surface.History(t.Context(), s.To, before)
		must(t, err)
		for _, m := range messages {
			if m.Name == "" || m.Ref == "" {
				t.Errorf("%+v", m)
			}
			list = append(list, m.Text)
		}
		return list
	}
	if got := texts(last); !slices.Equal(got, []string{"一人目の発言です。", "二人目の発言です。"}) {
		t.Errorf("said before: %q", got)
	}
	if got := texts(""); len(got) != 3 {
		t.Errorf("said at all: %q", got)
	}
	message, err := s.Surface.Message(t.Context(), s.To, last)
	must(t, err)
	if message.Text != "最後の発言です。" {
		t.Errorf("message: %+v", message)
	}
}

func conformAttaches(t *testing.T, s Subject) {
	a := channel.Attachment{AnswerID: uuidv7.New(), Name: "回答.md", Markdown: strings.Repeat("長い文です。\n", 5000)}
	must(t, s.Surface.Attach(t.Context(), s.To, a))
	a.Again = true
	must(t, s.Surface.Attach(t.Context(), s.To, a))
	if n := s.CountFiles(); n != 1 {
		t.Errorf("%d files", n)
	}
}

func conformFailed(t *testing.T, s Subject) {
	d := draft("")
	d.State, d.Reason = channel.StateFailed, "混み合っているため失敗しました。"
	ref := s.begin(t, d)
	s.shows(t, ref, "混み合っているため失敗しました。")
	must(t, s.Surface.Notify(t.Context(), s.To, channel.Notice{Kind: channel.NoticeRefused, Text: "使えません。"}))
	must(t, s.Surface.Status(t.Context(), s.To, "回答を作成しています…"))
}

func conformApproval(t *testing.T, s Subject) {
	if !s.Surface.Traits().CanReplace {
		t.Skip("it cannot replace")
	}
	since := time.Now().Add(-time.Minute)
	answer := draft("送ります。")
	d := channel.Draft{
		AnswerID: answer.AnswerID, State: channel.StateDone, URL: answer.URL, Approval: &chat.ToolApproval{
			Approval: chat.Approval{ID: uuidv7.New(), Cause: chat.CauseRule, State: chat.ApprovalWaiting}, Title: "予定の登録",
			Arguments: `{"件名": "会議の予定です"}`, ArgumentsSHA256: make([]byte, 32),
		},
	}
	written, ref := s.begin(t, answer), s.begin(t, d)
	s.shows(t, ref, "予定の登録", "会議の予定です")
	find := func(d channel.Draft, known ...channel.Ref) (channel.Ref, bool) {
		t.Helper()
		got, found, err := s.Surface.Find(t.Context(), s.To, since, known, d)
		must(t, err)
		return got, found
	}
	if got, found := find(d); !found || got != ref {
		t.Errorf("found %q, %v, not %q", got, found, ref)
	}
	if got, found := find(answer); !found || got != written {
		t.Errorf("the answer: found %q, %v, not %q", got, found, written)
	}
	decided := *d.Approval
	decided.State, decided.Arguments = chat.ApprovalApproved, ""
	d.Approval = &decided
	for range 2 {
		must(t, s.Surface.Replace(t.Context(), s.To, ref, d))
		s.shows(t, ref, "予定の登録")
	}
	if text, _ := s.Content(ref); strings.Contains(text, "会議の予定です") {
		t.Errorf("after the decision: %q", text)
	}
	other := decided
	other.ID = uuidv7.New()
	d.Approval = &other
	if got, found := find(d); found {
		t.Errorf("%q was found as another request", got)
	}
}

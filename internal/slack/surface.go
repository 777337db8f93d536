package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
)

var _ channel.Surface = (*Adapter)(nil)

// maxMarkdown is the maximum length of a message's Markdown that Slack accepts, in characters.
const maxMarkdown = 12_000

// rendered returns a draft's Markdown in Slack's format, or channel.ErrTooLong.
func rendered(d channel.Draft) (string, error) {
	text := Render(d.Markdown, d.State != channel.StateWriting || !d.Last)
	if utf8.RuneCountInString(text) > maxMarkdown {
		return "", fmt.Errorf("slack: %w", channel.ErrTooLong)
	}
	return text, nil
}

// growth returns the text that a draft adds to a streamed message with an earlier state.
func (a *Adapter) growth(to channel.Target, ref channel.Ref, from, d channel.Draft) (string, error) {
	held, err := rendered(from)
	if err != nil {
		return "", err
	}
	text, err := rendered(d)
	if err != nil {
		return "", err
	}
	more, ok := strings.CutPrefix(text, held)
	if _, ended := a.ended.get(to.Channel + "/" + string(ref)); ended || !ok {
		return "", channel.ErrCannotAppend
	}
	return more, nil
}

// Begin implements channel.Surface. It streams the answer if Slack shows its own button to stop it. Otherwise it posts
// the answer with a button, and Replace updates it.
func (a *Adapter) Begin(ctx context.Context, to channel.Target, d channel.Draft) (channel.Ref, error) {
	text, err := rendered(d)
	if err != nil {
		return "", err
	}
	if d.State == channel.StateWriting && a.stoppable(ctx, to) {
		ts, err := a.startStream(ctx, to, text)
		if err == nil {
			a.started.set(to.Channel+"/"+ts, part(d))
		}
		if !slices.Contains(unknown, refusal(err)) {
			return channel.Ref(ts), result("chat.startStream", err)
		}
		a.stops.set(place(to), false)
	}
	options := append(message(d, text), slackgo.MsgOptionDisableLinkUnfurl(), slackgo.MsgOptionDisableMediaUnfurl())
	if to.Thread != "" {
		options = append(options, slackgo.MsgOptionTS(to.Thread))
	}
	_, ts, err := a.client(to.Installation).PostMessageContext(ctx, to.Channel, options...)
	if err != nil {
		return "", result("chat.postMessage", err)
	}
	a.started.set(to.Channel+"/"+ts, part(d))
	a.ended.set(to.Channel+"/"+ts, true)
	return channel.Ref(ts), nil
}

func (a *Adapter) startStream(ctx context.Context, to channel.Target, text string) (string, error) {
	options := []slackgo.MsgOption{
		slackgo.MsgOptionTS(to.Thread), slackgo.MsgOptionRecipientUserID(to.Person),
		slackgo.MsgOptionRecipientTeamID(cmp.Or(to.PersonTeam, to.Installation.TeamID)),
	}
	if text != "" {
		options = append(options, slackgo.MsgOptionMarkdownText(text))
	}
	_, ts, err := a.client(to.Installation).StartStreamContext(ctx, to.Channel, options...)
	return ts, err
}

func (a *Adapter) Append(ctx context.Context, to channel.Target, ref channel.Ref, from, d channel.Draft) error {
	more, err := a.growth(to, ref, from, d)
	if err != nil || more == "" {
		return err
	}
	_, _, err = a.client(to.Installation).AppendStreamContext(ctx, to.Channel, string(ref),
		slackgo.MsgOptionMarkdownText(more))
	return result("chat.appendStream", err)
}

func (a *Adapter) Finish(ctx context.Context, to channel.Target, ref channel.Ref, from, d channel.Draft) error {
	more, err := a.growth(to, ref, from, d)
	if err != nil {
		return err
	}
	options := []slackgo.MsgOption{slackgo.MsgOptionMetadata(metadata(d))}
	if more != "" {
		options = append(options, slackgo.MsgOptionMarkdownText(more))
	}
	if below := footer(d); len(below) > 0 {
		options = append(options, slackgo.MsgOptionBlocks(below...))
	}
	_, _, err = a.client(to.Installation).StopStreamContext(ctx, to.Channel, string(ref), options...)
	if err != nil {
		return result("chat.stopStream", err)
	}
	a.ended.set(to.Channel+"/"+string(ref), true)
	return nil
}

// Replace implements channel.Surface. It ends the message's stream first, because Slack cannot replace a streamed
// message.
func (a *Adapter) Replace(ctx context.Context, to channel.Target, ref channel.Ref, d channel.Draft) error {
	text, err := rendered(d)
	if err != nil {
		return err
	}
	if err := a.end(ctx, to, ref); err != nil {
		return err
	}
	client := a.client(to.Installation)
	if d.State == channel.StateSuperseded {
		_, _, err := client.DeleteMessageContext(ctx, to.Channel, string(ref))
		if refusal(err) == "message_not_found" {
			return nil
		}
		return result("chat.delete", err)
	}
	_, _, _, err = client.UpdateMessageContext(ctx, to.Channel, string(ref), message(d, text)...)
	if err == nil && d.Last && d.State != channel.StateWriting {
		// If Slack's own button has stopped the stream, the session is still active.
		a.rest(ctx, to)
	}
	return result("chat.update", err)
}

// end ends the stream of a message, unless the cache of ended messages contains it.
func (a *Adapter) end(ctx context.Context, to channel.Target, ref channel.Ref) error {
	name := to.Channel + "/" + string(ref)
	if _, ended := a.ended.get(name); ended {
		return nil
	}
	_, _, err := a.client(to.Installation).StopStreamContext(ctx, to.Channel, string(ref))
	translated := result("chat.stopStream", err)
	if err != nil && !errors.Is(translated, channel.ErrCannotAppend) && !slices.Contains(unknown, refusal(err)) {
		return translated
	}
	a.ended.set(name, true)
	return nil
}

// eventType is the metadata type of an answer's messages.
const eventType = "tsumugi_answer"

// metadata identifies the answer and the part of a message. All members of the workspace can read it.
func metadata(d channel.Draft) slackgo.SlackMetadata {
	return slackgo.SlackMetadata{
		EventType:    eventType,
		EventPayload: map[string]any{"answer_id": d.AnswerID.String(), "part": partName(d)},
	}
}

// partName identifies a message within an answer.
func partName(d channel.Draft) string {
	if d.Approval != nil {
		return "approval " + d.Approval.ID.String()
	}
	return strconv.Itoa(d.Part)
}

// part identifies a message of an answer.
func part(d channel.Draft) string { return d.AnswerID.String() + "/" + partName(d) }

// Find implements channel.Surface. Posted and complete messages have metadata that identify the answer. A streamed
// message has no metadata. It is a match, unless a request for a decision is searched, if the assistant wrote it, it is
// not known to belong to another answer, and its text is a beginning of the draft's text.
func (a *Adapter) Find(
	ctx context.Context, to channel.Target, since time.Time, known []channel.Ref, d channel.Draft,
) (channel.Ref, bool, error) {
	messages, self, err := a.replies(ctx, to, replyQuery{oldest: stamp(since), newest: true})
	if err != nil {
		return "", false, err
	}
	want := metadata(d)
	text := bare(entities.Replace(Render(d.Markdown, true)))
	var found channel.Ref
	for _, m := range messages {
		if m.User != self || m.Timestamp == to.Thread || slices.Contains(known, channel.Ref(m.Timestamp)) {
			continue
		}
		switch {
		case m.Metadata.EventType == eventType &&
			m.Metadata.EventPayload["answer_id"] == want.EventPayload["answer_id"] &&
			m.Metadata.EventPayload["part"] == want.EventPayload["part"]:
			return channel.Ref(m.Timestamp), true, nil
		case d.Approval == nil && found == "" && !a.isOther(to, m, d) && m.Metadata.EventType == "" && len(m.Files) == 0 &&
			strings.HasPrefix(text, bare(plain(m.Text, "", nobody))):
			found = channel.Ref(m.Timestamp)
		}
	}
	return found, found != "", nil
}

// isOther reports whether this server has begun a message for another draft.
func (a *Adapter) isOther(to channel.Target, m slackgo.Message, d channel.Draft) bool {
	known, ok := a.started.get(to.Channel + "/" + m.Timestamp)
	return ok && known != part(d)
}

// stamp formats a time in the format of Slack's timestamps.
func stamp(t time.Time) string {
	return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1_000)
}

// place identifies a conversation in the cache of Slack's stop buttons.
func place(to channel.Target) string { return to.Installation.ID.String() + "/" + to.Channel }

// stoppable reports whether Slack shows its own button to stop an answer in a thread.
func (a *Adapter) stoppable(ctx context.Context, to channel.Target) bool {
	if to.Thread == "" {
		return false
	}
	if _, known := a.stops.get(place(to)); !known && a.session(ctx, to, "processing") != nil {
		return false // Not cached, so the next message tries again.
	}
	shown, _ := a.stops.get(place(to))
	return shown
}

// session sets the assistant's status in a thread, and caches whether Slack shows its button to stop an answer.
func (a *Adapter) session(ctx context.Context, to channel.Target, status string) error {
	if known, ok := a.stops.get(place(to)); ok && !known {
		return nil
	}
	said, err := a.client(to.Installation).SetAgentSessionStatusContext(ctx, slackgo.AgentSessionSetStatusParameters{
		Status: status, ChannelID: to.Channel, ThreadTS: to.Thread, InitiatorUserID: to.Person,
	})
	switch {
	case err == nil:
		a.stops.set(place(to), !strings.Contains(said.Warning, "missing_agent_session_stopped_event_subscription"))
		return nil
	case refusal(err) != "" && refusal(err) != "ratelimited" && !slices.Contains(revoked, refusal(err)):
		// Without a session, Slack shows no button.
		a.stops.set(place(to), false)
		return nil
	}
	return result("agents.sessions.setStatus", err)
}

// rest ends the session of an answer that is complete.
func (a *Adapter) rest(ctx context.Context, to channel.Target) {
	if shown, _ := a.stops.get(place(to)); shown && to.Thread != "" {
		_ = a.session(ctx, to, "active") // If this fails, the button stays until the next answer.
	}
}

func (a *Adapter) Status(ctx context.Context, to channel.Target, text string) error {
	if to.Thread == "" {
		return nil
	}
	status := "processing"
	if text == "" {
		status = "active"
	}
	if err := a.session(ctx, to, status); err != nil {
		return err
	}
	err := a.client(to.Installation).SetAssistantThreadsStatusContext(ctx, slackgo.AssistantThreadsSetStatusParameters{
		ChannelID: to.Channel, ThreadTS: to.Thread, Status: text,
	})
	return shownOnly("assistant.threads.setStatus", err)
}

// shownOnly ignores the errors of optional methods that a workspace does not have.
func shownOnly(method string, err error) error {
	if code := refusal(err); code != "" && code != "ratelimited" && !slices.Contains(revoked, code) {
		return nil
	}
	return result(method, err)
}

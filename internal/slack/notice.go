package slack

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Notify implements channel.Surface. In a channel, the message is ephemeral. If the assistant is not a member, the
// message is the response to the command or button.
func (a *Adapter) Notify(ctx context.Context, to channel.Target, n channel.Notice) error {
	options := []slackgo.MsgOption{
		slackgo.MsgOptionText(escape(cmp.Or(n.Text, "Tsumugi")), false), slackgo.MsgOptionBlocks(noticeBlocks(n)...),
		slackgo.MsgOptionDisableLinkUnfurl(), slackgo.MsgOptionDisableMediaUnfurl(),
	}
	client := a.client(to.Installation)
	if to.Direct || to.Channel == "" {
		return a.postDirect(ctx, client, to, options)
	}
	if to.Thread == "" && to.Reply != "" {
		return a.reply(ctx, client, to, options)
	}
	if to.Thread != "" && a.replied(ctx, to) {
		options = append(options, slackgo.MsgOptionTS(to.Thread))
	}
	_, err := client.PostEphemeralContext(ctx, to.Channel, to.Person, options...)
	err = result("chat.postEphemeral", err)
	if errors.Is(err, channel.ErrGone) && to.Reply != "" {
		return a.reply(ctx, client, to, options)
	}
	return err
}

// replied reports whether a thread has replies. Slack shows ephemeral messages only in threads with replies. Otherwise,
// or if the replies cannot be read, the notice is posted in the channel.
func (a *Adapter) replied(ctx context.Context, to channel.Target) bool {
	messages, _, err := a.replies(ctx, to, replyQuery{})
	return err == nil && len(messages) > 1
}

// postDirect posts a message in the conversation between a person and the assistant.
func (a *Adapter) postDirect(
	ctx context.Context, client *slackgo.Client, to channel.Target, options []slackgo.MsgOption,
) error {
	if to.Reply != "" && to.Thread == "" {
		return a.reply(ctx, client, to, options)
	}
	id := to.Channel
	if id == "" {
		opened, _, _, err := client.OpenConversationContext(ctx, &slackgo.OpenConversationParameters{
			Users: []string{to.Person},
		})
		if err != nil {
			return result("conversations.open", err)
		}
		id = opened.ID
	}
	if to.Thread != "" {
		options = append(options, slackgo.MsgOptionTS(to.Thread))
	}
	_, _, err := client.PostMessageContext(ctx, id, options...)
	return result("chat.postMessage", err)
}

// reply sends a response to a command or button to the URL in its event. Only the person who used it sees the response.
func (a *Adapter) reply(
	ctx context.Context, client *slackgo.Client, to channel.Target, options []slackgo.MsgOption,
) error {
	u, err := url.Parse(to.Reply)
	if err != nil || !a.isSlack(u) {
		return channel.ErrGone
	}
	options = append(options, slackgo.MsgOptionResponseURL(to.Reply, slackgo.ResponseTypeEphemeral))
	_, _, err = client.PostMessageContext(ctx, to.Channel, options...)
	if status, ok := errors.AsType[slackgo.StatusCodeError](err); ok && status.Code < http.StatusInternalServerError {
		// The URL can be used five times within half an hour.
		return channel.ErrGone
	}
	return result("response_url", err)
}

// noticeBlocks returns the blocks of a notice.
func noticeBlocks(n channel.Notice) []slackgo.Block {
	var blocks []slackgo.Block
	if n.Text != "" {
		blocks = append(blocks, paragraph(n.Text))
	}
	for _, s := range n.Skills[:min(len(n.Skills), 20)] {
		blocks = append(blocks, note(s.Title+"　"+s.Text))
	}
	var buttons []slackgo.BlockElement
	if n.URL != "" {
		leads := button("tsumugi_link", "", cmp.Or(n.Label, "開く")).WithURL(n.URL).WithStyle(slackgo.StylePrimary)
		buttons = append(buttons, leads)
	}
	if n.Kind == channel.NoticeEdited {
		buttons = append(buttons, button(actionAgain, n.AnswerID.String(), "再生成"))
	}
	if len(buttons) > 0 {
		blocks = append(blocks, slackgo.NewActionBlock("", buttons...))
	}
	return blocks
}

// Open implements channel.Surface. The metadata of the question identifies its event.
func (a *Adapter) Open(
	ctx context.Context, to channel.Target, since time.Time, event, question string,
) (string, error) {
	if err := a.within(ctx, to); err != nil {
		return "", err
	}
	client := a.client(to.Installation)
	parameters := slackgo.GetConversationHistoryParameters{
		ChannelID: to.Channel, Oldest: stamp(since), Limit: repliesPage, IncludeAllMetadata: true,
	}
	for range maxPages {
		history, err := client.GetConversationHistoryContext(ctx, &parameters)
		if err != nil {
			return "", result("conversations.history", err)
		}
		for _, m := range history.Messages {
			if m.Metadata.EventType == questionType && m.Metadata.EventPayload["event"] == event {
				return m.Timestamp, nil
			}
		}
		if parameters.Cursor = history.ResponseMetaData.NextCursor; !history.HasMore || parameters.Cursor == "" {
			break
		}
	}
	name := cmp.Or(a.name(ctx, to.Installation, to.Person), to.Person)
	_, ts, err := client.PostMessageContext(ctx, to.Channel,
		slackgo.MsgOptionText(escape(runes.Truncate(name+"さんの質問", maxFallback)), false),
		slackgo.MsgOptionBlocks(note(name+"さんの質問"), paragraph(question)),
		slackgo.MsgOptionMetadata(slackgo.SlackMetadata{
			EventType: questionType, EventPayload: map[string]any{"event": event},
		}),
		slackgo.MsgOptionDisableLinkUnfurl(), slackgo.MsgOptionDisableMediaUnfurl(),
	)
	return ts, result("chat.postMessage", err)
}

// questionType is the metadata type of a question that was asked with a command.
const questionType = "tsumugi_question"

func (a *Adapter) Attach(ctx context.Context, to channel.Target, f channel.Attachment) error {
	title := f.Name + " (" + f.AnswerID.String()[:8] + ")"
	if f.Again {
		messages, self, err := a.replies(ctx, to, replyQuery{newest: true})
		if err != nil {
			return err
		}
		for _, m := range messages {
			if m.User == self && slices.ContainsFunc(m.Files, func(is slackgo.File) bool { return is.Title == title }) {
				return nil
			}
		}
	}
	_, err := a.client(to.Installation).UploadFileContext(ctx, slackgo.UploadFileParameters{
		Content: f.Markdown, FileSize: len(f.Markdown), Filename: f.Name, Title: title, Channel: to.Channel,
		ThreadTimestamp: to.Thread,
	})
	return result("files.upload", err)
}

// retryAfter returns the wait in the header Retry-After.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 1
	}
	return time.Duration(seconds) * time.Second
}

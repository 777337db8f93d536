package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	maxHistory  = 50 // Maximum number of a thread's messages before a question.
	repliesPage = 200
	maxPages    = 20
)

// replyQuery selects messages of a thread.
type replyQuery struct {
	oldest, latest string // "" for no bound; inclusive.
	newest         bool   // Read all pages, because the newest messages are on the last one.
}

// replies returns messages of a thread, oldest first, and the user id of the assistant.
func (a *Adapter) replies(ctx context.Context, to channel.Target, q replyQuery) ([]slackgo.Message, string, error) {
	self, err := a.self(ctx, to.Installation)
	if err != nil {
		return nil, "", err
	}
	parameters := slackgo.GetConversationRepliesParameters{
		ChannelID: to.Channel, Timestamp: to.Thread, Oldest: q.oldest, Latest: q.latest, Inclusive: true,
		Limit: repliesPage, IncludeAllMetadata: true,
	}
	var all []slackgo.Message
	for range maxPages {
		page, more, cursor, err := a.client(to.Installation).GetConversationRepliesContext(ctx, &parameters)
		if err != nil {
			return nil, "", result("conversations.replies", err)
		}
		all = append(all, page...)
		if !more || cursor == "" || !q.newest {
			break
		}
		parameters.Cursor = cursor
	}
	return all, self, nil
}

func (a *Adapter) History(ctx context.Context, to channel.Target, before channel.Ref) ([]channel.Message, error) {
	if string(before) == to.Thread && before != "" {
		return nil, nil
	}
	if err := a.within(ctx, to); err != nil {
		return nil, err
	}
	messages, self, err := a.replies(ctx, to, replyQuery{latest: string(before), newest: true})
	if err != nil {
		return nil, err
	}
	messages = slices.DeleteFunc(messages, func(m slackgo.Message) bool {
		return m.User == self || before != "" && m.Timestamp >= string(before) || !hasText(m.SubType)
	})
	if len(messages) > maxHistory {
		messages = messages[len(messages)-maxHistory:]
	}
	said := make([]channel.Message, len(messages))
	for i, m := range messages {
		said[i] = a.toMessage(ctx, to.Installation, self, m)
	}
	return said, nil
}

// within returns an error if a channel is shared with another company, unless the policy allows it. It is needed for
// commands and shortcuts, which do not contain this information as events do.
func (a *Adapter) within(ctx context.Context, to channel.Target) error {
	if to.Installation.Policy.SharedChannels || to.Direct {
		return nil
	}
	described, err := a.Place(ctx, to)
	if err != nil {
		return err
	}
	if described.Shared {
		return fault.Errorf(fault.Forbidden,
			"ほかの会社と共有しているチャンネルでは使えません。社内のチャンネルか、ダイレクトメッセージで質問してください。")
	}
	return nil
}

func (a *Adapter) Place(ctx context.Context, to channel.Target) (channel.Place, error) {
	if known, ok := a.places.get(place(to)); ok {
		return known, nil
	}
	info, err := a.client(to.Installation).GetConversationInfoContext(ctx, &slackgo.GetConversationInfoInput{
		ChannelID: to.Channel,
	})
	if err != nil {
		return channel.Place{}, result("conversations.info", err)
	}
	found := channel.Place{
		Name: info.Name, Direct: info.IsIM || info.IsMpIM, Shared: info.IsExtShared || info.IsPendingExtShared,
	}
	a.places.set(place(to), found)
	return found, nil
}

func (a *Adapter) Message(ctx context.Context, to channel.Target, ref channel.Ref) (channel.Message, error) {
	messages, self, err := a.replies(ctx, to, replyQuery{oldest: string(ref), latest: string(ref)})
	if err != nil {
		return channel.Message{}, err
	}
	for _, m := range messages {
		if m.Timestamp == string(ref) {
			return a.toMessage(ctx, to.Installation, self, m), nil
		}
	}
	return channel.Message{}, fmt.Errorf("slack: conversations.replies: %w", channel.ErrGone)
}

// hasText reports whether messages of a subtype contain a text by their author.
func hasText(subtype string) bool {
	switch subtype {
	case "", "file_share", "thread_broadcast", "bot_message", "me_message":
		return true
	}
	return false
}

// toMessage converts a message. If the name of a person cannot be found, it uses the id.
func (a *Adapter) toMessage(
	ctx context.Context, i channel.Installation, self string, m slackgo.Message,
) channel.Message {
	name := func(id string) string { return a.name(ctx, i, id) }
	s := channel.Message{Ref: channel.Ref(m.Timestamp), Text: plain(m.Text, self, name), Files: files(objects(m.Files))}
	if m.BotID == "" && m.User != "" {
		s.Name = cmp.Or(name(m.User), m.User)
	} else {
		s.Name = cmp.Or(m.Username, "アプリ")
	}
	return s
}

func objects(of []slackgo.File) []fileObject {
	out := make([]fileObject, len(of))
	for i, f := range of {
		out[i] = fileObject{
			ID: f.ID, Name: f.Name, Mimetype: f.Mimetype, Size: int64(f.Size), Mode: f.Mode, External: f.IsExternal,
			Private: f.URLPrivate, Download: f.URLPrivateDownload,
		}
	}
	return out
}

// name returns the name of a person in a workspace, or "".
func (a *Adapter) name(ctx context.Context, i channel.Installation, id string) string {
	key := i.ID.String() + "/" + id
	if name, ok := a.names.get(key); ok {
		return name
	}
	user, err := a.client(i).GetUserInfoContext(ctx, id)
	if err != nil {
		if refusal(err) != "" {
			a.names.set(key, "")
		}
		return ""
	}
	name := shownName(user)
	a.names.set(key, name)
	return name
}

// shownName returns the name that Slack shows for a person.
func shownName(user *slackgo.User) string {
	return cmp.Or(user.Profile.DisplayName, user.RealName, user.Name)
}

// maxMentions is the maximum number of people whose names are looked up for a text.
const maxMentions = 20

// mentioned matches the id of a person in a plain text.
var mentioned = regexp.MustCompile(`@[UW][A-Z0-9]{6,20}\b`)

func (a *Adapter) ResolveMentions(ctx context.Context, to channel.Target, text string) string {
	n := 0
	return mentioned.ReplaceAllStringFunc(text, func(id string) string {
		if n++; n > maxMentions {
			return id
		}
		return "@" + cmp.Or(a.name(ctx, to.Installation, id[1:]), id[1:])
	})
}

// Download implements channel.Surface. It sends the token to Slack's addresses only, because the uploader chooses the
// address of a file outside of Slack.
func (a *Adapter) Download(ctx context.Context, to channel.Target, f channel.File) (io.ReadCloser, error) {
	address := f.URL
	if address == "" {
		info, _, _, err := a.client(to.Installation).GetFileInfoContext(ctx, f.ID, 0, 0)
		if err != nil {
			return nil, result("files.info", err)
		}
		address = cmp.Or(info.URLPrivateDownload, info.URLPrivate)
	}
	u, err := url.Parse(address)
	if err != nil || !a.isSlack(u) {
		return nil, fmt.Errorf("slack: a file outside of Slack: %w", channel.ErrGone)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, unaddressed(err)
	}
	r.Header.Set("Authorization", "Bearer "+to.Installation.Credentials.BotToken)
	response, err := a.downloads.Do(r)
	if err != nil {
		return nil, fmt.Errorf("slack: a file: %w", unaddressed(err))
	}
	if err := served(response, f); err != nil {
		return nil, errors.Join(err, response.Body.Close())
	}
	return limitedBody{io.LimitReader(response.Body, datasource.MaxSize+1), response.Body}, nil
}

// served returns an error unless a response is the file. Without access, Slack responds with its sign-in page.
func served(response *http.Response, f channel.File) error {
	switch {
	case response.StatusCode == http.StatusTooManyRequests:
		return &channel.RateLimitError{Method: "files", RetryAfter: retryAfter(response.Header)}
	case response.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("slack: a file: status %d", response.StatusCode)
	case response.StatusCode != http.StatusOK,
		strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") && !strings.Contains(f.MediaType, "html"):
		return fmt.Errorf("slack: a file: status %d: %w", response.StatusCode, channel.ErrGone)
	}
	return nil
}

type limitedBody struct {
	io.Reader
	io.Closer
}

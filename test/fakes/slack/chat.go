package slack

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// place finds the channel to write to by id, by #name, or by a person's id for a direct message.
func (c *call) place(name string) (*Channel, error) {
	channel := c.channels[name]
	if channel == nil && strings.HasPrefix(name, "#") {
		for _, id := range c.order {
			if c.channels[id].Name == name[1:] && c.channels[id].teamID == c.in.team.ID {
				channel = c.channels[id]
			}
		}
	}
	if channel == nil && c.people[name] != nil {
		channel = c.directWith(c.in, name)
	}
	if channel == nil || !c.sees(channel) {
		return nil, fail("channel_not_found")
	}
	if channel.Archived {
		return nil, fail("is_archived")
	}
	if !c.member(channel, c.in.UserID) && !c.has("chat:write.public") {
		return nil, fail("not_in_channel")
	}
	return channel, nil
}

// sees reports whether the channel is visible to the bot.
func (c *call) sees(channel *Channel) bool {
	if !slices.Contains(c.teamsOf(channel), c.in.team.ID) {
		return false
	}
	return !channel.Private && channel.direct == "" || c.member(channel, c.in.UserID)
}

func (w *Workspace) teamsOf(channel *Channel) []string {
	return append([]string{channel.teamID}, channel.SharedWith...)
}

// member reports whether a person or bot is in a channel. The caller holds w.mu.
func (w *Workspace) member(channel *Channel, person string) bool {
	if channel.Members != nil || channel.Private {
		return slices.Contains(channel.Members, person)
	}
	p := w.people[person]
	return p != nil && !p.UltraRestricted && !p.Deleted && slices.Contains(w.teamsOf(channel), p.teamID)
}

// directWith returns the direct message channel of a person and a bot, and creates it if necessary. The caller holds
// w.mu.
func (w *Workspace) directWith(in *installation, person string) *Channel {
	for _, id := range w.order {
		if channel := w.channels[id]; channel.direct == person && channel.Members[1] == in.UserID {
			return channel
		}
	}
	channel := &Channel{
		ID: w.id("D"), Private: true, Members: []string{person, in.UserID}, teamID: in.team.ID, direct: person,
	}
	w.addChannel(channel)
	return channel
}

// content stores the content arguments of the call in m and returns warnings. limit is the maximum length of the text
// in characters. content truncates a longer text if cut is true and refuses it otherwise.
func (c *call) content(m *Message, limit int, cut bool) ([]string, error) {
	text, markdown := c.args["text"], c.args["markdown_text"]
	if markdown != "" && (text != "" || c.args["blocks"] != "") {
		return nil, fail("markdown_text_conflict")
	}
	if utf8.RuneCountInString(markdown) > maxMarkdown {
		return nil, fail("msg_too_long")
	}
	blocks, code, messages := checkBlocks(c.args["blocks"])
	if code != "" {
		return nil, &failure{code: code, more: object{
			"errors": messages, "response_metadata": object{"messages": messages},
		}}
	}
	if text == "" && markdown == "" && blocks == nil && c.args["attachments"] == "" {
		return nil, fail("no_text")
	}
	var warnings []string
	if utf8.RuneCountInString(text) > limit {
		if !cut {
			return nil, fail("msg_too_long")
		}
		text, warnings = string([]rune(text)[:limit]), []string{"message_truncated"}
	}
	metadata, err := c.metadata()
	if err != nil {
		return nil, err
	}
	if metadata != nil {
		m.Metadata = metadata
	}
	m.Text, m.Markdown, m.Blocks = text, markdown, blocks
	if markdown != "" {
		m.Text, m.Blocks = mrkdwn(markdown), markdownBlock(markdown, nil)
	}
	m.linkNames = c.flag("link_names") || c.args["parse"] == "full"
	return warnings, nil
}

// markdownBlock returns the blocks of a Markdown message. It appends the blocks of more.
func markdownBlock(markdown string, more json.RawMessage) json.RawMessage {
	blocks := []any{}
	if markdown != "" {
		blocks = append(blocks, object{"type": "markdown", "block_id": "md", "text": markdown})
	}
	var rest []any
	if json.Unmarshal(more, &rest) == nil {
		blocks = append(blocks, rest...)
	}
	raw, err := json.Marshal(blocks)
	if err != nil {
		return nil
	}
	return raw
}

func (c *call) metadata() (json.RawMessage, error) {
	raw := c.args["metadata"]
	if raw == "" {
		return nil, nil
	}
	var metadata struct {
		EventType    string          `json:"event_type"`
		EventPayload json.RawMessage `json:"event_payload"`
	}
	if json.Unmarshal([]byte(raw), &metadata) != nil {
		return nil, fail("invalid_metadata_format")
	}
	if raw != "{}" && (metadata.EventType == "" || metadata.EventPayload == nil) {
		return nil, fail("invalid_metadata_schema")
	}
	if len(raw) > 15<<10 {
		return nil, fail("metadata_too_large")
	}
	return json.RawMessage(raw), nil
}

// thread checks the thread_ts argument and returns the ts of the thread's first message.
func (c *call) thread(channel *Channel) (string, error) {
	ts := c.args["thread_ts"]
	if ts == "" {
		return "", nil
	}
	if _, ok := tsTime(ts); !ok {
		return "", fail("invalid_thread_ts")
	}
	if parent := c.find(channel.ID, ts); parent != nil && parent.ThreadTS != "" {
		return parent.ThreadTS, nil
	}
	return ts, nil
}

// own returns a new message of the calling bot.
func (c *call) own(channel *Channel, thread string) *Message {
	return &Message{
		Channel: channel.ID, ThreadTS: thread, User: c.in.UserID, BotID: c.in.BotID, AppID: c.in.app.ID,
		unfurlLinks: c.flag("unfurl_links"), unfurlMedia: c.args["unfurl_media"] == "" || c.flag("unfurl_media"),
	}
}

func (c *call) chatPost() (object, error) {
	channel, err := c.place(c.args["channel"])
	if err != nil {
		return nil, err
	}
	thread, err := c.thread(channel)
	if err != nil {
		return nil, err
	}
	m := c.own(channel, thread)
	warnings, err := c.content(m, maxText, true)
	if err != nil {
		return nil, err
	}
	c.post(m, c.method)
	c.emitMessage(channel, m)
	return warned(object{"channel": channel.ID, "ts": m.TS, "message": c.messageJSON(m, true)}, warnings), nil
}

func warned(body object, warnings []string) object {
	if warnings != nil {
		body["warning"] = strings.Join(warnings, ",")
		body["response_metadata"] = object{"warnings": warnings}
	}
	return body
}

func (c *call) chatPostEphemeral() (object, error) {
	channel, err := c.place(c.args["channel"])
	if err != nil {
		return nil, err
	}
	if c.people[c.args["user"]] == nil {
		return nil, fail("user_not_found")
	}
	if !c.member(channel, c.args["user"]) {
		return nil, fail("user_not_in_channel")
	}
	thread, err := c.thread(channel)
	if err != nil {
		return nil, err
	}
	m := c.own(channel, thread)
	m.For, m.unfurlMedia = c.args["user"], false
	m.Unseen = thread != "" && !c.active(channel.ID, thread)
	if _, err := c.content(m, maxText, true); err != nil {
		return nil, err
	}
	c.post(m, c.method)
	return object{"message_ts": m.TS}, nil
}

// mine finds a message of the calling bot. problem is the error for a message of another author.
func (c *call) mine(problem string) (*Channel, *Message, error) {
	channel := c.channels[c.args["channel"]]
	if channel == nil || !c.sees(channel) {
		return nil, nil, fail("channel_not_found")
	}
	m := c.find(channel.ID, c.args["ts"])
	if m == nil || m.For != "" {
		return nil, nil, fail("message_not_found")
	}
	if m.User != c.in.UserID || m.AppID != c.in.app.ID {
		return nil, nil, fail(problem)
	}
	c.expire(m)
	return channel, m, nil
}

func (c *call) chatUpdate() (object, error) {
	channel, m, err := c.mine("cant_update_message")
	if err != nil {
		return nil, err
	}
	if channel.Archived {
		return nil, fail("is_inactive")
	}
	if m.Stream == streaming {
		return nil, fail("streaming_state_conflict")
	}
	before := c.messageJSON(m, false)
	next := m.clone()
	warnings, err := c.content(&next, maxUpdate, false)
	if err != nil {
		return nil, err
	}
	m.Text, m.Markdown, m.Blocks, m.Metadata, m.linkNames = next.Text, next.Markdown, next.Blocks, next.Metadata,
		next.linkNames
	m.Edited = true
	if m.Stream == expired {
		m.Stream = streamed
	}
	c.record(m, c.method)
	c.emitChanged(channel, m, before)
	return warned(object{
		"channel": channel.ID, "ts": m.TS, "text": m.Text, "message": c.messageJSON(m, true),
	}, warnings), nil
}

func (c *call) chatDelete() (object, error) {
	channel, m, err := c.mine("cant_delete_message")
	if err != nil {
		return nil, err
	}
	before := c.messageJSON(m, false)
	m.Deleted = true
	c.touch()
	c.emitDeleted(channel, m, before)
	return object{"channel": channel.ID, "ts": m.TS}, nil
}

func (c *call) chatPermalink() (object, error) {
	channel := c.channels[c.args["channel"]]
	if channel == nil || !c.sees(channel) {
		return nil, fail("channel_not_found")
	}
	m := c.find(channel.ID, c.args["message_ts"])
	if m == nil {
		return nil, fail("message_not_found")
	}
	return object{
		"channel": channel.ID, "permalink": c.url + "/archives/" + channel.ID + "/p" + strings.ReplaceAll(m.TS, ".", ""),
	}, nil
}

func (c *call) reactionsAdd() (object, error) {
	channel := c.channels[c.args["channel"]]
	if channel == nil || !c.sees(channel) {
		return nil, fail("channel_not_found")
	}
	m := c.find(channel.ID, c.args["timestamp"])
	if m == nil {
		return nil, fail("message_not_found")
	}
	reaction := Reaction{Name: strings.Trim(c.args["name"], ":"), User: c.in.UserID}
	if reaction.Name == "" {
		return nil, fail("invalid_name")
	}
	if slices.Contains(m.Reactions, reaction) {
		return nil, fail("already_reacted")
	}
	m.Reactions = append(m.Reactions, reaction)
	c.touch()
	return nil, nil
}

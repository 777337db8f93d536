package slack

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// seen finds a channel that is visible to the bot.
func (c *call) seen(id string) (*Channel, error) {
	if channel := c.channel(id); channel != nil && (!channel.Private || c.member(channel, DemoBot)) {
		return channel, nil
	}
	return nil, fail("channel_not_found")
}

// joined finds a channel with the bot as a member.
func (c *call) joined(id string) (*Channel, error) {
	channel, err := c.seen(id)
	if err == nil && !c.member(channel, DemoBot) {
		err = fail("not_in_channel")
	}
	return channel, err
}

// member reports whether a person or the bot is in a channel. The caller holds w.mu.
func (w *Workspace) member(channel *Channel, person string) bool {
	if channel.Members != nil || channel.Private {
		return slices.Contains(channel.Members, person)
	}
	p := w.people[person]
	return p != nil && !p.UltraRestricted && !p.Deleted && (p.team() == DemoTeam || channel.Shared)
}

// directWith returns the direct message channel of a person and the bot, and creates it if necessary. The caller holds
// w.mu.
func (w *Workspace) directWith(person string) *Channel {
	for _, channel := range w.channels {
		if channel.direct == person {
			return channel
		}
	}
	channel := &Channel{ID: w.id("D"), Private: true, Members: []string{person, DemoBot}, direct: person}
	w.channels = append(w.channels, channel)
	return channel
}

// content stores the content arguments of the call in m. limit is the maximum length of the text in characters.
// content truncates a longer text if cut is true and refuses it otherwise.
func (c *call) content(m *Message, limit int, cut bool) error {
	text, markdown := c.args["text"], c.args["markdown_text"]
	if markdown != "" && (text != "" || c.args["blocks"] != "") {
		return fail("markdown_text_conflict")
	}
	if utf8.RuneCountInString(markdown) > maxMarkdown {
		return fail("msg_too_long")
	}
	if err := checkBlocks(c.args["blocks"], maxBlocks); err != nil {
		return err
	}
	if text == "" && markdown == "" && c.args["blocks"] == "" {
		return fail("no_text")
	}
	if utf8.RuneCountInString(text) > limit {
		if !cut {
			return fail("msg_too_long")
		}
		text = string([]rune(text)[:limit])
	}
	if raw := c.args["metadata"]; raw != "" {
		m.Metadata = json.RawMessage(raw)
	}
	m.Text, m.Markdown, m.Blocks = text, markdown, nil
	switch {
	case markdown != "":
		m.Text, m.Blocks = mrkdwn(markdown), markdownBlock(markdown, "")
	case c.args["blocks"] != "":
		m.Blocks = json.RawMessage(c.args["blocks"])
	}
	m.linkNames = c.flag("link_names") || c.args["parse"] == "full"
	return nil
}

// markdownBlock returns the blocks of a Markdown message, followed by the blocks of more.
func markdownBlock(markdown, more string) json.RawMessage {
	blocks := []any{}
	if markdown != "" {
		blocks = append(blocks, object{"type": "markdown", "text": markdown})
	}
	var rest []any
	if json.Unmarshal([]byte(more), &rest) == nil {
		blocks = append(blocks, rest...)
	}
	raw, err := json.Marshal(blocks)
	if err != nil {
		panic(err) // Unreachable: values that were decoded from JSON.
	}
	return raw
}

// own returns a new message of the bot in the thread of the argument thread_ts.
func (c *call) own(channel *Channel) *Message {
	return &Message{
		Channel: channel.ID, ThreadTS: c.args["thread_ts"], User: DemoBot, BotID: botID,
		unfurlLinks: c.flag("unfurl_links"), unfurlMedia: c.args["unfurl_media"] == "" || c.flag("unfurl_media"),
	}
}

// draft returns a new message of the bot with the content of the arguments.
func (c *call) draft() (*Channel, *Message, error) {
	channel, err := c.joined(c.args["channel"])
	if err != nil {
		return nil, nil, err
	}
	m := c.own(channel)
	return channel, m, c.content(m, maxText, true)
}

func (c *call) chatPost() (object, error) {
	channel, m, err := c.draft()
	if err != nil {
		return nil, err
	}
	c.post(m)
	c.emitMessage(channel, m)
	return object{"channel": channel.ID, "ts": m.TS, "message": c.messageJSON(m, true)}, nil
}

func (c *call) chatPostEphemeral() (object, error) {
	channel, m, err := c.draft()
	if err != nil {
		return nil, err
	}
	m.For, m.unfurlMedia = c.args["user"], false
	if !c.member(channel, m.For) {
		return nil, fail("user_not_in_channel")
	}
	m.Unseen = m.ThreadTS != "" && len(c.thread(channel.ID, m.ThreadTS)) < 2
	c.post(m)
	return object{"message_ts": m.TS}, nil
}

// mine finds a message of the bot. problem is the error for a message of another author.
func (c *call) mine(problem string) (*Channel, *Message, error) {
	channel, err := c.seen(c.args["channel"])
	if err != nil {
		return nil, nil, err
	}
	m := c.find(channel.ID, c.args["ts"])
	if m == nil || m.For != "" {
		return nil, nil, fail("message_not_found")
	}
	if m.BotID == "" {
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
	if m.Stream == streaming {
		return nil, fail("streaming_state_conflict")
	}
	before := c.messageJSON(m, false)
	if err := c.content(m, maxUpdate, false); err != nil {
		return nil, err
	}
	m.Edited = true
	if m.Stream == expired {
		m.Stream = streamed
	}
	c.record(m)
	c.emitChanged(channel, m, before)
	return object{"channel": channel.ID, "ts": m.TS, "text": m.Text, "message": c.messageJSON(m, true)}, nil
}

func (c *call) chatDelete() (object, error) {
	channel, m, err := c.mine("cant_delete_message")
	if err != nil {
		return nil, err
	}
	c.remove(channel, m)
	return object{"channel": channel.ID, "ts": m.TS}, nil
}

// remove deletes a message and emits the event. The caller holds w.mu.
func (w *Workspace) remove(channel *Channel, m *Message) {
	before := w.messageJSON(m, false)
	m.Deleted = true
	w.touch()
	w.emit(object{
		"type": "message", "subtype": "message_deleted", "hidden": true, "ts": w.ts(), "deleted_ts": m.TS,
		"previous_message": before,
	}, channel)
}

// emitMessage emits the events of a new message. The caller holds w.mu.
func (w *Workspace) emitMessage(channel *Channel, m *Message) {
	w.emit(w.messageJSON(m, true), channel)
	w.emitMention(channel, m, "")
}

// emitMention emits an app_mention event if a message mentions the bot, unless the text before an edit did so too.
// Direct messages cause no mention.
func (w *Workspace) emitMention(channel *Channel, m *Message, before string) {
	const name = "<@" + DemoBot + ">"
	if channel.direct == "" && m.User != DemoBot && strings.Contains(m.Text, name) && !strings.Contains(before, name) {
		event := w.messageJSON(m, true)
		event["type"] = "app_mention"
		w.emit(event, channel)
	}
}

// emitChanged emits the events of an edit. before is the message before the edit. The caller holds w.mu.
func (w *Workspace) emitChanged(channel *Channel, m *Message, before object) {
	w.emit(object{
		"type": "message", "subtype": "message_changed", "hidden": true, "ts": w.ts(),
		"message": w.messageJSON(m, true), "previous_message": before,
	}, channel)
	text, _ := before["text"].(string)
	w.emitMention(channel, m, text)
}

package slack

import (
	"cmp"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// chunks joins markdown_text and the chunks of that type.
func (c *call) chunks() (string, error) {
	text := c.args["markdown_text"]
	var chunks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if raw := c.args["chunks"]; raw != "" && json.Unmarshal([]byte(raw), &chunks) != nil {
		return "", fail("invalid_chunks")
	}
	for _, chunk := range chunks {
		if chunk.Type != "markdown_text" {
			return "", fail("invalid_chunks")
		}
		text += chunk.Text
	}
	return text, nil
}

// extend adds text to a streaming message. below are the blocks below the text.
func (c *call) extend(m *Message, text, below string) error {
	if utf8.RuneCountInString(m.Markdown)+utf8.RuneCountInString(text) > maxMarkdown {
		return fail("msg_too_long")
	}
	m.Markdown += text
	m.Text, m.Blocks = mrkdwn(m.Markdown), markdownBlock(m.Markdown, below)
	return nil
}

func (c *call) startStream() (object, error) {
	channel, err := c.joined(c.args["channel"])
	if err != nil {
		return nil, err
	}
	switch {
	case channel.direct != "" && c.args["thread_ts"] == "":
		return nil, fail("invalid_arguments") // Streams outside of threads exist in channels only.
	case channel.direct != "":
	case c.args["recipient_team_id"] == "":
		return nil, fail("missing_recipient_team_id")
	case c.args["recipient_user_id"] == "":
		return nil, fail("missing_recipient_user_id")
	}
	m := c.own(channel)
	text, err := c.chunks()
	if err == nil {
		err = c.extend(m, text, "")
	}
	if err != nil {
		return nil, err
	}
	m.Stream, m.started = streaming, c.clock.now()
	c.post(m)
	if session := c.sessions[sessionKey(channel.ID, m.ThreadTS)]; session != nil {
		session.Text = "" // A reply clears the status.
	}
	c.emitMessage(channel, m)
	return object{"channel": channel.ID, "ts": m.TS}, nil
}

// stream finds a streaming message of the bot, and returns the text to add.
func (c *call) stream() (*Channel, *Message, string, error) {
	channel, m, err := c.mine("message_not_owned_by_app")
	if err != nil {
		return nil, nil, "", err
	}
	if m.Stream != streaming {
		return nil, nil, "", fail("message_not_in_streaming_state")
	}
	text, err := c.chunks()
	return channel, m, text, err
}

func (c *call) appendStream() (object, error) {
	channel, m, text, err := c.stream()
	if err == nil && text == "" {
		err = fail("no_text")
	}
	if err == nil {
		err = c.extend(m, text, "")
	}
	if err != nil {
		return nil, err
	}
	c.record(m)
	return object{"channel": channel.ID, "ts": m.TS}, nil
}

func (c *call) stopStream() (object, error) {
	channel, m, text, err := c.stream()
	if err != nil {
		return nil, err
	}
	if err := checkBlocks(c.args["blocks"], maxBlocks); err != nil {
		return nil, err
	}
	before := c.messageJSON(m, false)
	if err := c.extend(m, text, c.args["blocks"]); err != nil {
		return nil, err
	}
	m.Stream = streamed
	if raw := c.args["metadata"]; raw != "" {
		m.Metadata = json.RawMessage(raw)
	}
	if session := c.sessions[sessionKey(channel.ID, m.ThreadTS)]; session != nil {
		session.State, session.Text = "active", ""
	}
	c.record(m)
	c.emitChanged(channel, m, before)
	return object{"channel": channel.ID, "ts": m.TS, "message": c.messageJSON(m, true)}, nil
}

// Session is the state that the app sets for its work in a thread, by assistant.threads.* or agents.sessions.*.
type Session struct {
	Text    string // The text of assistant.threads.setStatus; empty without a status.
	State   string // Set by agents.sessions.setStatus: active, processing, suspended, closed.
	Title   string
	Prompts []Prompt
}

// Prompt is a suggested prompt.
type Prompt struct {
	Title   string `json:"title"`
	Message string `json:"message"`
}

func sessionKey(channel, thread string) string { return channel + " " + thread }

// session returns a method that changes the session of the arguments channel_id and thread_ts.
func session(change func(*call, *Session) (object, error)) func(*call) (object, error) {
	return func(c *call) (object, error) {
		channel, err := c.seen(c.args["channel_id"])
		if err != nil {
			return nil, err
		}
		ts := c.args["thread_ts"]
		if m := c.find(channel.ID, ts); m == nil || m.ThreadTS != "" && m.ThreadTS != ts {
			return nil, fail("invalid_thread_ts")
		}
		s := cmp.Or(c.sessions[sessionKey(channel.ID, ts)], &Session{})
		c.sessions[sessionKey(channel.ID, ts)] = s
		c.touch()
		return change(c, s)
	}
}

func (c *call) threadStatus(s *Session) (object, error) {
	s.Text = c.args["status"]
	return nil, nil
}

func (c *call) threadTitle(s *Session) (object, error) {
	s.Title = c.args["title"]
	return nil, nil
}

func (c *call) threadPrompts(s *Session) (object, error) {
	var prompts []Prompt
	if json.Unmarshal([]byte(c.args["prompts"]), &prompts) != nil || len(prompts) == 0 || len(prompts) > 4 ||
		slices.ContainsFunc(prompts, func(p Prompt) bool { return p.Title == "" || p.Message == "" }) {
		return nil, fail("invalid_arguments")
	}
	s.Prompts = prompts
	return nil, nil
}

func (c *call) sessionStatus(s *Session) (object, error) {
	s.State = c.args["status"]
	body := object{"status": s.State, "agent_status": s.State, "title": s.Title}
	if !c.app.subscribes("agent_session_stopped") {
		body["warning"] = "missing_agent_session_stopped_event_subscription"
	}
	return body, nil
}

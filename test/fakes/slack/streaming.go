package slack

import (
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// Session is the state that an app sets for its work in a thread, by assistant.threads.* or agents.sessions.*.
type Session struct {
	Channel, Thread string
	App             string
	Text            string // The text of assistant.threads.setStatus; empty without a status.
	State           string // Set by agents.sessions.setStatus: active, processing, suspended, closed.
	Title           string
	PromptsTitle    string
	Prompts         []Prompt
	Context         string // For an assistant thread: the channel that the person has open.
	assistant       bool
}

// Prompt is a suggested prompt.
type Prompt struct {
	Title   string `json:"title"`
	Message string `json:"message"`
}

func sessionKey(channel, thread, app string) string { return channel + " " + thread + " " + app }

// session returns the app's session in a thread, and creates it if necessary. The caller holds w.mu.
func (w *Workspace) session(channel, thread, app string) *Session {
	key := sessionKey(channel, thread, app)
	if w.sessions[key] == nil {
		w.sessions[key] = &Session{Channel: channel, Thread: thread, App: app}
	}
	return w.sessions[key]
}

// chunks joins markdown_text and the chunks of that type.
func (c *call) chunks() (string, error) {
	text := c.args["markdown_text"]
	if utf8.RuneCountInString(text) > maxMarkdown {
		return "", fail("msg_too_long")
	}
	if c.args["chunks"] == "" {
		return text, nil
	}
	var chunks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal([]byte(c.args["chunks"]), &chunks) != nil {
		return "", fail("invalid_chunks")
	}
	for _, chunk := range chunks {
		if !slices.Contains([]string{"markdown_text", "task_update", "plan_update", "blocks"}, chunk.Type) {
			return "", fail("invalid_chunks")
		}
		if chunk.Type == "markdown_text" {
			text += chunk.Text
		}
	}
	return text, nil
}

func (c *call) startStream() (object, error) {
	channel, err := c.place(c.args["channel"])
	if err != nil {
		return nil, err
	}
	thread, err := c.thread(channel)
	if err != nil {
		return nil, err
	}
	if channel.direct != "" && thread == "" {
		return nil, c.required("thread_ts") // Streams outside of threads exist in channels only.
	}
	if channel.direct == "" {
		switch {
		case c.args["recipient_team_id"] == "":
			return nil, fail("missing_recipient_team_id")
		case c.args["recipient_user_id"] == "":
			return nil, fail("missing_recipient_user_id")
		case c.people[c.args["recipient_user_id"]] == nil:
			return nil, fail("user_not_found")
		case c.teams[c.args["recipient_team_id"]] == nil:
			return nil, fail("team_not_found")
		}
	}
	text, err := c.chunks()
	if err != nil {
		return nil, err
	}
	m := c.own(channel, thread)
	m.Stream, m.StreamStarted, m.Recipient = streaming, c.clock.now(), c.args["recipient_user_id"]
	m.Markdown, m.Text, m.Blocks = text, mrkdwn(text), markdownBlock(text, nil)
	c.post(m, c.method)
	if session := c.sessions[sessionKey(channel.ID, thread, c.in.app.ID)]; session != nil {
		session.Text = "" // A reply clears the status.
	}
	c.emitMessage(channel, m)
	return object{"channel": channel.ID, "ts": m.TS}, nil
}

// stream finds a streaming message of the bot.
func (c *call) stream() (*Channel, *Message, error) {
	channel, m, err := c.mine("message_not_owned_by_app")
	if err != nil {
		return nil, nil, err
	}
	if m.Stream != streaming {
		return nil, nil, fail("message_not_in_streaming_state")
	}
	return channel, m, nil
}

// extend adds text to a streaming message.
func (c *call) extend(m *Message, text string, below json.RawMessage) error {
	if utf8.RuneCountInString(m.Markdown)+utf8.RuneCountInString(text) > maxMarkdown {
		return fail("msg_too_long")
	}
	m.Markdown += text
	m.Text, m.Blocks = mrkdwn(m.Markdown), markdownBlock(m.Markdown, below)
	return nil
}

func (c *call) appendStream() (object, error) {
	channel, m, err := c.stream()
	if err != nil {
		return nil, err
	}
	text, err := c.chunks()
	if err != nil {
		return nil, err
	}
	if text == "" && c.args["chunks"] == "" {
		return nil, fail("no_text")
	}
	if err := c.extend(m, text, nil); err != nil {
		return nil, err
	}
	c.record(m, c.method)
	return object{"channel": channel.ID, "ts": m.TS}, nil
}

func (c *call) stopStream() (object, error) {
	channel, m, err := c.stream()
	if err != nil {
		return nil, err
	}
	text, err := c.chunks()
	if err != nil {
		return nil, err
	}
	blocks, code, messages := checkBlocks(c.args["blocks"])
	if code != "" {
		return nil, &failure{code: code, more: object{"response_metadata": object{"messages": messages}}}
	}
	metadata, err := c.metadata()
	if err != nil {
		return nil, err
	}
	status := c.args["session_status"]
	if status != "" && !slices.Contains(sessionStates(), status) {
		return nil, fail("invalid_status")
	}
	before := c.messageJSON(m, false)
	if err := c.extend(m, text, blocks); err != nil {
		return nil, err
	}
	m.Stream, m.Metadata = streamed, metadata
	if session := c.sessions[sessionKey(channel.ID, m.ThreadTS, c.in.app.ID)]; session != nil {
		session.State, session.Text = "active", ""
		if status != "" {
			session.State = status
		}
	}
	c.record(m, c.method)
	c.emitChanged(channel, m, before)
	return object{"channel": channel.ID, "ts": m.TS, "message": c.messageJSON(m, true)}, nil
}

func sessionStates() []string { return []string{"active", "processing", "suspended", "closed"} }

// assistantThread finds the thread of channel_id and thread_ts.
func (c *call) assistantThread() (*Session, error) {
	channel := c.channels[c.args["channel_id"]]
	if channel == nil || !c.sees(channel) {
		return nil, fail("channel_not_found")
	}
	ts := c.args["thread_ts"]
	if m := c.find(channel.ID, ts); m == nil || m.ThreadTS != "" && m.ThreadTS != ts {
		return nil, fail("invalid_thread_ts")
	}
	return c.session(channel.ID, ts, c.in.app.ID), nil
}

func (c *call) threadStatus() (object, error) {
	session, err := c.assistantThread()
	if err != nil {
		return nil, err
	}
	session.Text = c.args["status"]
	c.touch()
	return nil, nil
}

func (c *call) threadTitle() (object, error) {
	if err := c.required("title"); err != nil {
		return nil, err
	}
	session, err := c.assistantThread()
	if err != nil {
		return nil, err
	}
	session.Title = c.args["title"]
	c.touch()
	return nil, nil
}

func (c *call) threadPrompts() (object, error) {
	session, err := c.assistantThread()
	if err != nil {
		return nil, err
	}
	var prompts []Prompt
	if json.Unmarshal([]byte(c.args["prompts"]), &prompts) != nil || len(prompts) == 0 {
		return nil, fail("invalid_arguments")
	}
	for _, prompt := range prompts {
		if prompt.Title == "" || prompt.Message == "" {
			return nil, fail("invalid_arguments")
		}
	}
	if len(prompts) > 4 { // Slack accepts at most four.
		return nil, fail("invalid_arguments")
	}
	session.Prompts, session.PromptsTitle = prompts, c.args["title"]
	c.touch()
	return nil, nil
}

func (c *call) sessionStatus() (object, error) {
	status := c.args["status"]
	if !slices.Contains(sessionStates(), status) {
		return nil, fail("invalid_status")
	}
	if c.args["thread_ts"] == "" {
		return nil, fail("thread_ts_required")
	}
	channel := c.channels[c.args["channel_id"]]
	if channel == nil || !c.sees(channel) {
		return nil, fail("channel_not_found")
	}
	if !c.member(channel, c.in.UserID) {
		return nil, fail("not_authorized")
	}
	if user := c.args["initiator_user_id"]; user != "" && !c.member(channel, user) {
		return nil, fail("user_not_found")
	}
	session := c.session(channel.ID, c.args["thread_ts"], c.in.app.ID)
	if session.Title == "" {
		session.Title = c.args["title"]
	}
	session.State = status
	c.touch()
	body := object{"status": status, "agent_status": status, "title": session.Title}
	if !c.in.app.subscribes("agent_session_stopped") {
		body["warning"] = "missing_agent_session_stopped_event_subscription"
	}
	return body, nil
}

func (c *call) sessionRename() (object, error) {
	if err := c.required("title"); err != nil {
		return nil, err
	}
	session := c.sessions[sessionKey(c.args["channel_id"], c.args["thread_ts"], c.in.app.ID)]
	if session == nil {
		return nil, fail("session_not_found")
	}
	session.Title = c.args["title"]
	c.touch()
	return object{"title": session.Title}, nil
}

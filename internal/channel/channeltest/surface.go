// Package channeltest has a surface in memory that simulates failures, and a test suite for surfaces.
//
// It is for tests only. It imports channel, chat and the standard library.
package channeltest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
)

// Name is the name of the surface in memory.
const Name = "memory"

// Call is a recorded call of the surface.
type Call struct {
	Method       string
	Installation uuid.UUID
	To           channel.Target
	Ref          channel.Ref
	Draft        channel.Draft
	At           time.Time
}

// Fault is the failure of a call, before or after its effect. The zero value is no failure.
type Fault struct{ Before, After error }

// Message is a message of the assistant.
type Message struct {
	Ref       channel.Ref
	Channel   string
	Thread    string
	Draft     channel.Draft
	Streaming bool
	Writes    int
	begun     time.Time
}

// Notice is a notice with its recipient.
type Notice struct {
	To     channel.Target
	Notice channel.Notice
}

// Surface is a surface in memory. It records calls and violations of the interface's rules by the caller.
type Surface struct {
	mu         sync.Mutex
	traits     channel.Traits
	fault      func(Call) Fault // Guarded by mu, like the fields below.
	number     int
	messages   []*Message
	attached   map[string]string
	history    []channel.Message
	files      map[string]string
	names      map[string]string // By the person's id.
	notices    []Notice
	place      channel.Place
	calls      []Call
	violations []string
	changed    chan struct{} // Closed and replaced with each change.
}

var _ channel.Surface = (*Surface)(nil)

// New returns an empty surface.
func New(traits channel.Traits) *Surface {
	return &Surface{
		traits: traits, attached: make(map[string]string), files: make(map[string]string),
		names:   make(map[string]string),
		changed: make(chan struct{}),
	}
}

// Traits returns the traits of a surface like Slack, with short times.
func Traits() channel.Traits {
	return channel.Traits{
		CanAppend: true, CanReplace: true, MinInterval: 2 * time.Millisecond, MaxCharacters: 11_000, MaxMessages: 5,
		AppendLifetime: time.Hour,
	}
}

// SetFault sets the function that determines the failure of each call.
func (s *Surface) SetFault(fault func(Call) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// AddMessage writes a message of a person in a thread.
func (s *Surface) AddMessage(person, text string, files ...channel.File) channel.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := s.next()
	s.history = append(s.history, channel.Message{Ref: ref, Name: person + "さん", Text: text, Files: files})
	return ref
}

// EditMessage changes a person's message.
func (s *Surface) EditMessage(ref channel.Ref, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.history {
		if s.history[i].Ref == ref {
			s.history[i].Text = text
		}
	}
}

// AddFile stores the content of a file.
func (s *Surface) AddFile(id, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[id] = content
}

// RemoveMessage deletes a message of the assistant, as a person may do.
func (s *Surface) RemoveMessage(ref channel.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(m *Message) bool { return m.Ref == ref })
}

// Messages returns the messages of the assistant, oldest first.
func (s *Surface) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Message, len(s.messages))
	for i, m := range s.messages {
		list[i] = *m
	}
	return list
}

// Attached returns the attached files by name and answer.
func (s *Surface) Attached() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make(map[string]string)
	for name, text := range s.attached {
		list[name] = text
	}
	return list
}

// Notices returns all notices.
func (s *Surface) Notices() []Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notices)
}

// Calls returns the calls so far.
func (s *Surface) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Violations returns the callers' violations of the interface's rules.
func (s *Surface) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Changed returns a channel that is closed with the next call.
func (s *Surface) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

func (s *Surface) next() channel.Ref {
	s.number++
	return channel.Ref(strconv.Itoa(s.number))
}

// call makes a call with its fault. It calls do with mu held.
func (s *Surface) call(ctx context.Context, c Call, do func() error) error {
	c.At, c.Installation = time.Now(), c.To.Installation.ID
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	var f Fault
	if fault != nil {
		f = fault(c) // The function may block.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	close(s.changed)
	s.changed = make(chan struct{})
	if f.Before != nil {
		return f.Before
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return f.After
}

func (s *Surface) addViolation(format string, args ...any) {
	s.violations = append(s.violations, fmt.Sprintf(format, args...))
}

func (s *Surface) find(ref channel.Ref) *Message {
	for _, m := range s.messages {
		if m.Ref == ref {
			return m
		}
	}
	return nil
}

// check records a violation if a draft is invalid.
func (s *Surface) check(d channel.Draft) {
	if n := utf8.RuneCountInString(d.Markdown); n > s.traits.MaxCharacters {
		s.addViolation("a message of %d characters", n)
	}
}

func (s *Surface) Traits() channel.Traits { return s.traits }

func (s *Surface) Begin(ctx context.Context, to channel.Target, d channel.Draft) (ref channel.Ref, _ error) {
	err := s.call(ctx, Call{Method: "begin", To: to, Draft: d}, func() error {
		s.check(d)
		ref = s.next()
		s.messages = append(s.messages, &Message{
			Ref: ref, Channel: to.Channel, Thread: to.Thread, Draft: d,
			Streaming: s.traits.CanAppend && d.State == channel.StateWriting, Writes: 1, begun: time.Now(),
		})
		return nil
	})
	if err != nil {
		return "", err
	}
	return ref, nil
}

func (s *Surface) extend(m *Message, from, d channel.Draft) error {
	if !m.Streaming || time.Since(m.begun) > s.traits.AppendLifetime+time.Minute {
		m.Streaming = false
		return channel.ErrCannotAppend
	}
	if m.Draft.Markdown != from.Markdown || !strings.HasPrefix(d.Markdown, from.Markdown) {
		s.addViolation("message %s holds %d bytes, not the %d of which %d were to follow", m.Ref, len(m.Draft.Markdown),
			len(from.Markdown), len(d.Markdown))
	}
	m.write(s, d)
	return nil
}

func (m *Message) write(s *Surface, d channel.Draft) {
	s.check(d)
	m.Draft = d
	m.Writes++
}

func (s *Surface) Append(ctx context.Context, to channel.Target, ref channel.Ref, from, d channel.Draft) error {
	return s.call(ctx, Call{Method: "append", To: to, Ref: ref, Draft: d}, func() error {
		m := s.find(ref)
		if m == nil {
			return channel.ErrGone
		}
		return s.extend(m, from, d)
	})
}

func (s *Surface) Replace(ctx context.Context, to channel.Target, ref channel.Ref, d channel.Draft) error {
	return s.call(ctx, Call{Method: "replace", To: to, Ref: ref, Draft: d}, func() error {
		m := s.find(ref)
		if d.State == channel.StateSuperseded {
			s.messages = slices.DeleteFunc(s.messages, func(other *Message) bool { return other == m })
			return nil
		}
		if m == nil {
			return channel.ErrGone
		}
		m.Streaming = false
		m.write(s, d)
		return nil
	})
}

func (s *Surface) Finish(ctx context.Context, to channel.Target, ref channel.Ref, from, d channel.Draft) error {
	return s.call(ctx, Call{Method: "finish", To: to, Ref: ref, Draft: d}, func() error {
		m := s.find(ref)
		switch {
		case m == nil:
			return channel.ErrGone
		case !m.Streaming && m.Draft.Markdown == d.Markdown && m.Draft.State == d.State:
			return nil // A repeated call.
		}
		if err := s.extend(m, from, d); err != nil {
			return err
		}
		m.Streaming = false
		return nil
	})
}

func (s *Surface) Find(ctx context.Context, to channel.Target, since time.Time, known []channel.Ref, d channel.Draft) (
	ref channel.Ref, found bool, _ error,
) {
	err := s.call(ctx, Call{Method: "find", To: to, Draft: d}, func() error {
		for _, m := range s.messages {
			if m.Channel == to.Channel && m.Thread == to.Thread && m.Draft.AnswerID == d.AnswerID &&
				m.Draft.Part == d.Part && approvalID(m.Draft) == approvalID(d) && !slices.Contains(known, m.Ref) && !m.begun.Before(since) &&
				strings.HasPrefix(d.Markdown, m.Draft.Markdown) {
				ref, found = m.Ref, true
			}
		}
		return nil
	})
	return ref, found && err == nil, err
}

// approvalID returns the id of the request for a decision of a draft, or the zero id.
func approvalID(d channel.Draft) uuid.UUID {
	if d.Approval == nil {
		return uuid.Nil
	}
	return d.Approval.ID
}

func (s *Surface) Open(
	ctx context.Context, to channel.Target, _ time.Time, event, _ string,
) (thread string, _ error) {
	err := s.call(ctx, Call{Method: "open", To: to}, func() error {
		thread = "thread of " + event
		return nil
	})
	return thread, err
}

func (s *Surface) Attach(ctx context.Context, to channel.Target, a channel.Attachment) error {
	return s.call(ctx, Call{Method: "attach", To: to}, func() error {
		key := a.Name + " " + a.AnswerID.String()
		if _, there := s.attached[key]; there {
			if a.Again {
				return nil
			}
			s.addViolation("%s was attached twice", a.Name)
		}
		s.attached[key] = a.Markdown
		return nil
	})
}

func (s *Surface) Notify(ctx context.Context, to channel.Target, n channel.Notice) error {
	return s.call(ctx, Call{Method: "notify", To: to}, func() error {
		s.notices = append(s.notices, Notice{to, n})
		return nil
	})
}

func (s *Surface) Status(ctx context.Context, to channel.Target, _ string) error {
	return s.call(ctx, Call{Method: "status", To: to}, func() error { return nil })
}

// SetName sets the name of a person.
func (s *Surface) SetName(id, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[id] = name
}

// SetPlace sets the description of all channels.
func (s *Surface) SetPlace(p channel.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.place = p
}

func (s *Surface) Place(ctx context.Context, to channel.Target) (p channel.Place, _ error) {
	err := s.call(ctx, Call{Method: "place", To: to}, func() error {
		p = s.place
		return nil
	})
	return p, err
}

func (s *Surface) ResolveMentions(_ context.Context, _ channel.Target, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, name := range s.names {
		text = strings.ReplaceAll(text, "@"+id, "@"+name)
	}
	return text
}

func (s *Surface) History(
	ctx context.Context, to channel.Target, before channel.Ref,
) (messages []channel.Message, _ error) {
	err := s.call(ctx, Call{Method: "said", To: to, Ref: before}, func() error {
		for _, m := range s.history {
			if m.Ref == before {
				break
			}
			messages = append(messages, m)
		}
		return nil
	})
	return messages, err
}

func (s *Surface) Message(ctx context.Context, to channel.Target, ref channel.Ref) (message channel.Message, _ error) {
	err := s.call(ctx, Call{Method: "message", To: to, Ref: ref}, func() error {
		i := slices.IndexFunc(s.history, func(m channel.Message) bool { return m.Ref == ref })
		if i < 0 {
			return channel.ErrGone
		}
		message = s.history[i]
		return nil
	})
	return message, err
}

func (s *Surface) Download(ctx context.Context, to channel.Target, f channel.File) (content io.ReadCloser, _ error) {
	err := s.call(ctx, Call{Method: "download", To: to}, func() error {
		text, there := s.files[f.ID]
		if !there {
			return channel.ErrGone
		}
		content = io.NopCloser(strings.NewReader(text))
		return nil
	})
	return content, err
}

func (s *Surface) ShowHome(ctx context.Context, to channel.Target, h channel.Home) error {
	return s.call(ctx, Call{Method: "home", To: to, Draft: channel.Draft{URL: h.LinkURL, Markdown: h.Account}},
		func() error { return nil })
}

func (s *Surface) ShowPrompts(ctx context.Context, to channel.Target, prompts []channel.Prompt) error {
	return s.call(ctx, Call{Method: "prompts", To: to, Draft: channel.Draft{Part: len(prompts)}},
		func() error { return nil })
}

func (s *Surface) ShowTitle(ctx context.Context, to channel.Target, title string) error {
	return s.call(ctx, Call{Method: "title", To: to, Draft: channel.Draft{Markdown: title}},
		func() error { return nil })
}

// Expire ends the streams of all messages, as after their lifetime.
func (s *Surface) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		m.Streaming = false
	}
}

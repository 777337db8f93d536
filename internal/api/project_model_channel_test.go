package api_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/channeltest"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// message sends a message of the Model Context Protocol, and returns the response.
func (m *model) message(u identity.NewUser, method string, params map[string]any) string {
	m.t.Helper()
	resp := m.f.do(m.f.message(u.Subject, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
	if resp.status != http.StatusOK {
		m.t.Fatalf("%s %v: %d %s", method, params, resp.status, resp.body)
	}
	return string(resp.body)
}

// callTool calls a tool, which succeeds if ok, and otherwise does not find its object.
func (m *model) callTool(u identity.NewUser, ok bool, history, tool string, arguments map[string]any) {
	m.t.Helper()
	body := m.message(u, "tools/call", map[string]any{"name": tool, "arguments": arguments})
	if strings.Contains(body, `"isError":true`) == ok || !ok && !strings.Contains(body, "が見つかりません") {
		m.t.Fatalf("after %s, %s calls %s %v: %s, want %v", history, u.Subject, tool, arguments, body, ok)
	}
}

// readResource reads a file that was not processed yet, or a thread. It is found if ok.
func (m *model) readResource(u identity.NewUser, ok bool, history, uri string) {
	m.t.Helper()
	body := m.message(u, "resources/read", map[string]any{"uri": uri})
	found := strings.Contains(body, `"contents"`) || strings.Contains(body, "まだ読み取り中")
	if found != ok || strings.Contains(body, "Resource not found") == ok {
		m.t.Fatalf("after %s, %s reads %s: %s, want %v", history, u.Subject, uri, body, ok)
	}
}

// channels is a workspace whose people are linked with the members whose ids they have.
type channels struct {
	f            *fixture
	surface      *channeltest.Surface
	service      *channel.Service
	installation channel.Installation
}

func newChannels(f *fixture) *channels {
	f.t.Helper()
	c := &channels{f: f, surface: channeltest.New(channeltest.Traits())}
	c.installation = channel.Installation{
		ID: uuid.New(), OrganizationID: f.alice.OrganizationID, Surface: channeltest.Name, TeamID: "T1",
	}
	f.exec(`INSERT INTO channel_installations (id, organization_id, surface, team_id, source)
	        VALUES ($1, $2, 'slack', 'T1', 'stored')`, c.installation.ID, c.installation.OrganizationID)
	log := slog.New(slog.DiscardHandler)
	c.service = channel.NewService(channel.Deps{
		Store: f.db, Installations: c, Links: c, Surfaces: map[string]channel.Surface{channeltest.Name: c.surface},
		Chat: f.chat, Skills: skill.NewService(f.db, skill.Config{}), Projects: f.projects, Sources: f.sources, Log: log,
	}, channel.Config{PublicURL: issuer})
	c.service.Start()
	f.t.Cleanup(c.service.Stop)
	return c
}

func (c *channels) FindInstallation(context.Context, string, string, string) (channel.Installation, error) {
	return c.installation, nil
}

func (c *channels) Installation(context.Context, uuid.UUID) (channel.Installation, error) {
	return c.installation, nil
}

func (c *channels) EraseInstallation(context.Context, uuid.UUID) error { return nil }

func (c *channels) FindLink(_ context.Context, to channel.Target) (channel.LinkedMember, error) {
	id, err := uuid.Parse(to.Person)
	owner := identity.Owner{OrganizationID: c.installation.OrganizationID, UserID: id}
	return channel.LinkedMember{State: channel.LinkActive, Owner: owner}, err
}

func (c *channels) Invite(context.Context, channel.Target) (string, error) { return issuer, nil }

func (c *channels) RemoveLink(context.Context, channel.Target) (bool, error) { return false, nil }

// ask asks in a channel of a project as a random person. People without a role are refused. The others are answered in
// the project, unless it was deleted.
func (c *channels) ask(m *model) {
	m.t.Helper()
	id := pick(m.rand, m.projects)
	u := m.people[m.rand.IntN(len(m.people))]
	if m.gone[u.ID] {
		return
	}
	name := m.f.bindChannel(id)
	in := channel.IncomingEvent{
		Surface: channeltest.Name, TeamID: "T1", EventID: newID(), Kind: channel.KindQuestion, Channel: name, Thread: newID(),
		Person: u.ID.String(), Text: "糸とは",
	}
	in.Message = c.surface.AddMessage(in.Person, in.Text)
	must.Succeed(m.t, c.service.Enqueue(m.t.Context(), in))
	answer, refusal := c.await(in)
	p := m.projects[id]
	if role := m.role(p, u.ID); !p.deleted && role == "" {
		if !strings.Contains(refusal, "参加していないプロジェクト") {
			m.t.Fatalf("%s is answered %s, %q without a role", u.Subject, answer, refusal)
		}
		return
	}
	var thread uuid.UUID
	var project *uuid.UUID
	must.Succeed(m.t, m.f.sql.QueryRow(m.t.Context(), `
		SELECT t.id, t.project_id FROM messages m JOIN threads t ON t.id = m.thread_id WHERE m.id = $1`,
		answer).Scan(&thread, &project))
	if (project == nil) != p.deleted || project != nil && *project != id {
		m.t.Fatalf("%s is answered in the project %v, want %v (deleted: %v)", u.Subject, project, id, p.deleted)
	}
	if project != nil {
		m.threads[thread] = modelThread{project: id, owner: u.ID, asker: u.ID, answer: answer.String()}
	}
}

// await waits for the answer to a question or its refusal.
func (c *channels) await(in channel.IncomingEvent) (answer uuid.UUID, refusal string) {
	for {
		changed := c.surface.Changed()
		for _, n := range c.surface.Notices() {
			if n.To.Thread == in.Thread && n.Notice.Kind == channel.NoticeRefused {
				return answer, n.Notice.Text
			}
		}
		for _, message := range c.surface.Messages() {
			if message.Thread == in.Thread && message.Draft.State == channel.StateDone {
				return message.Draft.AnswerID, ""
			}
		}
		select {
		case <-changed:
		case <-c.f.t.Context().Done():
			return answer, ""
		}
	}
}

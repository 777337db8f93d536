package api

import (
	"cmp"
	"regexp"
	"strconv"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
)

func (s *Server) getSlackConfig(c *call) (any, error) {
	view, err := s.Slack.Setup.View(c.ctx(), c.actor)
	return toSlackConfig(view), err
}

// slackChannel matches the id of a channel.
var slackChannel = regexp.MustCompile(`^[CG][A-Z0-9]{2,20}$`)

func (s *Server) putSlackConfig(c *call, req SlackConfigPutRequest) (any, error) {
	edit := workspace.SetupEdit{
		BotToken: req.BotToken, SigningSecret: req.SigningSecret, AppToken: req.AppToken, ClientID: req.ClientID,
		ClientSecret: req.ClientSecret,
	}
	if p := req.Policy; p != nil {
		for i, id := range p.Channels {
			if !slackChannel.MatchString(id) {
				return nil, fault.InvalidField("policy.channels["+strconv.Itoa(i)+"]",
					"チャンネルIDは、C0123ABCDのような形で入力してください。")
			}
		}
		edit.Policy = &channel.Policy{AutoLink: p.AutoLink, SharedChannels: p.SharedChannels, Channels: p.Channels}
	}
	view, err := s.Slack.Setup.Save(c.ctx(), c.actor, edit)
	return toSlackConfig(view), err
}

func toSlackConfig(v workspace.SetupView) SlackConfig {
	in, c := v.Installation, v.Installation.Credentials
	config := SlackConfig{
		Storable: v.HasKey, Source: cmp.Or(string(in.Source), "none"), SocketOnly: v.SocketOnly,
		Credentials: SlackCredentials{
			BotToken: c.BotToken != "", SigningSecret: c.SigningSecret != "", AppToken: c.AppToken != "",
			ClientID: c.ClientID, ClientSecret: c.ClientSecret != "",
		},
		Policy: SlackPolicy{
			AutoLink: in.Policy.AutoLink, SharedChannels: in.Policy.SharedChannels,
			Channels: nonNil(in.Policy.Channels),
		},
	}
	if in.Connected() {
		config.Workspace = SlackWorkspace{
			Name: in.TeamName, TeamID: in.TeamID, EnterpriseID: in.EnterpriseID, AppID: in.AppID,
		}
	}
	return config
}

func (s *Server) deleteSlackConfig(c *call) (any, error) {
	return nil, s.Slack.Setup.Remove(c.ctx(), c.actor)
}

func (s *Server) getSlackManifest(c *call) (any, error) {
	socket := c.flag("socket")
	if err := c.err(); err != nil {
		return nil, err
	}
	if _, err := s.Slack.Setup.View(c.ctx(), c.actor); err != nil {
		return nil, err
	}
	manifest, err := slack.Manifest(s.cfg.PublicURL, socket)
	return SlackManifest{Manifest: string(manifest)}, err
}

func (s *Server) testSlack(c *call) (any, error) {
	checks, err := s.Slack.Setup.Test(c.ctx(), c.actor)
	return SlackTest{Checks: convert(checks, func(c workspace.Check) SlackCheck {
		return SlackCheck{Name: c.Name, Ok: c.OK, Detail: c.Detail}
	})}, err
}

func (s *Server) installSlack(c *call) (any, error) {
	address, browser, err := s.Slack.Setup.BeginInstall(c.ctx(), c.actor)
	if err != nil {
		return nil, err
	}
	s.bindFlow(c.w, slackInstallCookie, browser)
	return created(SlackStart{URL: address}), nil
}

func (s *Server) listSlackLinks(c *call, offset, limit int) (any, error) {
	links, total, err := s.Slack.Links.List(c.ctx(), c.actor, offset, limit)
	return SlackMemberLinkList{Items: convert(links, toSlackLink), Total: total}, err
}

func toSlackLink(l workspace.MemberLink) SlackMemberLink {
	return SlackMemberLink{
		UserID: l.UserID, UserName: l.UserName, UserEmail: l.UserEmail, Person: l.Person, Name: l.Name,
		Automatic: l.Automatic, CreatedAt: l.CreatedAt.UTC(),
	}
}

func (s *Server) unlinkSlackMember(c *call) (any, error) {
	return nil, s.Slack.Links.UnlinkMember(c.ctx(), c.actor, c.pathID)
}

// maxSlackState bounds the state of an attempt to link, in characters.
const maxSlackState = 200

func (s *Server) getSlackLink(c *call) (any, error) {
	state := c.text("state", maxSlackState)
	if err := c.err(); err != nil {
		return nil, err
	}
	link, err := s.Slack.Links.OwnLink(c.ctx(), c.actor, state)
	out := SlackLink{Workspace: link.Workspace, CanLink: link.CanLink, Link: optional(link.Link, toSlackLink)}
	if link.PendingPerson != nil {
		out.Asking = SlackPerson{ID: link.PendingPerson.ID, Name: link.PendingPerson.Name}
	}
	return out, err
}

func (s *Server) linkSlack(c *call, req SlackLinkRequest) (any, error) {
	address, browser, err := s.Slack.Links.Begin(c.ctx(), c.actor, req.State)
	if err != nil {
		return nil, err
	}
	s.bindFlow(c.w, slackLinkCookie, browser)
	return created(SlackStart{URL: address}), nil
}

func (s *Server) unlinkSlack(c *call) (any, error) {
	return nil, s.Slack.Links.Unlink(c.ctx(), c.actor)
}

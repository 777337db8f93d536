package api

import (
	"net/http"
	"regexp"
	"strconv"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
)

func (s *Server) getSlackConfig(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	view, err := s.Slack.Setup.View(r.Context(), actor)
	return writeSlackConfig(w, view, err)
}

// slackChannel matches the id of a channel.
var slackChannel = regexp.MustCompile(`^[CG][A-Z0-9]{2,20}$`)

func (s *Server) putSlackConfig(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req SlackConfigPutRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	edit := channel.SetupEdit{
		BotToken: req.BotToken, SigningSecret: req.SigningSecret, AppToken: req.AppToken, ClientID: req.ClientID,
		ClientSecret: req.ClientSecret,
	}
	if p := req.Policy; p != nil {
		for i, id := range p.Channels {
			if !slackChannel.MatchString(id) {
				return fault.InvalidField("policy.channels["+strconv.Itoa(i)+"]",
					"チャンネルIDは、C0123ABCDのような形で入力してください。")
			}
		}
		edit.Policy = &channel.Policy{AutoLink: p.AutoLink, SharedChannels: p.SharedChannels, Channels: p.Channels}
	}
	view, err := s.Slack.Setup.Save(r.Context(), actor, edit)
	return writeSlackConfig(w, view, err)
}

func writeSlackConfig(w http.ResponseWriter, v channel.SetupView, err error) error {
	if err != nil {
		return err
	}
	in, c := v.Installation, v.Installation.Credentials
	config := SlackConfig{
		Storable: v.HasKey, Source: "none", SocketOnly: v.SocketOnly,
		Credentials: SlackCredentials{
			BotToken: c.BotToken != "", SigningSecret: c.SigningSecret != "", AppToken: c.AppToken != "",
			ClientID: c.ClientID, ClientSecret: c.ClientSecret != "",
		},
		Policy: SlackPolicy{
			AutoLink: in.Policy.AutoLink, SharedChannels: in.Policy.SharedChannels,
			Channels: convert(in.Policy.Channels, func(id string) string { return id }),
		},
	}
	if in.Source != "" {
		config.Source = string(in.Source)
	}
	if in.Connected() {
		config.Workspace = SlackWorkspace{
			Name: in.TeamName, TeamID: in.TeamID, EnterpriseID: in.EnterpriseID, AppID: in.AppID,
		}
	}
	return writeJSON(w, http.StatusOK, config)
}

func (s *Server) deleteSlackConfig(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	if err := s.Slack.Setup.Remove(r.Context(), actor); err != nil {
		return err
	}
	return writeNoContent(w)
}

func (s *Server) getSlackManifest(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	socket := c.flag("socket", r.URL.Query()["socket"])
	if err := c.err(); err != nil {
		return err
	}
	if _, err := s.Slack.Setup.View(r.Context(), actor); err != nil {
		return err
	}
	manifest, err := slack.Manifest(s.cfg.PublicURL, socket)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SlackManifest{Manifest: string(manifest)})
}

func (s *Server) testSlack(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	checks, err := s.Slack.Setup.Test(r.Context(), actor)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SlackTest{Checks: convert(checks, func(c channel.Check) SlackCheck {
		return SlackCheck{Name: c.Name, Ok: c.OK, Detail: c.Detail}
	})})
}

func (s *Server) installSlack(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	address, browser, err := s.Slack.Setup.BeginInstall(r.Context(), actor)
	if err != nil {
		return err
	}
	s.bindSlack(w, slackInstallCookie, browser)
	return writeJSON(w, http.StatusCreated, SlackStart{URL: address})
}

func (s *Server) listSlackLinks(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	offset, limit, err := page(r)
	if err != nil {
		return err
	}
	links, total, err := s.Slack.Links.List(r.Context(), actor, offset, limit)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, SlackMemberLinkList{Items: convert(links, toSlackLink), Total: total})
}

func toSlackLink(l channel.MemberLink) SlackMemberLink {
	return SlackMemberLink{
		UserID: l.UserID, UserName: l.UserName, UserEmail: l.UserEmail, Person: l.Person, Name: l.Name,
		Automatic: l.Automatic, CreatedAt: l.CreatedAt.UTC(),
	}
}

func (s *Server) unlinkSlackMember(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "user_id")
	if err != nil {
		return err
	}
	if err := s.Slack.Links.UnlinkMember(r.Context(), actor, id); err != nil {
		return err
	}
	return writeNoContent(w)
}

// maxSlackState bounds the state of an attempt to link, in characters.
const maxSlackState = 200

func (s *Server) getSlackLink(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var c checks
	state := c.text("state", r.URL.Query()["state"], maxSlackState)
	if err := c.err(); err != nil {
		return err
	}
	link, err := s.Slack.Links.OwnLink(r.Context(), actor, state)
	if err != nil {
		return err
	}
	out := SlackLink{Workspace: link.Workspace, CanLink: link.CanLink}
	if link.Link != nil {
		out.Link = toSlackLink(*link.Link)
	}
	if link.PendingPerson != nil {
		out.Asking = SlackPerson{ID: link.PendingPerson.ID, Name: link.PendingPerson.Name}
	}
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) linkSlack(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	var req SlackLinkRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	address, browser, err := s.Slack.Links.Begin(r.Context(), actor, req.State)
	if err != nil {
		return err
	}
	s.bindSlack(w, slackLinkCookie, browser)
	return writeJSON(w, http.StatusCreated, SlackStart{URL: address})
}

func (s *Server) unlinkSlack(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	if err := s.Slack.Links.Unlink(r.Context(), actor); err != nil {
		return err
	}
	return writeNoContent(w)
}

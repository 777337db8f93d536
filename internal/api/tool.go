package api

import (
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
)

const (
	toolCookie      = "tsumugi_tool_connection"
	toolSettingPage = "/setting/connections"
)

func (s *Server) listTools(c *call) (any, error) {
	servers, err := s.Tools.Available(c.ctx(), c.actor)
	return AvailableToolList{Items: convert(servers, func(server toolserver.Server) AvailableToolServer {
		return AvailableToolServer{
			Key: server.Key, Name: server.Name, Tools: convert(server.Tools, func(t toolserver.Tool) AvailableTool {
				return AvailableTool{
					Name: t.Name, Title: t.Title(), Description: t.Accepted.Description, Rule: string(t.Rule),
				}
			}),
		}
	})}, err
}

func (s *Server) listToolServers(c *call) (any, error) {
	servers, err := s.Tools.Servers(c.ctx(), c.actor)
	return ToolServerList{Items: convert(servers, s.toToolServer)}, err
}

func (s *Server) toToolServer(server toolserver.Server) ToolServer {
	return ToolServer{
		ID: server.ID, Key: server.Key, Name: server.Name, URL: server.URL, Auth: string(server.Auth),
		HeaderName: server.HeaderName, ClientID: server.ClientID, HasSecret: server.HasSecret, Enabled: server.Enabled,
		Everyone: server.Everyone, CheckedAt: utc(server.CheckedAt), Failure: server.Failure,
		Tools: convert(server.Tools, toOrganizationTool), Groups: toGroups(server),
		RedirectURL: s.Tools.RedirectURL(server.ID),
	}
}

func toGroups(server toolserver.Server) []SkillGroup {
	groups := make([]SkillGroup, len(server.GroupIDs))
	for i, id := range server.GroupIDs {
		groups[i] = SkillGroup{ID: id, Name: server.GroupNames[i]}
	}
	return groups
}

func toOrganizationTool(t toolserver.Tool) OrganizationTool {
	claims, state, offered := t.Accepted.Claims, "usable", ""
	if t.Offered != nil {
		claims, state, offered = t.Offered.Claims, "changed", t.Offered.Digest()
	}
	if t.Refused != "" {
		state = "refused"
	}
	if t.Gone {
		state = "gone"
	}
	return OrganizationTool{
		Name: t.Name, Remote: t.Remote, Title: t.Title(), Description: t.Accepted.Description,
		Schema: string(t.Accepted.Schema), State: state, Refused: t.Refused, OfferedSha256: offered,
		Claims:  ToolClaims(claims),
		Changes: convert(t.Changes(), func(c toolserver.Change) ToolChange { return ToolChange(c) }),
		Rule:    string(t.Rule), ReadOnly: t.ReadOnly, Idempotent: t.Idempotent,
	}
}

func (s *Server) addToolServer(c *call, req ToolServerPostRequest) (any, error) {
	groups := c.distinctIDs("group_ids", req.GroupIds)
	if err := c.err(); err != nil {
		return nil, err
	}
	server, err := s.Tools.Add(c.ctx(), c.actor, toolserver.Draft{
		Key: req.Key, Name: &req.Name, URL: &req.URL, Auth: new(toolserver.Auth(req.Auth)), HeaderName: &req.HeaderName,
		ClientID: &req.ClientID, Secret: &req.Secret, Everyone: req.Everyone, GroupIDs: groups,
	})
	return created(s.toToolServer(server)), err
}

func (s *Server) editToolServer(c *call, req ToolServerPutRequest) (any, error) {
	draft := toolserver.Draft{
		Name: req.Name, URL: req.URL, Auth: (*toolserver.Auth)(req.Auth), HeaderName: req.HeaderName, ClientID: req.ClientID,
		Secret: req.Secret, Enabled: req.Enabled, Everyone: req.Everyone,
	}
	if req.GroupIds != nil {
		draft.GroupIDs = c.distinctIDs("group_ids", req.GroupIds)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	server, err := s.Tools.Edit(c.ctx(), c.actor, c.pathID, draft)
	return s.toToolServer(server), err
}

func (s *Server) removeToolServer(c *call) (any, error) {
	return nil, s.Tools.Remove(c.ctx(), c.actor, c.pathID)
}

func (s *Server) discoverTools(c *call) (any, error) {
	server, err := s.Tools.Discover(c.ctx(), c.actor, c.pathID)
	return s.toToolServer(server), err
}

func (s *Server) editTool(c *call, req ToolPutRequest) (any, error) {
	server, err := s.Tools.EditTool(c.ctx(), c.actor, c.pathID, chi.URLParam(c.r, "tool_name"), toolserver.ToolDraft{
		Rule: (*tool.Rule)(req.Rule), ReadOnly: req.ReadOnly, Idempotent: req.Idempotent,
	})
	return s.toToolServer(server), err
}

func (s *Server) acceptTool(c *call, req ToolAcceptRequest) (any, error) {
	server, err := s.Tools.Accept(c.ctx(), c.actor, c.pathID, chi.URLParam(c.r, "tool_name"), req.OfferedSha256)
	return s.toToolServer(server), err
}

func (s *Server) listToolConnections(c *call) (any, error) {
	links, err := s.Tools.Links(c.ctx(), c.actor)
	return ToolConnectionList{Items: convert(links, func(s toolserver.Server) ToolConnection {
		return ToolConnection{ServerID: s.ID, Name: s.Name, URL: s.URL, ConnectedAt: utc(s.ConnectedAt)}
	})}, err
}

func (s *Server) connectToolServer(c *call) (any, error) {
	address, browser, err := s.Tools.BeginConnection(c.ctx(), c.actor, c.pathID)
	if err != nil {
		return nil, err
	}
	s.bindFlow(c.w, toolCookie, browser)
	return created(ToolConnectionStart{URL: address}), nil
}

func (s *Server) disconnectToolServer(c *call) (any, error) {
	return nil, s.Tools.Disconnect(c.ctx(), c.actor, c.pathID)
}

// toolConnected handles a browser that an authorization server redirects to this server, and redirects it to the
// settings with the result.
func (s *Server) toolConnected(w http.ResponseWriter, r *http.Request) error {
	serverID, err := pathID(r)
	if err != nil {
		return err
	}
	query, outcome := r.URL.Query(), url.Values{"result": {"connected"}}
	back := toolserver.Callback{
		ServerID: serverID, State: query.Get("state"), Code: query.Get("code"), Error: query.Get("error"),
		Issuer: query.Get("iss"),
	}
	if found, err := r.Cookie(s.cookie(toolCookie, 0).Name); err == nil {
		back.Browser = found.Value
	}
	if err := s.Tools.FinishConnection(r.Context(), back); err != nil {
		outcome = url.Values{"error": {s.problem(r, err).Code}} // Logs internal errors.
	}
	http.SetCookie(w, s.cookie(toolCookie, -1)) //nolint:gosec // Secure wherever there is TLS.
	return toPage(w, toolSettingPage, outcome)
}

package toolserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// Of returns the tools with these names that the person may use in their answers, in the order of the names' servers.
// It implements chat.Tools.
func (s *Service) Of(ctx context.Context, owner identity.Owner, names []string) ([]tool.Tool, error) {
	tools := slices.DeleteFunc(slices.Clone(s.cfg.BuiltIn), func(t tool.Tool) bool { return !slices.Contains(names, t.Name) })
	if !slices.ContainsFunc(names, tool.IsServerName) {
		return tools, nil
	}
	servers, err := s.store.PersonToolServers(ctx, owner)
	if err != nil {
		return nil, err
	}
	for _, server := range servers {
		for _, t := range server.Tools {
			if !slices.Contains(names, t.Name) || !t.Usable() {
				continue
			}
			tools = append(tools, tool.Tool{
				Name: t.Name, Title: server.Name + "：" + t.Title(), Description: t.Accepted.Description,
				Parameters: t.Accepted.Schema, Rule: t.Rule, Effects: !t.ReadOnly, Idempotent: t.Idempotent || t.ReadOnly,
				Version: server.Settings() + " " + t.Accepted.Digest(),
				Check: func(arguments json.RawMessage) error {
					_, err := checkArguments(t.Accepted.Schema, arguments)
					return err
				},
				Call: func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
					return s.call(ctx, owner, server, t, sdk.CallToolParams{Arguments: arguments})
				},
				Resume: func(
					ctx context.Context, arguments json.RawMessage, request tool.InputRequest, response tool.InputResponse,
				) (tool.Result, error) {
					return s.call(ctx, owner, server, t, sdk.CallToolParams{
						Arguments: arguments, InputResponses: inputResponses(request, response), RequestState: request.State,
					})
				},
			})
		}
	}
	return tools, nil
}

// call makes one round of a call on behalf of a person. It sends at most one request for it. A request that the server
// refused with 401 does not count, because the server has not run it. params.Arguments is a json.RawMessage.
func (s *Service) call(
	ctx context.Context, owner identity.Owner, server Server, t Tool, params sdk.CallToolParams,
) (_ tool.Result, err error) {
	params.Name = t.Remote
	arguments, _ := params.Arguments.(json.RawMessage)
	if params.Arguments, err = checkArguments(t.Accepted.Schema, arguments); err != nil {
		return tool.Result{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.CallTimeout, errSlow)
	defer cancel()
	if server, err = s.current(ctx, server); err != nil {
		return tool.Result{}, err
	}
	ctx, stop, err := s.whileCallable(ctx, owner, server.ID, t)
	if err != nil {
		return tool.Result{}, err
	}
	defer stop()
	result, err := s.exchange(ctx, owner, server, t, &params)
	if err != nil {
		return tool.Result{Untrusted: true}, named(server, s.refusal(ctx, owner, server, err))
	}
	return result, nil
}

// current returns the stored state of a server. The error is tool.ErrWithdrawn if an administrator has removed the
// server or changed its address or authentication since it was read, because a call waits for an approval for up to a
// day.
func (s *Service) current(ctx context.Context, server Server) (Server, error) {
	stored, err := s.store.ToolServer(ctx, server.OrganizationID, server.ID)
	if errors.Is(err, ErrNoServer) || err == nil && stored.Settings() != server.Settings() {
		err = tool.ErrWithdrawn
	}
	return stored, err
}

// named returns an error with the name of the server before its text. Errors about the tool itself are not changed.
func named(server Server, err error) error {
	known, ok := errors.AsType[*fault.Error](err)
	if !ok || known == tool.ErrWithdrawn || known.Code == codeInput || known.Code == codeToolError {
		return err
	}
	return fault.Wrap(err, known.Code, "サーバー「%s」：%s", server.Name, known.Detail)
}

// exchange connects to the server and makes the call.
func (s *Service) exchange(
	ctx context.Context, owner identity.Owner, server Server, t Tool, params *sdk.CallToolParams,
) (tool.Result, error) {
	connected, err := s.connect(ctx, owner, server)
	if err != nil {
		return tool.Result{}, err
	}
	defer s.close(connected)
	if err := s.recheck(ctx, connected, server, t); err != nil {
		return tool.Result{}, err
	}
	result, err := connected.CallTool(ctx, params)
	if err != nil {
		return tool.Result{}, connected.exchange.explain(ctx, err)
	}
	if result.NeedsInput() {
		request, err := newInputRequest(server.Name, result, connected.exchange.fieldOrders())
		return tool.Result{Input: request, Untrusted: true}, err
	}
	return newResult(result)
}

// connect begins an exchange with the server on behalf of a person.
func (s *Service) connect(ctx context.Context, owner identity.Owner, server Server) (*session, error) {
	header, oauth, err := s.credentials(ctx, owner, server)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	return s.client.connect(ctx, server.URL, header, oauth)
}

// credentials returns the header that signs the organization in at a server, or the token of a person. The exchange
// refreshes the token once if the server refuses it with 401, for example at a call: it may have been revoked, or the
// authorization server has not said when it expires.
func (s *Service) credentials(ctx context.Context, owner identity.Owner, server Server) (http.Header, *signIn, error) {
	switch server.Auth {
	case AuthHeader:
		secrets, err := s.store.ToolSecrets(ctx, server)
		return http.Header{http.CanonicalHeaderKey(server.HeaderName): {secrets.Secret}}, nil, err
	case AuthOAuth:
		token, err := s.accessToken(ctx, owner, server)
		return nil, &signIn{token: token, renew: func(ctx context.Context) (string, error) {
			if _, err := s.current(ctx, server); err != nil {
				return "", err
			}
			return s.refresh(ctx, owner, server, token)
		}}, err
	}
	return nil, nil, nil
}

// close ends a session in the background, because a server may be slow to confirm it.
func (s *Service) close(connected *session) {
	s.group.Go(func(context.Context) { _ = connected.Close() })
}

// recheck reads the definitions of a server again if they were last read long ago, and refuses a tool that has changed.
// It also reads them if the SDK needs the definition, to send arguments as headers.
func (s *Service) recheck(ctx context.Context, connected *session, server Server, t Tool) error {
	fresh := server.CheckedAt != nil && server.ReadAt.Sub(*server.CheckedAt) < recheckAfter && server.Failure == ""
	if fresh && !bytes.Contains(t.Accepted.Schema, []byte(`"x-mcp-header"`)) {
		return nil
	}
	found, err := connected.read(ctx)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout.Store)
	defer cancel()
	err = s.store.SaveDiscovery(within, server.OrganizationID, server.ID,
		Discovery{At: server.ReadAt, URL: server.URL, Tools: found, Partial: server.Auth == AuthOAuth})
	if errors.Is(err, ErrMoved) {
		return tool.ErrWithdrawn
	}
	if err != nil {
		return err
	}
	i := slices.IndexFunc(found, func(f Tool) bool { return f.Remote == t.Remote })
	if i < 0 || found[i].Refused != "" || !server.accepted(t, found[i].Accepted) {
		return tool.ErrWithdrawn
	}
	return nil
}

// whileCallable returns a context that ends when the tool is withdrawn, with tool.ErrWithdrawn as the cause. The caller
// must call stop. If the tool is withdrawn already, the error is tool.ErrWithdrawn.
func (s *Service) whileCallable(ctx context.Context, owner identity.Owner, serverID uuid.UUID, t Tool) (
	_ context.Context, stop func(), err error,
) {
	digest := t.Accepted.Digest()
	check := func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, timeout.Store)
		defer cancel()
		callable, err := s.store.ToolCallable(ctx, owner, serverID, t.Name, digest)
		if err == nil && !callable {
			err = tool.ErrWithdrawn
		}
		return err
	}
	if err := check(ctx); err != nil {
		return ctx, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.group.Go(func(root context.Context) {
		for ctx.Err() == nil && root.Err() == nil {
			work.Sleep(ctx, s.cfg.Watch)
			if errors.Is(check(ctx), tool.ErrWithdrawn) { // While the database is unavailable, the call continues.
				cancel(tool.ErrWithdrawn)
			}
		}
	})
	return ctx, func() { cancel(context.Canceled) }, nil
}

// checkArguments returns arguments that match a schema. The text of an error is for the model, which corrects them.
func checkArguments(schema, arguments json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage(`{}`)
	}
	var values map[string]any
	if err := json.Unmarshal(arguments, &values); err != nil || values == nil {
		return nil, fault.Wrap(err, fault.Invalid, "引数はJSONのオブジェクトで指定してください。")
	}
	resolved, err := checkSchema(schema)
	if err != nil {
		return nil, fault.Wrap(err, fault.Conflict, "%s", err.Error())
	}
	if err := resolved.Validate(values); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "引数がツールの定義に合いません。%s", runes.OneLine(mismatch(err), maxTold))
	}
	return arguments, nil
}

var (
	// The last place in the schema, and the rest, of an error of the jsonschema package.
	schemaErrorForm = regexp.MustCompile(`(?s)^(?:validating (\S+): )+(.*)$`)
	propertyForm    = regexp.MustCompile(`/properties/([^/:\s]+)`)
)

// mismatch returns the reason in an error of the jsonschema package after the name of the argument.
func mismatch(err error) string {
	form := schemaErrorForm.FindStringSubmatch(err.Error())
	if form == nil {
		return err.Error()
	}
	var names []string
	for _, name := range propertyForm.FindAllStringSubmatch(form[1], -1) {
		names = append(names, name[1])
	}
	if names == nil { // All arguments together, for example without a required one.
		return form[2]
	}
	return "「" + strings.Join(names, ".") + "」：" + form[2]
}

// codeToolError is the code of an error that the tool has reported.
const codeToolError fault.Code = "tool_error"

// newResult returns the result of a call. Its texts were written by others.
func newResult(result *sdk.CallToolResult) (tool.Result, error) {
	var parts []string
	hasJSON := false
	for _, content := range result.Content {
		text := contentText(content)
		hasJSON = hasJSON || json.Valid([]byte(text))
		if text != "" {
			parts = append(parts, text)
		}
	}
	if result.StructuredContent != nil && !hasJSON { // Many servers repeat it as a text.
		if encoded, err := json.Marshal(result.StructuredContent); err == nil {
			parts = append(parts, string(encoded))
		}
	}
	text := strings.ToValidUTF8(strings.Join(parts, "\n\n"), "\uFFFD")
	if result.IsError {
		return tool.Result{}, fault.Errorf(codeToolError, "ツールがエラーを返しました。（ツールの文:「%s」）",
			runes.OneLine(text, maxTold))
	}
	if text == "" {
		text = "（結果は空でした）"
	}
	return tool.Result{Text: text, Untrusted: true}, nil
}

// contentText returns a part of a result as text. Contents that are not text are named.
func contentText(content sdk.Content) string {
	switch content := content.(type) {
	case *sdk.TextContent:
		return content.Text
	case *sdk.ImageContent:
		return mediaText("画像", content.MIMEType, len(content.Data))
	case *sdk.AudioContent:
		return mediaText("音声", content.MIMEType, len(content.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("［リンク：%s %s］", runes.OneLine(content.Name, maxTitle), runes.OneLine(content.URI, maxURL))
	case *sdk.EmbeddedResource:
		if content.Resource == nil {
			return ""
		}
		if content.Resource.Text != "" {
			return content.Resource.Text
		}
		return mediaText("ファイル", content.Resource.MIMEType, len(content.Resource.Blob))
	}
	return "［対応していない種類の内容］"
}

func mediaText(kind, mediaType string, size int) string {
	return fmt.Sprintf("［%s（%s、%d KB）：表示していません］", kind, runes.OneLine(mediaType, maxTitle), (size+1023)>>10)
}

// Discover reads the tools of a server with the credentials of the actor, and stores them. A failure is part of the
// returned server.
func (s *Service) Discover(ctx context.Context, actor identity.Actor, id uuid.UUID) (Server, error) {
	if err := actor.RequireSuperAdmin(); err != nil {
		return Server{}, err
	}
	server, err := s.store.ToolServer(ctx, actor.OrganizationID, id)
	if err != nil {
		return Server{}, err
	}
	found := Discovery{At: server.ReadAt, URL: server.URL}
	if found.Tools, err = s.readTools(ctx, actor.Owner(), server); err != nil {
		if found.Failure = fault.DetailOf(err); found.Failure == "" {
			return Server{}, err
		}
	}
	if err := s.store.SaveDiscovery(ctx, actor.OrganizationID, id, found); err != nil {
		return Server{}, err
	}
	return s.store.ToolServer(ctx, actor.OrganizationID, id)
}

// readTools reads the tools of a server within discoveryTimeout.
func (s *Service) readTools(ctx context.Context, owner identity.Owner, server Server) ([]Tool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, discoveryTimeout, errSlow)
	defer cancel()
	connected, err := s.connect(ctx, owner, server)
	if err != nil {
		return nil, s.refusal(ctx, owner, server, err)
	}
	defer s.close(connected)
	return connected.read(ctx)
}

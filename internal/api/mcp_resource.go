package api

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// The URIs of resources, followed by an id.
const (
	documentURI = "tsumugi://document/"
	threadURI   = "tsumugi://thread/"
)

const (
	resourcePage   = 50        // Resources in a page of the list.
	maxFrom        = 1_000_000 // Above the number of passages of any file.
	readPassages   = 200       // Passages that one read examines.
	readBytes      = 64 << 10  // Bytes of a document's text that one read returns.
	threadMessages = 100       // Messages of a thread that one read returns.
)

func (s *Server) addResources(server *sdk.Server) {
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			list, ok := req.(*sdk.ListResourcesRequest)
			if !ok {
				return next(ctx, method, req)
			}
			c, cursor := mcpCall(ctx), ""
			if list.Params != nil {
				cursor = list.Params.Cursor
			}
			page, next, err := s.listResources(c, cursor)
			if err != nil {
				return nil, s.messageError(c, err)
			}
			return &sdk.ListResourcesResult{
				Resources: page, NextCursor: next, Cacheable: sdk.Cacheable{CacheScope: "private"},
			}, nil
		}
	})
	read := func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		c := mcpCall(ctx)
		text, err := s.readResource(c, req.Params.URI)
		s.log.InfoContext(ctx, "mcp: resource read", "code", fault.CodeOf(err))
		switch {
		case fault.CodeOf(err) == fault.NotFound:
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		case err != nil:
			return nil, s.messageError(c, err)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{Text: text}}}, nil
	}
	server.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "document", Title: "ファイル", URITemplate: documentURI + "{id}{?from}", MIMEType: "text/plain",
		Description: "利用者のファイル、または利用者が読めるプロジェクトのファイルの本文。長いファイルは分けて返し、続きの URI を末尾に示します。",
	}, read)
	server.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "thread", Title: "チャット", URITemplate: threadURI + "{id}", MIMEType: "text/markdown",
		Description: "利用者のチャットの、最後に表示していた質問と回答。",
	}, read)
}

// messageError returns an error as that of a message. Its text is for people.
func (s *Server) messageError(c *call, err error) error {
	code := int64(jsonrpc.CodeInternalError)
	if fault.CodeOf(err) == fault.Invalid {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: s.explain(c, err)}
}

// listResources returns a page of the actor's documents and, after them, of the threads. The cursor, and that of the
// next page, is a list with an offset, such as documents:50; "" is the first page, or none.
func (s *Server) listResources(c *call, cursor string) (page []*sdk.Resource, next string, err error) {
	defer protect(&err)
	list, digits, _ := strings.Cut(cmp.Or(cursor, "documents:0"), ":")
	offset, err := strconv.Atoi(digits)
	if err != nil || offset < 0 || list != "documents" && list != "threads" {
		return nil, "", fault.InvalidField("cursor", "cursor が正しくありません。")
	}
	page = []*sdk.Resource{}
	if list == "documents" && c.actor.HasScope(identity.ScopeDocuments) {
		sources, err := s.Sources.List(c.ctx(), c.actor.Owner(), "", offset, resourcePage)
		for _, source := range sources {
			page = append(page, &sdk.Resource{
				URI: documentURI + source.ID.String(), Name: source.Filename, MIMEType: "text/plain", Description: "ファイル",
			})
		}
		if err != nil || len(page) == resourcePage {
			return page, fmt.Sprintf("documents:%d", offset+resourcePage), err
		}
		offset = 0
	}
	if !c.actor.HasScope(identity.ScopeChat) {
		return page, "", nil
	}
	room := resourcePage - len(page)
	threads, err := s.Chat.ListThreads(c.ctx(), c.actor.Owner(), chat.ThreadFilter{}, offset, room)
	for _, t := range threads {
		page = append(page, &sdk.Resource{
			URI: threadURI + t.ID.String(), Name: cmp.Or(t.Title, "新しいチャット"), MIMEType: "text/markdown",
			Description: "チャット（" + t.SkillName + "）",
		})
	}
	if len(threads) == room {
		next = fmt.Sprintf("threads:%d", offset+room)
	}
	return page, next, err
}

var errNoResource = fault.Errorf(fault.NotFound, "リソースが見つかりません。")

// readResource returns the text of a resource.
func (s *Server) readResource(c *call, uri string) (text string, err error) {
	defer protect(&err)
	u, err := url.Parse(uri)
	if err != nil {
		return "", errNoResource
	}
	id, err := uuid.Parse(strings.TrimPrefix(u.Path, "/"))
	if err != nil {
		return "", errNoResource
	}
	switch scheme := u.Scheme + "://" + u.Host + "/"; {
	case scheme == documentURI && c.actor.HasScope(identity.ScopeDocuments):
		from, err := strconv.Atoi("0" + u.Query().Get("from"))
		if err != nil || from > maxFrom {
			return "", errNoResource
		}
		return s.documentText(c, id, from)
	case scheme == threadURI && c.actor.HasScope(identity.ScopeChat):
		return s.threadText(c, id)
	}
	return "", errNoResource
}

// threadText returns a thread as Markdown.
func (s *Server) threadText(c *call, id uuid.UUID) (string, error) {
	thread, err := s.Chat.FindThread(c.ctx(), c.actor.Owner(), id)
	if err != nil {
		return "", err
	}
	branch, err := s.Chat.ListMessages(c.ctx(), c.actor.Owner(), id, nil, 0, threadMessages)
	slices.Reverse(branch)
	return shorten(threadMarkdown(thread, branch)), err
}

// documentText returns a part of the text of a file, from a passage on, and the URI of the next part.
func (s *Server) documentText(c *call, id uuid.UUID, from int) (string, error) {
	source, err := s.Sources.Find(c.ctx(), c.actor.Owner(), id)
	switch {
	case err != nil:
		return "", err
	case source.Status == datasource.Failed:
		return "", fault.Errorf(fault.Conflict, "このファイルは読み取れませんでした。%s", source.Failure)
	case source.Status != datasource.Success:
		return "", fault.Errorf(fault.Conflict, "このファイルはまだ読み取り中です。少し時間をおいて、もう一度お試しください。")
	}
	passages, err := s.Sources.Passages(c.ctx(), c.actor.Owner(), id, 1, from, readPassages)
	var text strings.Builder
	page := 0
	for i, p := range passages {
		if i > 0 && text.Len()+len(p.Text) > readBytes {
			passages = passages[:i]
			break
		}
		if p.Page != page && source.PageCount > 1 {
			fmt.Fprintf(&text, "【%dページ】\n\n", p.Page)
		}
		page = p.Page
		text.WriteString(p.Text + "\n\n")
	}
	if next := from + len(passages); len(passages) > 0 && next < source.ChunkCount {
		fmt.Fprintf(&text, "（続き：%s%s?from=%d）\n", documentURI, id, next)
	}
	return text.String(), err
}

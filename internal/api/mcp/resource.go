package mcp

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

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
	listPage     = 50        // Resources in a page of the list.
	maxFrom      = 1_000_000 // Above the number of passages of any file.
	readPassages = 200       // Passages that one read examines.
	readBytes    = 64 << 10  // Bytes of a document's text that one read returns.
)

func (h *Handler) addResources(server *sdk.Server) {
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if list, ok := req.(*sdk.ListResourcesRequest); ok && method == methodListResources {
				return h.listResources(ctx, list)
			}
			return next(ctx, method, req)
		}
	})
	server.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "document", Title: "ファイル", URITemplate: documentURI + "{id}{?from}", MIMEType: "text/plain",
		Description: "利用者のファイル、または利用者が読めるプロジェクトのファイルの本文。長いファイルは分けて返し、続きの URI を末尾に示します。",
	}, h.read)
	server.AddResourceTemplate(&sdk.ResourceTemplate{
		Name: "thread", Title: "チャット", URITemplate: threadURI + "{id}", MIMEType: "text/markdown",
		Description: "利用者のチャットの、最後に表示していた質問と回答。",
	}, h.read)
}

// cursor is a position in the list of resources: documents, then threads.
type cursor struct {
	threads bool
	offset  int
}

// encode returns the form of a cursor for clients.
func (c cursor) encode() string {
	if c.threads {
		return fmt.Sprintf("threads:%d", c.offset)
	}
	return fmt.Sprintf("documents:%d", c.offset)
}

func parseCursor(text string) (c cursor, ok bool) {
	if text == "" {
		return c, true
	}
	kind, offset, _ := strings.Cut(text, ":")
	c.threads = kind == "threads"
	var err error
	c.offset, err = strconv.Atoi(offset)
	return c, err == nil && c.offset >= 0 && c.encode() == text
}

// listResources returns a page of the actor's documents and threads.
func (h *Handler) listResources(ctx context.Context, req *sdk.ListResourcesRequest) (sdk.Result, error) {
	ctx, c, end := begin(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, h.cfg.CallTimeout)
	defer cancel()
	var text string
	if req.Params != nil {
		text = req.Params.Cursor
	}
	at, ok := parseCursor(text)
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "cursor が正しくありません。"}
	}
	resources, next, err := c.list(ctx, at)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: c.Explain(err)}
	}
	result := &sdk.ListResourcesResult{Resources: resources, Cacheable: sdk.Cacheable{CacheScope: "private"}}
	if next != nil {
		result.NextCursor = next.encode()
	}
	return result, nil
}

// list returns a page of the list of resources, and the cursor of the next page or nil.
func (c call) list(ctx context.Context, at cursor) (resources []*sdk.Resource, next *cursor, err error) {
	defer protect(&err)
	resources = []*sdk.Resource{}
	if !at.threads && c.HasScope(identity.ScopeDocuments) {
		sources, err := c.Documents(ctx, at.offset, listPage)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range sources {
			resources = append(resources, &sdk.Resource{
				URI: documentURI + s.ID.String(), Name: s.Filename, MIMEType: "text/plain", Description: "ファイル",
			})
		}
		if len(sources) == listPage {
			return resources, &cursor{offset: at.offset + listPage}, nil
		}
		at = cursor{threads: true}
		if len(resources) > 0 && c.HasScope(identity.ScopeChat) {
			return resources, &at, nil
		}
	}
	if !c.HasScope(identity.ScopeChat) {
		return resources, nil, nil
	}
	threads, err := c.Threads(ctx, at.offset, listPage)
	for _, t := range threads {
		resources = append(resources, &sdk.Resource{
			URI: threadURI + t.ID.String(), Name: cmp.Or(t.Title, "新しいチャット"), MIMEType: "text/markdown",
			Description: "チャット（" + t.SkillName + "）",
		})
	}
	if len(threads) == listPage {
		next = &cursor{threads: true, offset: at.offset + listPage}
	}
	return resources, next, err
}

// read returns the text of a resource.
func (h *Handler) read(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	ctx, c, end := begin(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, h.cfg.CallTimeout)
	defer cancel()
	text, err := c.read(ctx, req.Params.URI)
	h.cfg.Log.InfoContext(ctx, "mcp: resource read", "code", codeOf(err))
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return nil, sdk.ResourceNotFoundError(req.Params.URI)
	case err != nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: c.Explain(err)}
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{Text: text}}}, nil
}

var errNoResource = fault.Errorf(fault.NotFound, "リソースが見つかりません。")

func (c call) read(ctx context.Context, uri string) (text string, err error) {
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
	case scheme == documentURI && c.HasScope(identity.ScopeDocuments):
		from, err := strconv.Atoi("0" + u.Query().Get("from"))
		if err != nil || from > maxFrom {
			return "", errNoResource
		}
		return c.readDocument(ctx, id, from)
	case scheme == threadURI && c.HasScope(identity.ScopeChat):
		text, err := c.Thread(ctx, id)
		return shorten(text), err
	}
	return "", errNoResource
}

// readDocument returns a part of the text of a file, from a passage on, and the URI of the next part.
func (c call) readDocument(ctx context.Context, id uuid.UUID, from int) (string, error) {
	source, passages, err := c.Passages(ctx, id, from, readPassages)
	if err != nil {
		return "", err
	}
	if source.Status != datasource.Success {
		return "", fault.Errorf(fault.Conflict, "%s", unread(source))
	}
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
		fmt.Fprintf(&text, "（続き: %s%s?from=%d）\n", documentURI, id, next)
	}
	return text.String(), nil
}

// unread returns the reason why a file has no text.
func unread(source datasource.Source) string {
	if source.Status == datasource.Failed {
		return "このファイルは読み取れませんでした。" + source.Failure
	}
	return "このファイルはまだ読み取り中です。少し時間をおいて、もう一度お試しください。"
}

// place returns the place of a passage for people.
func place(p datasource.Passage) string {
	if p.Locator != "" {
		return p.Locator
	}
	return fmt.Sprintf("%dページ", p.Page)
}

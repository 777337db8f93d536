package scim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

const (
	maxBody        = 8 << 20 // Bytes. A group with 20,000 members has 2 MB.
	maxResults     = 200     // Resources on a page.
	defaultResults = 100
	recordTimeout  = 3 * time.Second // For recording a call after its response is known.
	maxPath        = 300             // Bytes of the path of a recorded call.
)

// HandlerConfig connects a Handler to the server.
type HandlerConfig struct {
	// Origin returns the origin of a request, for the audit log.
	Origin func(*http.Request) (address netip.Addr, requestID string)

	// Admit counts a call of a client. It returns an error with the code fault.RateLimited if there are too many.
	Admit func(Client) error
}

// Handler serves the calls of identity providers below Path.
type Handler struct {
	service *Service
	cfg     HandlerConfig
}

// NewHandler returns a Handler.
func NewHandler(service *Service, cfg HandlerConfig) *Handler { return &Handler{service, cfg} }

// response is the response to a call.
type response struct {
	status int
	body   any    // Nil for none.
	tag    string // Entity tag, or "".
	at     string // URL of the resource, or "".
	target string // The name of the resource, for the list of calls.
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client, err := h.service.authenticate(r.Context(), r.Header.Get("Authorization"))
	if err != nil {
		h.write(w, r, h.failure(r, err))
		return
	}
	client.Address, client.RequestID = h.cfg.Origin(r)
	var result response
	if err = h.cfg.Admit(client); err == nil {
		result, err = h.service.route(w, r, client)
	}
	if err != nil {
		result = h.failure(r, err)
	}
	h.record(r, client, result, err)
	h.write(w, r, result)
}

// record records a call. A failure does not affect the response.
func (h *Handler) record(r *http.Request, client Client, result response, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), recordTimeout)
	defer cancel()
	call := Call{
		OrganizationID: client.OrganizationID, TokenName: client.TokenName, Method: r.Method,
		Path: shorten(relativePath(r)), Target: shown(result.target), Status: result.status,
	}
	if problem, ok := result.body.(scimError); ok {
		call.Code, call.Detail = fault.CodeOf(err), problem.Detail
	}
	if r.URL.RawQuery != "" {
		call.Path = shorten(call.Path + "?" + r.URL.RawQuery)
	}
	if err := h.service.store.RecordSCIMCall(ctx, call); err != nil {
		h.service.log.WarnContext(ctx, "scim: call not recorded", "err", err)
	}
}

func shorten(path string) string { return strings.ToValidUTF8(path[:min(len(path), maxPath)], "") }

// scimError is the body of a refused call (RFC 7644, section 3.12).
type scimError struct {
	Schemas []string `json:"schemas"`
	Status  string   `json:"status"`
	Type    string   `json:"scimType,omitempty"` //nolint:tagliatelle // The name in the RFC.
	Detail  string   `json:"detail"`
}

// statuses are the statuses of codes. A missing code is internal.
var statuses = map[fault.Code]int{
	InvalidFilter: http.StatusBadRequest, TooMany: http.StatusBadRequest, Uniqueness: http.StatusConflict,
	Mutability: http.StatusBadRequest, InvalidSyntax: http.StatusBadRequest, InvalidPath: http.StatusBadRequest,
	NoTarget: http.StatusBadRequest, InvalidValue: http.StatusBadRequest, codeVersion: http.StatusPreconditionFailed,
	fault.Invalid: http.StatusBadRequest, fault.Unauthenticated: http.StatusUnauthorized,
	fault.Forbidden: http.StatusForbidden, fault.NoSeat: http.StatusForbidden, fault.NotFound: http.StatusNotFound,
	fault.Conflict: http.StatusConflict, fault.TooLarge: http.StatusRequestEntityTooLarge,
	fault.RateLimited: http.StatusTooManyRequests, fault.Unavailable: http.StatusServiceUnavailable,
	fault.Canceled: http.StatusServiceUnavailable, codeMethod: http.StatusMethodNotAllowed,
	codeUnsupported: http.StatusNotImplemented,
}

const (
	codeMethod      fault.Code = "method"
	codeUnsupported fault.Code = "unsupported"
)

// types are the codes that are values of scimType.
var types = []fault.Code{
	InvalidFilter, TooMany, Uniqueness, Mutability, InvalidSyntax, InvalidPath, NoTarget, InvalidValue,
}

// failure returns the response for an error. Internal errors are logged and not shown.
func (h *Handler) failure(r *http.Request, err error) response {
	code := fault.CodeOf(err)
	if errors.Is(err, context.DeadlineExceeded) && code == fault.Internal {
		code, err = fault.Unavailable, fault.Wrap(err, fault.Unavailable,
			"ただいま混み合っています。少し時間をおいて、もう一度お試しください。")
	}
	status, known := statuses[code]
	detail := fault.DetailOf(err)
	if !known {
		h.service.log.ErrorContext(r.Context(), "scim: call failed", "err", err)
		status, detail = http.StatusInternalServerError, "サーバーで問題が発生しました。時間をおいて、もう一度お試しください。"
	}
	problem := scimError{Schemas: []string{urnError}, Status: strconv.Itoa(status), Detail: detail}
	switch {
	case slices.Contains(types, code):
		problem.Type = string(code)
	case code == fault.Invalid:
		problem.Type = string(InvalidValue)
	}
	return response{status: status, body: problem}
}

// write writes a response.
func (h *Handler) write(w http.ResponseWriter, r *http.Request, result response) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	switch result.status {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		header.Set("Retry-After", "10")
	}
	if result.tag != "" {
		header.Set("ETag", result.tag)
		if none := r.Header.Get("If-None-Match"); r.Method == http.MethodGet && none != "" && matchesTag(none, result.tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if result.status == http.StatusCreated {
		header.Set("Location", result.at)
	}
	if result.body == nil {
		w.WriteHeader(result.status)
		return
	}
	header.Set("Content-Type", "application/scim+json; charset=utf-8")
	w.WriteHeader(result.status)
	_ = json.NewEncoder(w).Encode(result.body) // The client may have disconnected.
}

// relativePath returns the path of a request below Path.
func relativePath(r *http.Request) string { return strings.TrimPrefix(r.URL.Path, Path) }

// route handles an authenticated call.
func (s *Service) route(w http.ResponseWriter, r *http.Request, client Client) (response, error) {
	kind, rest, _ := strings.Cut(strings.Trim(relativePath(r), "/"), "/")
	switch strings.ToLower(kind) {
	case "users":
		return serve(w, r, client, rest, users{s}, http.StatusOK)
	case "groups": // They may be too large to be returned after each PATCH.
		return serve(w, r, client, rest, groups{s}, http.StatusNoContent)
	case "serviceproviderconfig", "schemas", "resourcetypes":
		return s.describe(r, kind, rest)
	case "bulk", "me", ".search":
		return response{}, fault.Errorf(codeUnsupported, "この機能には対応していません。")
	}
	return response{}, errNotFound
}

var errNotFound = fault.Errorf(fault.NotFound, "指定された項目が見つかりません。")

func errMethod() error {
	return fault.Errorf(codeMethod, "この操作には対応していません。")
}

// resources are the operations on the resources of a type. ifMatch is the header If-Match.
type resources interface {
	list(ctx context.Context, client Client, query listQuery) (page []map[string]any, total int, err error)
	add(ctx context.Context, client Client, raw map[string]any) (map[string]any, error)
	get(ctx context.Context, client Client, id uuid.UUID) (map[string]any, error)
	replace(ctx context.Context, client Client, id uuid.UUID, ifMatch string, raw map[string]any) (map[string]any, error)
	patch(ctx context.Context, client Client, id uuid.UUID, ifMatch string, operations []operation) (map[string]any, error)
	remove(ctx context.Context, client Client, id uuid.UUID, ifMatch string) error
}

// serve handles a call for the resources of a type. rest is the id, or "" for all. patched is the status after a PATCH.
func serve(w http.ResponseWriter, r *http.Request, client Client, rest string, of resources, patched int) (response,
	error,
) {
	ctx, ifMatch := r.Context(), r.Header.Get("If-Match")
	query, err := parseQuery(r)
	if err != nil {
		return response{}, err
	}
	if rest == "" {
		switch r.Method {
		case http.MethodGet:
			page, total, err := of.list(ctx, client, query)
			return query.page(page, total), err
		case http.MethodPost:
			raw, err := decode[map[string]any](w, r)
			if err != nil {
				return response{}, err
			}
			resource, err := of.add(ctx, client, raw)
			return query.one(http.StatusCreated, resource), err
		}
		return response{}, errMethod()
	}
	id, err := uuid.Parse(rest)
	if err != nil || len(rest) != 36 {
		return response{}, errNotFound
	}
	switch r.Method {
	case http.MethodGet:
		resource, err := of.get(ctx, client, id)
		return query.one(http.StatusOK, resource), err
	case http.MethodPut:
		raw, err := decode[map[string]any](w, r)
		if err != nil {
			return response{}, err
		}
		resource, err := of.replace(ctx, client, id, ifMatch, raw)
		return query.one(http.StatusOK, resource), err
	case http.MethodPatch:
		request, err := decode[patchRequest](w, r)
		if err != nil {
			return response{}, err
		}
		operations, err := request.check()
		if err != nil {
			return response{}, err
		}
		resource, err := of.patch(ctx, client, id, ifMatch, operations)
		return query.one(patched, resource), err
	case http.MethodDelete:
		return response{status: http.StatusNoContent}, of.remove(ctx, client, id, ifMatch)
	}
	return response{}, errMethod()
}

// describe handles a call for the description of the service.
func (s *Service) describe(r *http.Request, kind, rest string) (response, error) {
	if r.Method != http.MethodGet {
		return response{}, errMethod()
	}
	var all []map[string]any
	switch strings.ToLower(kind) {
	case "serviceproviderconfig":
		if rest != "" {
			return response{}, errNotFound
		}
		return response{status: http.StatusOK, body: serviceConfig(s.baseURL)}, nil
	case "schemas":
		for _, schema := range []schema{userSchema, groupSchema, enterpriseSchema} {
			all = append(all, schema.describe(s.baseURL))
		}
	default:
		for _, t := range []resourceType{userType, groupType} {
			all = append(all, t.describe(s.baseURL))
		}
	}
	if rest == "" {
		return listQuery{count: len(all)}.page(all, len(all)), nil
	}
	for _, record := range all {
		if record["id"] == rest {
			return response{status: http.StatusOK, body: record}, nil
		}
	}
	return response{}, errNotFound
}

// listQuery are the parameters of a call.
type listQuery struct {
	filter        string
	offset, count int
	only, without [][]string // Paths of the attributes to return, and not to return.
}

// filters reports whether the filter may contain an attribute, whose name is in lower case.
func (q listQuery) filters(name string) bool {
	return strings.Contains(strings.ToLower(q.filter), name)
}

// parseQuery returns the parameters of a call (RFC 7644, sections 3.4.2.4 and 3.4.2.5).
func parseQuery(r *http.Request) (listQuery, error) {
	values := r.URL.Query()
	number := func(name string, otherwise int) (int, error) {
		if !values.Has(name) {
			return otherwise, nil
		}
		n, err := strconv.Atoi(values.Get(name))
		if err != nil {
			return 0, fault.Errorf(InvalidValue, "%s には整数を指定してください。", name)
		}
		return n, nil
	}
	paths := func(name string) (paths [][]string) {
		separates := func(r rune) bool { return r == ',' || r == ' ' }
		for attribute := range strings.FieldsFuncSeq(strings.ToLower(values.Get(name)), separates) {
			paths = append(paths, attributePath(attribute))
		}
		return paths
	}
	start, err := number("startIndex", 1)
	if err != nil {
		return listQuery{}, err
	}
	count, err := number("count", defaultResults)
	return listQuery{
		filter: values.Get("filter"), offset: max(start, 1) - 1, count: min(max(count, 0), maxResults),
		only: paths("attributes"), without: paths("excludedAttributes"),
	}, err
}

// attributePath returns the path of an attribute in lower case (RFC 7644, section 3.10): the attribute, and the
// subattribute if it has one. The path of an attribute of an extension begins with the URN.
func attributePath(name string) []string {
	urn := strings.ToLower(urnEnterprise)
	if name == urn {
		return []string{urn}
	}
	colon := strings.LastIndexByte(name, ':')
	path := strings.Split(name[colon+1:], ".")
	if strings.HasPrefix(name, urn+":") {
		path = append([]string{urn}, path...)
	}
	return path
}

// part returns a value with only the attributes of the paths, or without them.
func part(value any, paths [][]string, only bool) any {
	switch v := value.(type) {
	case []any:
		parts := make([]any, len(v))
		for i, element := range v {
			parts[i] = part(element, paths, only)
		}
		return slices.DeleteFunc(parts, empty)
	case map[string]any:
		kept := make(map[string]any, len(v))
		for name, value := range v {
			whole, deeper := false, [][]string(nil)
			for _, path := range paths {
				if path[0] == strings.ToLower(name) {
					whole, deeper = whole || len(path) == 1, append(deeper, path[1:])
				}
			}
			if len(deeper) > 0 && !whole {
				set(kept, name, part(value, deeper, only))
			} else if whole == only {
				kept[name] = value
			}
		}
		return kept
	}
	return value
}

// selected returns a resource with the attributes to return.
func (q listQuery) selected(resource map[string]any) map[string]any {
	paths, only := q.without, len(q.only) > 0
	if only {
		paths = q.only
	}
	kept, _ := part(resource, paths, only).(map[string]any)
	kept["id"], kept["schemas"] = resource["id"], resource["schemas"]
	return kept
}

// shows reports whether an attribute is returned, at least in part.
func (q listQuery) shows(name string) bool {
	return q.selected(map[string]any{name: true})[name] != nil
}

// one returns the response with a resource.
func (q listQuery) one(status int, resource map[string]any) response {
	if resource == nil { // After an error.
		return response{}
	}
	meta, _ := resource["meta"].(map[string]any)
	tag, _ := meta["version"].(string)
	at, _ := meta["location"].(string)
	target, _ := resource["displayName"].(string)
	if name, ok := resource["userName"].(string); ok {
		target = name
	}
	result := response{status: status, tag: tag, at: at, target: target}
	if status != http.StatusNoContent {
		result.body = q.selected(resource)
	}
	return result
}

// page returns the response with a page of resources.
func (q listQuery) page(resources []map[string]any, total int) response {
	selected := make([]map[string]any, 0, len(resources))
	for _, resource := range resources {
		selected = append(selected, q.selected(resource))
	}
	return response{status: http.StatusOK, body: map[string]any{
		"schemas": []string{urnList}, "totalResults": total, "startIndex": q.offset + 1, "itemsPerPage": len(selected),
		"Resources": selected,
	}}
}

// decode returns the body of a request.
func decode[T any](w http.ResponseWriter, r *http.Request) (body T, err error) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(kind)) {
	case "application/scim+json", "application/json", "":
	default:
		return body, fault.Errorf(InvalidSyntax, "Content-Type に application/scim+json を指定してください。")
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	if err = decoder.Decode(&body); err == nil {
		if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more than one value")
		}
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return body, fault.Wrap(err, fault.TooLarge, "リクエストが大きすぎます（%dメガバイトまで）。", maxBody>>20)
	}
	if err != nil {
		return body, fault.Wrap(err, InvalidSyntax, "JSONの形式が正しくありません。")
	}
	return body, nil
}

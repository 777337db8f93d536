package llm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"

	openai "github.com/sashabaranov/go-openai"
)

// defaultAzureVersion is the API version for Azure if the base URL names none: the last stable dated one.
const defaultAzureVersion = "2024-10-21"

// endpoint is the destination of requests, parsed from Config.BaseURL.
type endpoint struct {
	baseURL    string
	azure      bool
	deployment string // Azure: overrides the model's name in the path; may be empty.
	apiVersion string // Azure only.
}

func parseEndpoint(raw string) (endpoint, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return endpoint{}, fmt.Errorf("llm: BaseURL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return endpoint{}, fmt.Errorf("llm: BaseURL %q must begin with http:// or https:// and name a host", raw)
	}
	if u.User != nil || u.Fragment != "" {
		return endpoint{}, errors.New("llm: BaseURL must not hold credentials or a fragment")
	}
	query := u.Query()
	e := endpoint{apiVersion: query.Get("api-version")}
	query.Del("api-version")
	if len(query) > 0 {
		return endpoint{}, fmt.Errorf("llm: BaseURL %q has a query other than api-version", raw)
	}
	u.RawQuery = ""
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions")
	e.azure = isAzure(u.Hostname(), path, e.apiVersion)
	switch {
	case e.azure:
		root, rest, _ := strings.Cut(path, "/openai")
		path = root
		e.deployment = strings.TrimPrefix(rest, "/deployments/")
		setDefault(&e.apiVersion, defaultAzureVersion)
	case e.apiVersion != "":
		return endpoint{}, fmt.Errorf("llm: BaseURL %q names an api-version but isn't Azure's", raw)
	case path == "":
		path = "/v1"
	}
	u.Path = path
	e.baseURL = u.String()
	return e, nil
}

// isAzure distinguishes Azure's own protocol (deployments, api-key, api-version) from its newer /openai/v1, which is
// OpenAI's. Gateways in front of Azure are recognized by the deployment in their path.
func isAzure(host, path, version string) bool {
	if strings.HasSuffix(path, "/v1") {
		return false
	}
	if strings.Contains(path, "/openai/deployments/") {
		return true
	}
	onAzure := strings.HasSuffix(host, ".azure.com") || strings.HasSuffix(host, ".azure.us") ||
		strings.HasSuffix(host, ".azure.cn")
	return onAzure || (version != "" && strings.HasSuffix(path, "/openai"))
}

// openaiConfig returns the endpoint's configuration for go-openai, which sends its requests through doer.
func (e endpoint) openaiConfig(apiKey string, doer openai.HTTPDoer) openai.ClientConfig {
	if !e.azure {
		cfg := openai.DefaultConfig(apiKey)
		cfg.BaseURL = e.baseURL
		cfg.HTTPClient = doer
		return cfg
	}
	cfg := openai.DefaultAzureConfig(apiKey, e.baseURL)
	cfg.APIVersion = e.apiVersion
	cfg.HTTPClient = doer
	cfg.AzureModelMapperFunc = func(model string) string {
		if e.deployment != "" {
			model = e.deployment
		}
		return url.PathEscape(model)
	}
	return cfg
}

// maxAdaptions bounds the number of adapted requests after refusals: one for each value of the fields of dialect.
const maxAdaptions = 9

// dialect records the optional fields that a model refuses with status 400. OpenAI's newer models and compatible
// servers differ in them.
type dialect struct {
	noUsage       bool // Refuses stream_options.
	swapMaxTokens bool // Requires the other field of max_tokens and max_completion_tokens.
	noSchema      bool // Refuses a schema of the answer.
	noJSON        bool // Refuses any response_format.
	noThinkingOn  bool // Refuses the fields that switch thinking on.
	noThinkingOff bool // Refuses the fields that switch thinking off.
	noTools       bool // Refuses tools.
	noParallel    bool // Refuses parallel_tool_calls.
	needReasoning bool // Demands the reasoning of earlier calls: DeepSeek.
}

// extra returns the fields for thinking that the model accepts.
func (d dialect) extra(req *Request) map[string]any {
	if on := req.Thinking != nil && *req.Thinking; on && d.noThinkingOn || !on && d.noThinkingOff {
		return nil
	}
	return req.extra
}

// dialectOf returns the dialect of a model. An exact request always sends its response format.
func (c *Client) dialectOf(model string, req *Request) dialect {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.dialects[model]
	if req.Exact {
		d.noSchema, d.noJSON, d.noTools, d.noParallel = false, false, false, false
	}
	return d
}

// refused reports whether a response refuses fields of the request.
func (e *statusError) refused() bool {
	return e.status == http.StatusBadRequest || e.status == http.StatusUnprocessableEntity
}

// unsupported returns the error of a refused request. For an exact request it names the refused parameter.
func unsupported(req *Request, e *statusError, err error) error {
	if !req.Exact || !e.refused() || fault.CodeOf(err) != CodeBadRequest {
		return err
	}
	for _, param := range []struct {
		given bool
		names []string // The first one is reported.
	}{
		{req.Temperature != nil, []string{"temperature"}},
		{req.TopP != nil, []string{"top_p"}},
		{len(req.Stop) > 0, []string{"stop"}},
		{req.Seed != nil, []string{"seed"}},
		{req.Schema != nil, []string{"response_format", "json_schema", "json_object"}},
		{req.MaxTokens > 0, []string{"max_tokens", "max_completion_tokens"}},
		{req.ParallelToolCalls != nil, []string{"parallel_tool_calls"}},
		{req.ToolChoice.Mode != "", []string{"tool_choice", "tool choice"}},
		{len(req.Tools) > 0, []string{"tools", "tool"}},
	} {
		if param.given && slices.ContainsFunc(param.names, e.mentions) {
			return fault.Wrap(err, CodeUnsupported+fault.Code(param.names[0]), detailUnsupported, param.names[0])
		}
	}
	return err
}

// adapt records a refusal and reports whether to retry with other fields.
func (c *Client) adapt(model string, req *Request, e *statusError) bool {
	if !e.refused() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.dialects[model]
	switch {
	case !d.noUsage && (e.mentions("stream_options") || e.mentions("include_usage")):
		d.noUsage = true
	case !d.swapMaxTokens && req.MaxTokens > 0 && (e.mentions("max_completion_tokens") ||
		(e.mentions("max_tokens") && wantsCompletionTokens(model))):
		d.swapMaxTokens = true
	case slices.ContainsFunc(slices.Collect(maps.Keys(d.extra(req))), e.mentions):
		if *req.Thinking {
			d.noThinkingOn = true
		} else {
			d.noThinkingOff = true
		}
	case req.Schema != nil && !d.noJSON && !req.Exact && (e.mentions("response_format") || e.mentions("json_schema") ||
		e.mentions("json_object")):
		d.noSchema, d.noJSON = true, d.noSchema
	case !d.needReasoning && hasCalls(req.Messages) && e.mentions("reasoning_content"):
		d.needReasoning = true
	case req.ParallelToolCalls != nil && !d.noParallel && !req.Exact && e.mentions("parallel_tool_calls"):
		d.noParallel = true
	case len(req.Tools) > 0 && !d.noTools && !req.Exact && e.refusesTools():
		d.noTools = true
	default:
		return false
	}
	c.dialects[model] = d
	return true
}

// refusesTools recognizes the errors of servers whose model cannot call tools: Ollama, vLLM without a parser, llama.cpp
// without a template, OpenRouter.
func (e *statusError) refusesTools() bool {
	return slices.ContainsFunc([]string{
		"does not support tools", "tool-call-parser", "tools param requires", "support tool use", "tool_choice",
		"support function calling",
	}, e.mentions)
}

// wantsCompletionTokens recognizes OpenAI's reasoning models, which refuse max_tokens. Other models receive max_tokens,
// which compatible servers support.
func wantsCompletionTokens(model string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, prefix) {
			return true
		}
	}
	return false
}

func buildRequest(model string, req *Request, d dialect) *openai.ChatCompletionRequest {
	out := &openai.ChatCompletionRequest{
		Model:    model,
		Messages: make([]openai.ChatCompletionMessage, len(req.Messages)),
		Stream:   true,
	}
	for i, m := range req.Messages {
		out.Messages[i] = buildMessage(m)
	}
	if !d.noUsage {
		out.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	out.ResponseFormat, out.Stop, out.Seed = responseFormat(req.Schema, d), req.Stop, req.Seed
	setTools(out, req.Params, d)
	if wantsCompletionTokens(model) != d.swapMaxTokens {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens //nolint:staticcheck // Deprecated by OpenAI only; the imitators know no other.
	}
	return out
}

// added returns the fields of a request that go-openai does not send. Temperature is one of them: go-openai omits 0,
// and refuses other values for models that it classifies as reasoning models by name.
func added(req *Request, d dialect) map[string]any {
	fields := make(map[string]any)
	maps.Copy(fields, d.extra(req))
	if req.Temperature != nil {
		fields["temperature"] = *req.Temperature
	}
	if req.TopP != nil {
		fields["top_p"] = *req.TopP
	}
	return fields
}

// responseFormat returns the response format for JSON, or nil for text.
func responseFormat(schema *Schema, d dialect) *openai.ChatCompletionResponseFormat {
	switch {
	case schema == nil, d.noJSON:
		return nil
	case d.noSchema, schema.JSON == nil:
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	return &openai.ChatCompletionResponseFormat{
		Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
			Name: schema.Name, Description: schema.Description, Schema: schema.JSON, Strict: schema.Strict,
		},
	}
}

// buildMessage embeds pictures in the message, because a provider could not fetch a URL of a server inside a company's
// network.
func buildMessage(m Message) openai.ChatCompletionMessage {
	if len(m.Pictures) == 0 {
		out := openai.ChatCompletionMessage{Role: string(m.Role), Content: m.Content}
		setCalls(&out, m)
		return out
	}
	parts := []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: m.Content}}
	for _, p := range m.Pictures {
		parts = append(parts, openai.ChatMessagePart{
			Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{
				URL: "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data),
			},
		})
	}
	return openai.ChatCompletionMessage{Role: string(m.Role), MultiContent: parts}
}

// capture sends one request for go-openai and stores the response, whose body the client reads.
type capture struct {
	client   *http.Client
	extra    map[string]any // Fields that are added to the body.
	response *http.Response
}

// Do implements openai.HTTPDoer. It returns a status other than 200 as *statusError with a bounded part of the body;
// go-openai would read all of it.
func (c *capture) Do(req *http.Request) (*http.Response, error) {
	if err := addFields(req, c.extra); err != nil {
		return nil, err
	}
	response, err := c.client.Do(req) //nolint:gosec // The operator names the host.
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		c.response = response
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody)) // Bytes read before an error are still useful.
	return nil, &statusError{
		status:     response.StatusCode,
		retryAfter: parseRetryAfter(response.Header, time.Now()),
		body:       bytes.TrimSpace(body),
	}
}

// addFields adds fields to the JSON body of a request and replaces those of the same names.
func addFields(req *http.Request, extra map[string]any) error {
	if len(extra) == 0 {
		return nil
	}
	fields := make(map[string]any)
	if err := json.NewDecoder(req.Body).Decode(&fields); err != nil {
		return err
	}
	maps.Copy(fields, extra)
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return nil
}

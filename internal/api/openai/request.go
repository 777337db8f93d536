package openai

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// MaxRequest bounds the body of a request, in bytes: a picture of 20 MiB takes 27 MiB in base64.
const MaxRequest = 32 << 20

// Bounds of a request.
const (
	maxMessages    = 1_000
	maxParts       = 1_000   // Parts of a message.
	maxMessageText = 1 << 20 // Total bytes of all messages, calls and results, without pictures.
	maxStops       = 4
	maxStop        = 500 // In characters.
	maxAnswer      = 10_000_000
	maxUser        = 512      // In characters.
	maxRaw         = 64 << 10 // In bytes of a JSON schema, or of a call's extra_content.
	maxRawDepth    = 64       // Nesting depth of these.
	maxSchemaNote  = 1_000    // In characters of a schema's description.
	maxMetadata    = 16
	maxMetaKey     = 64  // In characters.
	maxMetaValue   = 512 // In characters.
)

// Request is a request for an answer: a chat completion, or a response.
type Request struct {
	Model  string
	Turns  []Turn // Alternating questions and answers. The first and the last one are questions.
	Stream bool
	Store  bool

	instructions string // The text of its system messages.
	thinking     *bool
	params       chat.Params
	given        string            // The name of a parameter in params; "" for none.
	renamed      map[string]string // The names of parameters that differ from those of completions.

	includeUsage bool // Of a completion.

	response responseRequest // Nil for a completion.
}

// Turn is a question or an answer. It consists of one or more messages.
type Turn struct {
	chat.EarlierMessage

	Pictures []Picture

	param string // The parameter with the content of its last message.
}

// Picture is a picture of a message.
type Picture struct {
	Content []byte

	param string
}

// parse parses the body of a request, a JSON object, with take.
func parse(body []byte, take func(req *Request, o object)) (req Request, err error) {
	if !utf8.Valid(body) || !json.Valid(body) {
		return req, fault.Errorf(fault.Invalid, "本文を JSON として読み取れませんでした。")
	}
	take(&req, readObject("", body, &err))
	return req, err
}

// takeCommon takes the parameters that completions and responses share.
func (req *Request) takeCommon(o object) {
	req.Model = need[string](o, "model")
	req.Stream = takeOr(o, "stream", false)
	o.takeText("user", maxUser)
	checkMetadata(o)
	p := &req.params
	p.Temperature, p.TopP = takeNumber[float32](o, "temperature", 0, 2), takeNumber[float32](o, "top_p", 0, 1)
}

// setGiven notes the first of some parameters of the answer that is given.
func (req *Request) setGiven(o object, names ...string) {
	if i := slices.IndexFunc(names, func(name string) bool { return o.members[name] != nil }); i >= 0 {
		req.given = names[i]
	}
}

// checkMetadata validates metadata, which is otherwise ignored.
func checkMetadata(o object) {
	pairs, _ := o.takeObject("metadata")
	if len(pairs.members) > maxMetadata {
		o.fail("metadata", InvalidValue, "%d組まで指定できます。", maxMetadata)
	}
	for _, key := range slices.Sorted(maps.Keys(pairs.members)) {
		if utf8.RuneCountInString(key) > maxMetaKey {
			o.fail("metadata", InvalidValue, "キーは%d文字以内で指定してください。", maxMetaKey)
		}
		pairs.takeText(key, maxMetaValue)
	}
}

// takeStops takes stop, a text or a list of texts.
func takeStops(o object) (stops []string) {
	if raw := o.members["stop"]; raw != nil && raw[0] != '[' {
		o.members["stop"] = slices.Concat([]byte("["), raw, []byte("]"))
	}
	for _, raw := range o.takeList("stop", maxStops) {
		var stop string
		if json.Unmarshal(raw, &stop) != nil {
			o.fail("stop", InvalidType, "値の型が正しくありません。")
		} else if n := utf8.RuneCountInString(stop); n == 0 || n > maxStop {
			o.fail("stop", InvalidValue, "1文字以上%d文字以内で指定してください。", maxStop)
		}
		stops = append(stops, stop)
	}
	return stops
}

// namePattern matches the names of schemas and tools.
var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// takeName takes the name of a schema or a tool.
func (o object) takeName() string {
	name := need[string](o, "name")
	if !namePattern.MatchString(name) {
		o.fail("name", InvalidValue, "英数字、_、- で、64文字以内で指定してください。")
	}
	return name
}

// takeRaw takes an object of any form, such as a JSON schema, or nil if it is absent.
func (o object) takeRaw(name string) json.RawMessage {
	raw := takeOr[json.RawMessage](o, name, nil)
	switch {
	case raw == nil:
	case raw[0] != '{':
		o.fail(name, InvalidType, "オブジェクトを指定してください。")
	case len(raw) > maxRaw:
		o.fail(name, InvalidValue, "%d KiB 以内にしてください。", maxRaw>>10)
	case depthOf(raw) > maxRawDepth:
		o.fail(name, InvalidValue, "入れ子は%d段までにしてください。", maxRawDepth)
	}
	return raw
}

// takeFormat parses the format of an answer. nested is the member with the JSON schema, or "" if its fields are members
// of the format itself. It returns nil for text.
func (o object) takeFormat(nested string) *chat.Schema {
	defer o.refuseRest()
	switch kind := need[string](o, "type"); kind {
	case "json_object":
		return &chat.Schema{}
	case "json_schema":
	default:
		if kind != "text" {
			o.fail("type", InvalidValue, "text、json_object、json_schema のどれかを指定してください。")
		}
		return nil
	}
	if nested != "" {
		o = o.needObject(nested)
		defer o.refuseRest()
	}
	s := &chat.Schema{
		Name: o.takeName(), Description: o.takeText("description", maxSchemaNote), Strict: takeOr(o, "strict", false),
	}
	if s.JSON = o.takeRaw("schema"); s.JSON == nil {
		o.fail("schema", MissingParameter, "必須の項目です。")
	}
	return s
}

// readPicture parses the address of a picture, which must be a data: URL, because the server does not fetch addresses
// for clients. o has it as the member name.
func readPicture(o object, name string) Picture {
	if detail := takeOr(o, "detail", "auto"); detail != "auto" && detail != "low" && detail != "high" {
		o.fail("detail", InvalidValue, "auto、low、high のどれかを指定してください。")
	}
	head, data, _ := strings.Cut(need[string](o, name), ",")
	head = strings.ToLower(head)
	content, err := base64.StdEncoding.DecodeString(data)
	if !strings.HasPrefix(head, "data:image/") || !strings.HasSuffix(head, ";base64") || err != nil || len(content) == 0 {
		o.fail(name, InvalidValue, "画像は data:image/png;base64,… の形で指定してください。http や https のURLは使えません。")
	}
	return Picture{content, o.param(name)}
}

// ID returns the request id, which finds the answer of a repeated request. OpenAI's libraries accept any text as a key. A
// request that is not stored gets a unique id. Otherwise two such requests with the same key would share a thread, and
// the first one to end would delete it.
func (req Request) ID(r *http.Request) uuid.UUID {
	if key := r.Header.Get("Idempotency-Key"); key != "" && req.Store {
		return uuid.NewSHA1(idempotencyKeys, []byte(key))
	}
	return uuidv7.New()
}

// idempotencyKeys is the namespace of the request ids derived from keys.
var idempotencyKeys = uuid.MustParse("5a8f6c1e-2f0b-5d7c-9b43-6d0f4c1e7a92")

// Question returns the question of a request, with the conversation before it.
func (req Request) Question(id uuid.UUID) chat.Question {
	last := len(req.Turns) - 1
	q := chat.Question{
		RequestID: id, Content: req.Turns[last].Content, PictureIDs: req.Turns[last].PictureIDs,
		Instructions: req.instructions, Thinking: req.thinking,
	}
	for _, turn := range req.Turns[:last] {
		q.Earlier = append(q.Earlier, turn.EarlierMessage)
	}
	if !req.params.IsZero() {
		q.Params = &req.params
	}
	return q
}

// TranslateError translates an error of the question to an error of the request.
func (req Request) TranslateError(err error) error {
	list := "messages"
	if req.response != nil {
		list = "input"
	}
	params := map[string]string{"picture_ids": list, "instructions": list, "params": list, "thinking": "reasoning"}
	if req.response["instructions"] != nil {
		params["instructions"] = "instructions"
	}
	if last := len(req.Turns) - 1; last >= 0 {
		params["content"] = req.Turns[last].param
	}
	if req.given != "" {
		params["params"] = req.given
	}
	return renameField(err, params)
}

// TranslateError translates an error of the picture's upload to an error of the request.
func (p Picture) TranslateError(err error) error {
	return renameField(err, map[string]string{"file": p.param})
}

// renameField translates an error of a field to an error of a parameter.
func renameField(err error, params map[string]string) error {
	failed, ok := errors.AsType[*fault.Error](err)
	if !ok || len(failed.Fields) == 0 {
		return err
	}
	param, known := params[failed.Fields[0].Field]
	if !known {
		return err
	}
	code := failed.Code
	if code == fault.Invalid {
		code = InvalidValue
	}
	return refuseParam(code, param, "%s", failed.Fields[0].Message)
}

// refusedByModel returns the error of an answer whose model refused a parameter, or nil for other failures.
func (req Request) refusedByModel(failure chat.Failure) error {
	name, found := strings.CutPrefix(failure.Code, string(chat.ParamRefused))
	if !found {
		return nil
	}
	if renamed := req.renamed[name]; renamed != "" {
		name = renamed
	}
	return refuseParam(UnsupportedParameter, name, "%s", failure.Detail)
}

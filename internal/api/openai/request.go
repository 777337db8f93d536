package openai

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// MaxRequest bounds the body of a request, in bytes: a picture of 20 MiB takes 27 MiB in base64.
const MaxRequest = 32 << 20

// Bounds of a request.
const (
	maxMessages    = 1_000
	maxParts       = 1_000   // Parts of a message.
	maxMessageText = 1 << 20 // Total bytes of all messages, without pictures.
	maxStops       = 4
	maxStop        = 500 // In characters.
	maxAnswer      = 10_000_000
	maxUser        = 512      // In characters.
	maxSchema      = 64 << 10 // In bytes of a JSON schema.
	maxSchemaDepth = 64       // Nesting depth of a schema.
	maxSchemaNote  = 1_000    // In characters of a schema's description.
	maxMetadata    = 16
	maxMetaKey     = 64  // In characters.
	maxMetaValue   = 512 // In characters.
)

// Request is a request for a completion.
type Request struct {
	Model  string
	Turns  []Turn // Alternating questions and answers. The first and the last one are questions.
	Stream bool
	Store  bool

	instructions string // The text of its system messages.
	includeUsage bool
	params       chat.Params
	given        []string // The names of the parameters in params.
}

// Turn is a question or an answer. It consists of one or more messages.
type Turn struct {
	chat.EarlierMessage

	Pictures []Picture

	param string // The parameter of its last message.
}

// Picture is a picture of a message.
type Picture struct {
	Content []byte

	param string
}

// ParseRequest parses the body of a request: a JSON object.
func ParseRequest(body []byte) (req Request, err error) {
	if !json.Valid(body) {
		return req, fault.Errorf(fault.Invalid, "本文を JSON として読み取れませんでした。")
	}
	o := readObject("", body, &err)
	messages := o.needList("messages", maxMessages)
	req.Model = need[string](o, "model")
	req.Stream, req.Store = takeOr(o, "stream", false), takeOr(o, "store", true)
	if options, found := o.takeObject("stream_options"); found {
		if !req.Stream {
			o.fail("stream_options", InvalidValue, "stream が true のときだけ指定できます。")
		}
		req.includeUsage = takeOr(options, "include_usage", false)
		options.refuseRest()
	}
	if n := take[int](o, "n"); n != nil && *n != 1 {
		o.fail("n", InvalidValue, "1 だけを指定できます。")
	}
	o.takeText("user", maxUser)
	checkMetadata(o)
	req.takeParams(o)
	o.refuseRest()
	req.takeMessages(o, messages)
	return req, err
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

// takeParams takes the parameters of the answer.
func (req *Request) takeParams(o object) {
	for _, name := range []string{
		"temperature", "top_p", "stop", "seed", "max_tokens", "max_completion_tokens", "response_format",
	} {
		if o.members[name] != nil {
			req.given = append(req.given, name)
		}
	}
	if o.members["max_tokens"] != nil && o.members["max_completion_tokens"] != nil {
		o.fail("max_tokens", InvalidValue, "max_completion_tokens と同時には指定できません。")
	}
	p := &req.params
	p.Temperature, p.TopP = takeNumber[float32](o, "temperature", 0, 2), takeNumber[float32](o, "top_p", 0, 1)
	p.Seed = take[int](o, "seed")
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if most := takeNumber(o, name, 1, maxAnswer); most != nil {
			p.MaxTokens = *most
		}
	}
	p.Stop = takeStops(o)
	if format, found := o.takeObject("response_format"); found {
		p.Schema = readFormat(format)
		format.refuseRest()
	}
}

// takeStops takes stop, a text or a list of texts.
func takeStops(o object) []string {
	var list []json.RawMessage
	switch raw := o.members["stop"]; {
	case raw == nil:
		return nil
	case raw[0] == '"':
		list = []json.RawMessage{need[json.RawMessage](o, "stop")}
	default:
		list = o.needList("stop", maxStops)
	}
	var stops []string
	for _, raw := range list {
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

var schemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// readFormat parses response_format. It returns nil for text.
func readFormat(o object) *chat.Schema {
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
	given, found := o.takeObject("json_schema")
	if !found {
		o.fail("json_schema", MissingParameter, "必須の項目です。")
		return nil
	}
	s := &chat.Schema{
		Name: need[string](given, "name"), Description: given.takeText("description", maxSchemaNote),
		JSON: given.members["schema"], Strict: takeOr(given, "strict", false),
	}
	if !schemaName.MatchString(s.Name) {
		given.fail("name", InvalidValue, "英数字、_、- で、64文字以内で指定してください。")
	}
	switch need[json.RawMessage](given, "schema"); {
	case len(s.JSON) > 0 && s.JSON[0] != '{':
		given.fail("schema", InvalidType, "オブジェクトを指定してください。")
	case len(s.JSON) > maxSchema:
		given.fail("schema", InvalidValue, "%d KiB 以内にしてください。", maxSchema>>10)
	case depthOf(s.JSON) > maxSchemaDepth:
		given.fail("schema", InvalidValue, "入れ子は%d段までにしてください。", maxSchemaDepth)
	}
	given.refuseRest()
	return s
}

// takeMessages parses the conversation.
func (req *Request) takeMessages(o object, messages []json.RawMessage) {
	var orders []string
	size, pictures := 0, 0
	for i, raw := range messages {
		m := readObject(o.param("messages["+strconv.Itoa(i)+"]"), raw, o.wrong)
		role := need[string](m, "role")
		text, shown := readContent(m, role)
		m.refuseRest()
		size, pictures = size+len(text), pictures+len(shown)
		switch {
		case role == "system" || role == "developer":
			orders = append(orders, text)
		case role != string(chat.RoleUser) && role != string(chat.RoleAssistant):
			m.fail("role", InvalidValue, "system、developer、user、assistant のどれかを指定してください。")
		case len(req.Turns) == 0 && role == string(chat.RoleAssistant):
			m.fail("role", InvalidValue, "メッセージは user から始めてください。")
		default:
			req.addTurn(Turn{chat.EarlierMessage{Role: chat.Role(role), Content: text}, shown, m.path})
		}
		if *o.wrong != nil {
			return
		}
	}
	req.instructions = strings.Join(orders, "\n\n")
	switch last := len(req.Turns) - 1; {
	case last < 0 || req.Turns[last].Role != chat.RoleUser:
		o.fail("messages", InvalidValue, "最後は user のメッセージにしてください。")
	case size > maxMessageText:
		o.fail("messages", InvalidValue, "文章は合計 %d KiB 以内にしてください。", maxMessageText>>10)
	case pictures > picture.MaxPerQuestion:
		o.fail("messages", InvalidValue, "画像は合計%d枚までです。", picture.MaxPerQuestion)
	}
}

// addTurn adds a turn, or appends it to the last one if both have the same author, because questions and answers must
// alternate in a thread.
func (req *Request) addTurn(turn Turn) {
	last := len(req.Turns) - 1
	if last < 0 || req.Turns[last].Role != turn.Role {
		req.Turns = append(req.Turns, turn)
		return
	}
	said := &req.Turns[last]
	said.Content += "\n\n" + turn.Content
	said.param, said.Pictures = turn.param, append(said.Pictures, turn.Pictures...)
}

// readContent parses the content of a message: a text, or a list of parts.
func readContent(m object, role string) (text string, pictures []Picture) {
	if raw := m.members["content"]; raw == nil || raw[0] != '[' {
		return need[string](m, "content"), nil
	}
	var b strings.Builder
	for i, raw := range m.needList("content", maxParts) {
		part := readObject(m.param("content["+strconv.Itoa(i)+"]"), raw, m.wrong)
		switch kind := need[string](part, "type"); {
		case kind == "text":
			b.WriteString(need[string](part, "text"))
		case kind == "image_url" && role == string(chat.RoleUser):
			if image, found := part.takeObject("image_url"); found {
				pictures = append(pictures, readPicture(image))
			} else {
				part.fail("image_url", MissingParameter, "必須の項目です。")
			}
		case kind == "image_url":
			part.fail("type", InvalidValue, "画像は user のメッセージにだけ指定できます。")
		default:
			part.fail("type", InvalidValue, "text か image_url を指定してください。")
		}
		part.refuseRest()
		if *m.wrong != nil {
			break
		}
	}
	return b.String(), pictures
}

// readPicture parses image_url, which must be a data: URL, because the server does not fetch addresses for clients.
func readPicture(o object) Picture {
	if detail := takeOr(o, "detail", "auto"); detail != "auto" && detail != "low" && detail != "high" {
		o.fail("detail", InvalidValue, "auto、low、high のどれかを指定してください。")
	}
	head, data, _ := strings.Cut(need[string](o, "url"), ",")
	o.refuseRest()
	head = strings.ToLower(head)
	content, err := base64.StdEncoding.DecodeString(data)
	if !strings.HasPrefix(head, "data:image/") || !strings.HasSuffix(head, ";base64") || err != nil || len(content) == 0 {
		o.fail("url", InvalidValue, "画像は data:image/png;base64,… の形で指定してください。http や https のURLは使えません。")
	}
	return Picture{content, o.param("url")}
}

// inJSON reports whether the answer must be JSON.
func (req Request) inJSON() bool { return req.params.Schema != nil }

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
		Instructions: req.instructions,
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
	params := map[string]string{"picture_ids": "messages", "instructions": "messages"}
	if last := len(req.Turns) - 1; last >= 0 {
		params["content"] = req.Turns[last].param + ".content"
	}
	if len(req.given) > 0 {
		params["params"] = req.given[0]
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
	if name == "max_tokens" && slices.Contains(req.given, "max_completion_tokens") {
		name = "max_completion_tokens"
	}
	return refuseParam(UnsupportedParameter, name, "%s", failure.Detail)
}

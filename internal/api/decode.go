package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// maxBody bounds a JSON body, in bytes.
const maxBody = 1 << 20

// maxPrefetch bounds the body of a question that is decoded twice, in bytes.
const maxPrefetch = 16 << 10

// Bounds of the lists.
const (
	maxOffset    = 1_000_000
	maxLimit     = 100
	defaultLimit = 20
)

// decode decodes the body into v: one JSON object without unknown fields, of at most maxBody bytes.
func decode(w http.ResponseWriter, r *http.Request, v any) error { return decodeUpTo(maxBody, w, r, v) }

// decodeUpTo is decode with another limit.
func decodeUpTo(limit int64, w http.ResponseWriter, r *http.Request, v any) error {
	body, err := readJSON(limit, w, r)
	if err != nil {
		return err
	}
	return decodeStrictly(body, v)
}

// decodeStrictly decodes a body into v: one JSON object without unknown fields.
func decodeStrictly(body []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return decodeError(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			return fault.Errorf(fault.Invalid, "本文には JSON を一つだけ指定してください。")
		}
		return decodeError(err)
	}
	return nil
}

// nullable is a field of a body that distinguishes null from a missing value.
type nullable[T any] struct {
	given bool
	value T
}

func (n *nullable[T]) UnmarshalJSON(data []byte) error {
	n.given = true
	return json.Unmarshal(data, &n.value)
}

// assign sets a field to a given value, also to null.
func (n nullable[T]) assign(field *T) {
	if n.given {
		*field = n.value
	}
}

// assign sets a field to a value that is given.
func assign[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

// readJSON reads a body of at most limit bytes. It refuses values other than objects, and strings with NUL.
func readJSON(limit int64, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, fault.Errorf(fault.UnsupportedType, "Content-Type には application/json を指定してください。")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, fault.Errorf(fault.UnsupportedType, "圧縮された本文には対応していません。")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, decodeError(err)
	}
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) && json.Valid(body) {
		return nil, fault.Errorf(fault.Invalid, "本文には JSON のオブジェクトを指定してください。")
	}
	return body, refuseNUL(body)
}

// refuseNUL refuses a body with a string that contains NUL, which PostgreSQL cannot store. The error names the field.
func refuseNUL(body []byte) error {
	if !bytes.Contains(body, []byte(`\u0000`)) { // The only way to write NUL in JSON.
		return nil
	}
	if len(body) > maxBody { // Decoding its values may take too much memory.
		return fault.Errorf(fault.Invalid, "使用できない文字（NUL）が含まれています。")
	}
	var v any
	_ = json.Unmarshal(body, &v) // The decoder refuses malformed JSON.
	if field, found := findNUL(v, ""); found {
		return fault.InvalidField(field, "使用できない文字（NUL）が含まれています。")
	}
	return nil
}

// findNUL returns the path of a string that contains NUL, or of the object with such a key.
func findNUL(v any, path string) (field string, found bool) {
	switch v := v.(type) {
	case string:
		return path, strings.Contains(v, "\x00")
	case []any:
		for i, item := range v {
			if field, found := findNUL(item, path+"["+strconv.Itoa(i)+"]"); found {
				return field, true
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if strings.Contains(name, "\x00") {
				return path, path != "" // The body itself has no name; the decoder reports the error.
			}
			if field, found := findNUL(v[name], strings.TrimPrefix(path+"."+name, ".")); found {
				return field, true
			}
		}
	}
	return "", false
}

// decodeError translates a decoding error to a fault with the field.
func decodeError(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fault.Wrap(err, fault.TooLarge, "送信内容が大きすぎます。%d KiB 以内にしてください。", tooLarge.Limit>>10)
	}
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrongType.Field != "" {
		return fault.InvalidField(wrongType.Field, "値の型が正しくありません。")
	}
	// encoding/json has no type for this error.
	if name, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		if field, err := strconv.Unquote(name); err == nil {
			return fault.InvalidField(field, "この項目は指定できません。")
		}
	}
	return fault.Wrap(err, fault.Invalid, "本文を JSON として読み取れませんでした。")
}

// checks parses the parameters of a request, and collects the invalid ones.
type checks struct {
	r     *http.Request
	wrong []fault.FieldError
}

func (c *checks) fail(field, message string) {
	c.wrong = append(c.wrong, fault.FieldError{Field: field, Message: message})
}

// err returns the collected problems as one error, or nil.
func (c *checks) err() error {
	if len(c.wrong) == 0 {
		return nil
	}
	return &fault.Error{Code: fault.Invalid, Detail: "入力内容に誤りがあります。", Fields: c.wrong}
}

// need checks that a required text is not empty.
func (c *checks) need(field, value string) {
	if value == "" {
		c.fail(field, "必須の項目です。")
	}
}

// atMost checks the maximum length of a text.
func (c *checks) atMost(field, value string, characters int) {
	if utf8.RuneCountInString(value) > characters {
		c.fail(field, fmt.Sprintf("%d文字以内で入力してください。", characters))
	}
}

// id parses a required id.
func (c *checks) id(field, value string) uuid.UUID {
	id, ok := parseID(value)
	if c.need(field, value); value != "" && !ok {
		c.fail(field, "ID の形式が正しくありません。")
	}
	return id
}

// optionalID parses an optional id.
func (c *checks) optionalID(field, value string) *uuid.UUID {
	if value == "" {
		return nil
	}
	return new(c.id(field, value))
}

// ids parses a list of ids.
func (c *checks) ids(field string, values []string) []uuid.UUID {
	ids := make([]uuid.UUID, len(values))
	for i, value := range values {
		ids[i] = c.id(fmt.Sprintf("%s[%d]", field, i), value)
	}
	return ids
}

// distinctIDs is ids without duplicates.
func (c *checks) distinctIDs(field string, values []string) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(values))
	for _, id := range c.ids(field, values) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// pathID parses the id in the path. It returns the zero UUID for a path without one.
func pathID(r *http.Request) (uuid.UUID, error) {
	params := chi.RouteContext(r.Context()).URLParams
	i := slices.IndexFunc(params.Keys, func(name string) bool { return strings.HasSuffix(name, "_id") })
	if i < 0 {
		return uuid.Nil, nil
	}
	var c checks
	id := c.id(params.Keys[i], params.Values[i])
	return id, c.err()
}

// query returns a parameter of the query, or "".
func (c *checks) query(name string) string { return c.r.URL.Query().Get(name) }

// queryID parses a required id of the query.
func (c *checks) queryID(name string) uuid.UUID { return c.id(name, c.query(name)) }

// optionalQueryID parses an optional id of the query.
func (c *checks) optionalQueryID(name string) *uuid.UUID { return c.optionalID(name, c.query(name)) }

// param parses an optional parameter of the query, which must occur once. The message describes an invalid value.
func param[T any](c *checks, name string, missing T, message string, parse func(string) (value T, ok bool)) T {
	values := c.r.URL.Query()[name]
	if len(values) == 0 {
		return missing
	}
	value, ok := parse(values[0])
	if !ok || len(values) > 1 {
		c.fail(name, message)
		return missing
	}
	return value
}

// page parses offset and limit.
func (c *checks) page() (offset, limit int) {
	return c.number("offset", 0, maxOffset, 0), c.number("limit", 1, maxLimit, defaultLimit)
}

func (c *checks) number(name string, least, most, missing int) int {
	message := fmt.Sprintf("%d以上%d以下の整数を指定してください。", least, most)
	return param(c, name, missing, message, func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && least <= n && n <= most
	})
}

// text parses an optional text with a maximum length in characters.
func (c *checks) text(name string, most int) string {
	message := fmt.Sprintf("%d文字以内で一つだけ指定してください。", most)
	return param(c, name, "", message, func(text string) (string, bool) {
		return text, utf8.RuneCountInString(text) <= most && utf8.ValidString(text) && !strings.Contains(text, "\x00")
	})
}

// flag parses an optional boolean. The default is false.
func (c *checks) flag(name string) bool {
	return param(c, name, false, "true または false を指定してください。", func(text string) (bool, bool) {
		return text == "true", text == "true" || text == "false"
	})
}

// The messages for an invalid time and day.
const (
	timeMessage = "日時は 2026-04-01T09:00:00Z の形式で指定してください。"
	dayMessage  = "日付は 2026-04-01 の形式で指定してください。"
)

// time parses an optional time. The default is the zero time.
func (c *checks) time(name string) time.Time { return c.date(name, time.RFC3339, timeMessage) }

// bodyTime parses an optional time of the body. The default is the zero time.
func (c *checks) bodyTime(field, text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil && text != "" {
		c.fail(field, timeMessage)
	}
	return at
}

// day parses an optional day. The default is the zero time.
func (c *checks) day(name string) time.Time { return c.date(name, time.DateOnly, dayMessage) }

func (c *checks) date(name, layout, message string) time.Time {
	return param(c, name, time.Time{}, message, func(text string) (time.Time, bool) {
		at, err := time.Parse(layout, text)
		return at, err == nil
	})
}

// choice parses an optional enumeration. The default is "".
func choice[T interface {
	~string
	Valid() bool
}](c *checks, name string,
) T {
	return param(c, name, "", "指定できない値です。", func(text string) (T, bool) { return T(text), T(text).Valid() })
}

// requestID returns the idempotency key of a call, from the body or the Idempotency-Key header.
func (c *checks) requestID(body string) *uuid.UUID {
	header := c.r.Header.Get("Idempotency-Key")
	if header == "" {
		return c.optionalID("request_id", body)
	}
	id := c.id("Idempotency-Key", header)
	if given := c.optionalID("request_id", body); given != nil && *given != id {
		c.fail("request_id", "Idempotency-Key と同じ値を指定してください。")
	}
	return &id
}

// requiredRequestID is requestID for calls that require one.
func (c *checks) requiredRequestID(body string) uuid.UUID {
	id := c.requestID(body)
	if id == nil {
		c.need("request_id", "")
		return uuid.Nil
	}
	return *id
}

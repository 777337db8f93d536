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
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// maxBody bounds a JSON body, in bytes.
const maxBody = 1 << 20

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
	var tooLarge *http.MaxBytesError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &tooLarge):
		return fault.Wrap(err, fault.TooLarge, "送信内容が大きすぎます。%d KiB 以内にしてください。", tooLarge.Limit>>10)
	case errors.As(err, &wrongType) && wrongType.Field != "":
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

// checks collects the invalid fields of a request.
type checks struct {
	wrong []fault.FieldError
}

func (c *checks) fail(field, message string) {
	c.wrong = append(c.wrong, fault.FieldError{Field: field, Message: message})
}

// id parses a required id.
func (c *checks) id(field, value string) uuid.UUID {
	id, ok := parseID(value)
	switch {
	case value == "":
		c.fail(field, "必須の項目です。")
	case !ok:
		c.fail(field, "ID の形式が正しくありません。")
	}
	return id
}

// atMost checks the maximum length of a text.
func (c *checks) atMost(field, value string, characters int) {
	if utf8.RuneCountInString(value) > characters {
		c.fail(field, fmt.Sprintf("%d文字以内で入力してください。", characters))
	}
}

// optionalID parses an optional id.
func (c *checks) optionalID(field, value string) *uuid.UUID {
	if value == "" {
		return nil
	}
	id := c.id(field, value)
	return &id
}

// page parses offset and limit.
func (c *checks) page(r *http.Request) (offset, limit int) {
	query := r.URL.Query()
	return c.number("offset", query["offset"], 0, maxOffset, 0),
		c.number("limit", query["limit"], 1, maxLimit, defaultLimit)
}

func (c *checks) number(field string, values []string, least, most, missing int) int {
	if len(values) == 0 {
		return missing
	}
	n, err := strconv.Atoi(values[0])
	if err != nil || len(values) > 1 || n < least || n > most {
		c.fail(field, strconv.Itoa(least)+"以上"+strconv.Itoa(most)+"以下の整数を指定してください。")
		return missing
	}
	return n
}

// text parses an optional text of the query with a maximum length in characters.
func (c *checks) text(field string, values []string, most int) string {
	if len(values) == 0 {
		return ""
	}
	if len(values) > 1 || utf8.RuneCountInString(values[0]) > most || !utf8.ValidString(values[0]) ||
		strings.Contains(values[0], "\x00") {
		c.fail(field, strconv.Itoa(most)+"文字以内で一つだけ指定してください。")
		return ""
	}
	return values[0]
}

// flag parses an optional boolean of the query. The default is false.
func (c *checks) flag(field string, values []string) bool {
	if len(values) == 0 {
		return false
	}
	if len(values) > 1 || (values[0] != "true" && values[0] != "false") {
		c.fail(field, "true または false を指定してください。")
	}
	return values[0] == "true"
}

// time parses an optional time of the query. The default is the zero time.
func (c *checks) time(field string, values []string) time.Time {
	if len(values) == 0 {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, values[0])
	if err != nil || len(values) > 1 {
		c.fail(field, "日時は 2026-04-01T09:00:00Z の形式で指定してください。")
		return time.Time{}
	}
	return at
}

// day parses an optional day of the query. The default is the zero time.
func (c *checks) day(field string, values []string) time.Time {
	if len(values) == 0 {
		return time.Time{}
	}
	at, err := time.Parse(time.DateOnly, values[0])
	if err != nil || len(values) > 1 {
		c.fail(field, "日付は 2026-04-01 の形式で指定してください。")
		return time.Time{}
	}
	return at
}

// month parses an optional month of the query in the form 2026-04. The default is an empty period.
func (c *checks) month(field string, values []string) org.Period {
	if len(values) == 0 {
		return org.Period{}
	}
	from, err := time.Parse("2006-01", values[0])
	if err != nil || len(values) > 1 {
		c.fail(field, "月は 2026-04 の形式で指定してください。")
		return org.Period{}
	}
	return org.Period{From: from, To: from.AddDate(0, 1, -1)}
}

// choice parses an optional enumeration of the query. The default is "".
func choice[T interface {
	~string
	Valid() bool
}](c *checks, field string, values []string,
) T {
	if len(values) == 0 {
		return ""
	}
	if len(values) > 1 || !T(values[0]).Valid() {
		c.fail(field, "指定できない値です。")
		return ""
	}
	return T(values[0])
}

// requestID returns the idempotency key of a call, from the body or the Idempotency-Key header.
func (c *checks) requestID(r *http.Request, body string) *uuid.UUID {
	header := r.Header.Get("Idempotency-Key")
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
func (c *checks) requiredRequestID(r *http.Request, body string) uuid.UUID {
	id := c.requestID(r, body)
	if id == nil {
		c.fail("request_id", "必須の項目です。")
		return uuid.Nil
	}
	return *id
}

// err returns the collected problems as one error, or nil.
func (c *checks) err() error {
	if len(c.wrong) == 0 {
		return nil
	}
	return &fault.Error{Code: fault.Invalid, Detail: "入力内容に誤りがあります。", Fields: c.wrong}
}

// pathID parses an id of the path. The error names the parameter.
func pathID(r *http.Request, name string) (uuid.UUID, error) {
	var c checks
	id := c.id(name, chi.URLParam(r, name))
	return id, c.err()
}

// page parses offset and limit of a list call.
func page(r *http.Request) (offset, limit int, err error) {
	var c checks
	offset, limit = c.page(r)
	return offset, limit, c.err()
}

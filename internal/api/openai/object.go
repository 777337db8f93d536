package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

const (
	maxMembers = 100 // Maximum number of members of an object. OpenAI's objects have fewer.
	maxParam   = 100 // Characters of a name in an error.
)

// object is a JSON object of a request. The caller takes its members one by one; refuseRest refuses the others. A null
// member is treated as absent.
type object struct {
	path    string // "" for the request itself.
	members map[string]json.RawMessage
	wrong   *error // The first error in the request.
}

// readObject parses an object of valid JSON. The result is empty if the value is not an object. It reads at most
// maxMembers members, because a member takes much more memory than its bytes.
func readObject(path string, raw json.RawMessage, wrong *error) object {
	o := object{path, make(map[string]json.RawMessage), wrong}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		o.fail("", InvalidType, "オブジェクトを指定してください。")
		return o
	}
	for decoder.More() {
		var value json.RawMessage
		name, err := decoder.Token()
		if err == nil {
			err = decoder.Decode(&value)
		}
		if len(o.members) == maxMembers || err != nil {
			o.fail("", InvalidValue, "項目が多すぎます。")
			return o
		}
		if key, _ := name.(string); string(value) != "null" {
			o.members[key] = value
		} else {
			delete(o.members, key)
		}
	}
	return o
}

// takeList is needList for a list that may be absent.
func (o object) takeList(name string, most int) []json.RawMessage {
	if o.members[name] == nil {
		return nil
	}
	return o.needList(name, most)
}

// needList removes a list and returns its values. It reads at most most values.
func (o object) needList(name string, most int) []json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(need[json.RawMessage](o, name)))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('[') {
		o.fail(name, InvalidType, "リストを指定してください。")
		return nil
	}
	var list []json.RawMessage
	for decoder.More() {
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil || len(list) == most {
			o.fail(name, InvalidValue, "%d件まで指定できます。", most)
			return nil
		}
		list = append(list, value)
	}
	return list
}

// each calls take with the objects of a list, the member name, until one is wrong.
func (o object) each(name string, list []json.RawMessage, take func(object)) {
	for i, raw := range list {
		take(readObject(o.param(name+"["+strconv.Itoa(i)+"]"), raw, o.wrong))
		if *o.wrong != nil {
			return
		}
	}
}

// param returns the name of a member within the request, shortened if it is very long.
func (o object) param(name string) string {
	return strings.Trim(o.path+"."+runes.First(name, maxParam), ".")
}

func (o object) fail(name string, code fault.Code, format string, args ...any) {
	if *o.wrong == nil {
		*o.wrong = refuseParam(code, o.param(name), format, args...)
	}
}

// take removes a member and returns its value, or nil if it is absent or of another type.
func take[T any](o object, name string) *T {
	raw, found := o.members[name]
	delete(o.members, name)
	if !found {
		return nil
	}
	value := new(T)
	if json.Unmarshal(raw, value) != nil {
		o.fail(name, InvalidType, "値の型が正しくありません。")
		return nil
	}
	return value
}

// takeOr is take with a default for an absent member.
func takeOr[T any](o object, name string, absent T) T {
	if value := take[T](o, name); value != nil {
		return *value
	}
	return absent
}

// need is take for a required member.
func need[T any](o object, name string) (value T) {
	if o.members[name] == nil {
		o.fail(name, MissingParameter, "必須の項目です。")
	}
	return takeOr(o, name, value)
}

// takeText is takeOr for a text with a maximum length in characters.
func (o object) takeText(name string, most int) string {
	text := takeOr(o, name, "")
	if utf8.RuneCountInString(text) > most {
		o.fail(name, InvalidValue, "%d文字以内で指定してください。", most)
	}
	return text
}

// takeNumber is take for a number within bounds.
func takeNumber[T cmp.Ordered](o object, name string, least, most T) *T {
	value := take[T](o, name)
	if value != nil && (*value < least || *value > most) {
		o.fail(name, InvalidValue, "%v以上%v以下で指定してください。", least, most)
	}
	return value
}

// takeObject removes a member that is an object. It returns an empty object and false if it is absent.
func (o object) takeObject(name string) (object, bool) {
	raw, found := o.members[name]
	delete(o.members, name)
	if !found {
		return object{}, false
	}
	return readObject(o.param(name), raw, o.wrong), true
}

// needObject is takeObject for a required member.
func (o object) needObject(name string) object {
	inner, found := o.takeObject(name)
	if !found {
		o.fail(name, MissingParameter, "必須の項目です。")
		return object{o.param(name), nil, o.wrong}
	}
	return inner
}

// ignore removes members that have no effect.
func (o object) ignore(names ...string) {
	for _, name := range names {
		delete(o.members, name)
	}
}

// refuseRest refuses the members that were not taken.
func (o object) refuseRest() {
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		o.fail(name, UnknownParameter, "このパラメーターには対応していません。")
	}
}

// depthOf returns the nesting depth of JSON.
func depthOf(raw json.RawMessage) (deepest int) {
	depth := 0
	decoder := json.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := decoder.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

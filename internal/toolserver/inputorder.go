package toolserver

import (
	"bytes"
	"encoding/json"
)

// memberNames is the names of a JSON object's members in their order.
type memberNames []string

// UnmarshalJSON implements json.Unmarshaler.
func (n *memberNames) UnmarshalJSON(object []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(object))
	_, err := decoder.Token()
	for err == nil && decoder.More() {
		var name json.Token
		if name, err = decoder.Token(); err == nil {
			err = decoder.Decode(new(json.RawMessage))
		}
		if name, ok := name.(string); ok {
			*n = append(*n, name)
		}
	}
	return err
}

// fieldOrders returns the order of the fields of each form that the body of a response asks for, because the SDK loses it.
// body is a JSON-RPC message or a stream of events with such messages.
func fieldOrders(body []byte) map[string]memberNames {
	orders := map[string]memberNames{}
	decoder := json.NewDecoder(bytes.NewReader(messagesOf(body)))
	for {
		var message struct {
			Result struct {
				InputRequests map[string]struct {
					Params struct {
						RequestedSchema struct{ Properties memberNames }
					}
				}
			}
		}
		if decoder.Decode(&message) != nil {
			return orders
		}
		for id, request := range message.Result.InputRequests {
			orders[id] = request.Params.RequestedSchema.Properties
		}
	}
}

// messagesOf returns the JSON messages of a response's body, one after the other.
func messagesOf(body []byte) []byte {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return body
	}
	var messages []byte
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			messages = append(messages, data...)
		}
	}
	return messages
}

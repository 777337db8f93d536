package toolserver

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// memberNames is the names of a JSON object's members in their order.
type memberNames []string

func (n *memberNames) UnmarshalJSON(object []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(object))
	_, err := decoder.Token()
	for err == nil && decoder.More() {
		name, _ := decoder.Token()
		*n = append(*n, fmt.Sprint(name))
		err = decoder.Decode(new(json.RawMessage))
	}
	return err
}

// orderedForm is the part of a form that has the order of its fields.
type orderedForm struct {
	Params struct {
		RequestedSchema struct{ Properties memberNames }
	}
}

// fieldOrders returns the order of the fields of each form in the last response, because the SDK loses it. The response
// is a JSON-RPC message or a stream of events with such messages.
func (b *bounded) fieldOrders() map[string]memberNames {
	b.mu.Lock()
	body := b.body
	b.mu.Unlock()
	plain := bytes.HasPrefix(bytes.TrimSpace(body), []byte("{"))
	var messages []byte
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok || plain {
			messages = append(messages, data...)
		}
	}
	orders := map[string]memberNames{}
	var message struct {
		Result struct{ InputRequests map[string]orderedForm }
	}
	for decoder := json.NewDecoder(bytes.NewReader(messages)); decoder.Decode(&message) == nil; {
		for id, form := range message.Result.InputRequests {
			orders[id] = form.Params.RequestedSchema.Properties
		}
	}
	return orders
}

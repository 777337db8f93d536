package toolserver

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// fieldOrders returns the order of the fields of each form in the last response, because the SDK loses it. The response
// is a JSON-RPC message or a stream of events with such messages.
func (b *bounded) fieldOrders() map[string][]string {
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
	orders := map[string][]string{}
	var message json.RawMessage
	for decoder := json.NewDecoder(bytes.NewReader(messages)); decoder.Decode(&message) == nil; {
		gjson.GetBytes(message, "result.inputRequests").ForEach(func(id, form gjson.Result) bool {
			orders[id.Str] = nil
			form.Get("params.requestedSchema.properties").ForEach(func(name, _ gjson.Result) bool {
				orders[id.Str] = append(orders[id.Str], name.Str)
				return true
			})
			return true
		})
	}
	return orders
}

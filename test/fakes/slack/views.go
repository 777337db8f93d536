package slack

import (
	"encoding/json"
	"time"
)

const (
	maxView    = 250 << 10 // In bytes.
	triggerAge = 3 * time.Second
)

// View is a home tab or a modal.
type View struct {
	ID, Type   string
	CallbackID string
	Private    string // Its private_metadata.
	App, User  string
	Raw        json.RawMessage // As published by the app.
	Hash       string
	Open       bool
}

type trigger struct {
	user, app string
	at        time.Time
}

func (w *Workspace) viewJSON(v *View) object {
	o := object{}
	if json.Unmarshal(v.Raw, &o) != nil {
		return nil
	}
	person := w.people[v.User]
	o["id"], o["team_id"], o["app_id"], o["hash"], o["root_view_id"] = v.ID, person.teamID, v.App, v.Hash, v.ID
	o["previous_view_id"] = nil
	if o["state"] == nil {
		o["state"] = object{"values": object{}}
	}
	return o
}

// view decodes the argument view.
func (c *call) view(kind string) (*View, error) {
	raw := c.args["view"]
	if len(raw) > maxView {
		return nil, fail("view_too_large")
	}
	var fields struct {
		Type            string          `json:"type"`
		CallbackID      string          `json:"callback_id"`
		PrivateMetadata string          `json:"private_metadata"`
		Blocks          json.RawMessage `json:"blocks"`
	}
	if json.Unmarshal([]byte(raw), &fields) != nil || fields.Type != kind {
		return nil, &failure{code: "invalid_arguments", more: object{
			"response_metadata": object{"messages": []string{"[ERROR] invalid view [json-pointer:/view]"}},
		}}
	}
	var blocks []json.RawMessage
	if json.Unmarshal(fields.Blocks, &blocks) != nil || len(blocks) > 100 {
		return nil, fail("invalid_arguments")
	}
	for ; len(blocks) > maxBlocks; blocks = blocks[maxBlocks:] { // A view may have twice as many blocks as a message.
		if err := checkView(blocks[:maxBlocks]); err != nil {
			return nil, err
		}
	}
	if err := checkView(blocks); err != nil {
		return nil, err
	}
	return &View{
		ID: c.id("V"), Type: kind, CallbackID: fields.CallbackID, Private: fields.PrivateMetadata, App: c.in.app.ID,
		Raw: json.RawMessage(raw), Hash: c.ts(),
	}, nil
}

func checkView(blocks []json.RawMessage) error {
	raw, err := json.Marshal(blocks)
	if err != nil {
		return err
	}
	if _, code, messages := checkBlocks(string(raw)); code != "" {
		return &failure{code: "invalid_arguments", more: object{"response_metadata": object{"messages": messages}}}
	}
	return nil
}

func (c *call) viewsPublish() (object, error) {
	view, err := c.view("home")
	if err != nil {
		return nil, err
	}
	if c.people[c.args["user_id"]] == nil {
		return nil, fail("user_not_found")
	}
	view.User = c.args["user_id"]
	key := c.in.app.ID + " " + view.User
	if before := c.homes[key]; before != nil {
		if hash := c.args["hash"]; hash != "" && hash != before.Hash {
			return nil, fail("hash_conflict")
		}
		view.ID = before.ID
	}
	c.homes[key], c.views[view.ID] = view, view
	c.touch()
	return object{"view": c.viewJSON(view)}, nil
}

func (c *call) viewsOpen() (object, error) {
	t, ok := c.triggers[c.args["trigger_id"]]
	if !ok || t.app != c.in.app.ID {
		return nil, fail("invalid_trigger_id")
	}
	delete(c.triggers, c.args["trigger_id"])
	if c.clock.now().Sub(t.at) > triggerAge {
		return nil, fail("expired_trigger_id")
	}
	view, err := c.view("modal")
	if err != nil {
		return nil, err
	}
	view.User, view.Open = t.user, true
	c.views[view.ID] = view
	c.touch()
	return object{"view": c.viewJSON(view)}, nil
}

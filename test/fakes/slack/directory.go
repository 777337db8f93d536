package slack

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

func (c *call) authTest() (object, error) {
	return object{
		"url": "https://demo-shoji.slack.com/", "team": teamName, "team_id": DemoTeam, "user": appName,
		"user_id": DemoBot, "bot_id": botID, "is_enterprise_install": false,
	}, nil
}

func (c *call) botsInfo() (object, error) {
	if c.args["bot"] != botID {
		return nil, fail("bot_not_found")
	}
	return object{"bot": object{"id": botID, "app_id": DemoApp, "user_id": DemoBot, "name": appName}}, nil
}

func (c *call) usersInfo() (object, error) {
	person := c.people[c.args["user"]]
	if person == nil {
		return nil, fail("user_not_found")
	}
	profile := object{"real_name": person.RealName, "display_name": person.Name, "team": person.team()}
	user := object{
		"id": person.ID, "team_id": person.team(), "name": person.Name, "real_name": person.RealName,
		"deleted": person.Deleted, "is_bot": person.Bot, "is_stranger": person.team() != DemoTeam, "profile": profile,
	}
	if c.require("users:read.email") == nil && person.Email != "" && person.team() == DemoTeam {
		profile["email"] = person.Email
	}
	if !person.Deleted {
		user["is_restricted"] = person.Restricted || person.UltraRestricted
		user["is_ultra_restricted"] = person.UltraRestricted
		user["is_email_confirmed"] = person.EmailConfirmed
	}
	return object{"user": user}, nil
}

// readable finds the channel of an argument and checks that the bot may read its messages or description. kind is
// history or read.
func (c *call) readable(kind string) (*Channel, error) {
	find := c.seen
	if kind == "history" {
		find = c.joined
	}
	channel, err := find(c.args["channel"])
	if err != nil {
		return nil, err
	}
	scope := "channels:" + kind
	switch {
	case channel.direct != "":
		scope = "im:" + kind
	case channel.Private:
		scope = "groups:" + kind
	}
	return channel, c.require(scope)
}

func (c *call) conversationsInfo() (object, error) {
	channel, err := c.readable("read")
	if err != nil {
		return nil, err
	}
	return object{"channel": object{
		"id": channel.ID, "name": channel.Name, "is_im": channel.direct != "", "is_private": channel.Private,
		"is_ext_shared": channel.Shared, "is_pending_ext_shared": false, "is_member": c.member(channel, DemoBot),
	}}, nil
}

func (c *call) conversationsOpen() (object, error) {
	person := c.people[c.args["users"]]
	if person == nil {
		return nil, fail("user_not_found")
	}
	return object{"channel": object{"id": c.directWith(person.ID).ID}}, nil
}

func (c *call) conversationsReplies() (object, error) {
	channel, err := c.readable("history")
	if err != nil {
		return nil, err
	}
	first := c.find(channel.ID, c.args["ts"])
	if first == nil || first.For != "" {
		return nil, fail("thread_not_found")
	}
	return c.history(c.thread(channel.ID, first.TS))
}

func (c *call) conversationsHistory() (object, error) {
	channel, err := c.readable("history")
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(c.visible(channel.ID, ""), func(m *Message) bool {
		return m.ThreadTS != "" && m.ThreadTS != m.TS
	})
	slices.Reverse(list)
	return c.history(list)
}

// history returns a page of the messages between oldest and latest. The first message of a thread is always part of its
// replies.
func (c *call) history(list []*Message) (object, error) {
	oldest, latest := c.args["oldest"], c.args["latest"]
	within := func(ts string) bool { // Timestamps have the same length.
		return (ts > oldest || c.flag("inclusive") && ts == oldest) &&
			(latest == "" || ts < latest || c.flag("inclusive") && ts == latest)
	}
	messages := []object{}
	for _, m := range list {
		if within(m.TS) || c.method == "conversations.replies" && m.TS == m.ThreadTS {
			messages = append(messages, c.messageJSON(m, c.flag("include_all_metadata")))
		}
	}
	page, next, err := c.paged(messages)
	return object{
		"messages": page, "has_more": next != "", "response_metadata": object{"next_cursor": next},
	}, err
}

// paged returns the page of a list for the arguments limit and cursor, and the next cursor.
func (c *call) paged(list []object) ([]object, string, error) {
	limit, _ := strconv.Atoi(c.args["limit"])
	if limit < 1 || limit > 1000 {
		limit = 1000
	}
	from, err := strconv.Atoi(cmp.Or(c.args["cursor"], "0"))
	if err != nil || from < 0 || from > len(list) {
		return nil, "", fail("invalid_cursor")
	}
	to := from + limit
	if to >= len(list) {
		return list[from:], "", nil
	}
	return list[from:to], strconv.Itoa(to), nil
}

func (c *call) viewsPublish() (object, error) {
	raw := c.args["view"]
	var view struct {
		Type   string          `json:"type"`
		Blocks json.RawMessage `json:"blocks"`
	}
	if len(raw) > 250<<10 {
		return nil, fail("view_too_large")
	}
	if json.Unmarshal([]byte(raw), &view) != nil || view.Type != "home" {
		return nil, invalid("invalid_arguments", "[ERROR] invalid view [json-pointer:/view]")
	}
	if err := checkBlocks(string(view.Blocks), 2*maxBlocks); err != nil {
		return nil, err
	}
	user := c.args["user_id"]
	if c.people[user] == nil {
		return nil, fail("user_not_found")
	}
	c.homes[user] = json.RawMessage(raw)
	c.touch()
	return object{"view": object{"id": "V" + user, "type": view.Type, "blocks": view.Blocks}}, nil
}

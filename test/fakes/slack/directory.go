package slack

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"
)

func (c *call) apiTest() (object, error) { return object{"args": c.args}, nil }

func (c *call) authTest() (object, error) {
	body := object{
		"url": "https://" + c.in.team.Domain + ".slack.com/", "team": c.in.team.Name, "team_id": c.in.team.ID,
		"user": c.people[c.in.UserID].Name, "user_id": c.in.UserID, "bot_id": c.in.BotID,
		"app_id": c.in.app.ID, "is_enterprise_install": false,
	}
	if c.in.team.EnterpriseID != "" {
		body["enterprise_id"] = c.in.team.EnterpriseID
	}
	return body, nil
}

func (c *call) botsInfo() (object, error) {
	for _, person := range c.people {
		if person.botID != "" && person.botID == c.args["bot"] && person.teamID == c.in.team.ID {
			return object{"bot": c.botJSON(person)}, nil
		}
	}
	return nil, fail("bot_not_found")
}

func (w *Workspace) botJSON(person *Person) object {
	return object{
		"id": person.botID, "app_id": person.appID, "user_id": person.ID, "name": person.Name, "team_id": person.teamID,
		"deleted": person.Deleted, "updated": 1700000000, "icons": object{},
	}
}

func (c *call) teamInfo() (object, error) {
	team := c.in.team
	if id := c.args["team"]; id != "" && id != team.ID {
		if team = c.teams[id]; team == nil {
			return nil, fail("team_not_found")
		}
	}
	body := object{"id": team.ID, "name": team.Name, "domain": team.Domain, "email_domain": "", "icon": object{}}
	if team.EnterpriseID != "" {
		body["enterprise_id"], body["enterprise_name"] = team.EnterpriseID, team.EnterpriseName
	}
	return object{"team": body}, nil
}

// known reports whether a person is visible to the bot's team: as an account, or by a shared channel.
func (c *call) known(person *Person) bool {
	if person == nil || person.teamID == c.in.team.ID {
		return person != nil
	}
	for _, channel := range c.channels {
		teams := c.teamsOf(channel)
		if slices.Contains(teams, c.in.team.ID) && slices.Contains(teams, person.teamID) {
			return true
		}
	}
	return false
}

func (c *call) userJSON(person *Person) object {
	profile := object{
		"real_name": person.RealName, "display_name": person.Name, "team": person.teamID,
		"real_name_normalized": person.RealName, "display_name_normalized": person.Name,
	}
	stranger := person.teamID != c.in.team.ID
	if c.has("users:read.email") && person.Email != "" && !stranger {
		profile["email"] = person.Email
	}
	user := object{
		"id": person.ID, "team_id": person.teamID, "name": person.Name, "real_name": person.RealName,
		"deleted": person.Deleted, "is_bot": person.Bot, "is_app_user": false, "updated": 1700000000,
		"tz": "Asia/Tokyo", "tz_label": "日本標準時", "tz_offset": 32400, "profile": profile,
	}
	if !person.Deleted {
		user["is_admin"], user["is_owner"], user["is_primary_owner"] = person.Admin, false, false
		user["is_restricted"] = person.Restricted || person.UltraRestricted
		user["is_ultra_restricted"] = person.UltraRestricted
		user["is_email_confirmed"] = person.EmailConfirmed
	}
	if stranger || person.Stranger {
		user["is_stranger"] = true
	}
	if c.flag("include_locale") {
		user["locale"] = cmp.Or(person.Locale, "ja-JP")
	}
	if team := c.teams[person.teamID]; team != nil && team.EnterpriseID != "" {
		user["enterprise_user"] = object{
			"id": person.ID, "enterprise_id": team.EnterpriseID, "enterprise_name": team.EnterpriseName,
			"is_admin": false, "is_owner": false, "teams": []string{team.ID},
		}
	}
	return user
}

func (c *call) usersInfo() (object, error) {
	person := c.people[c.args["user"]]
	if person == nil {
		return nil, fail("user_not_found")
	}
	if !c.known(person) {
		return nil, fail("user_not_visible")
	}
	return object{"user": c.userJSON(person)}, nil
}

func (c *call) usersLookup() (object, error) {
	for _, person := range c.people {
		if person.teamID == c.in.team.ID && person.Email != "" && !person.Deleted &&
			strings.EqualFold(person.Email, c.args["email"]) {
			return object{"user": c.userJSON(person)}, nil
		}
	}
	return nil, fail("users_not_found")
}

func (c *call) usersList() (object, error) {
	var members []object
	for _, id := range slices.Sorted(maps.Keys(c.people)) {
		if person := c.people[id]; person.teamID == c.in.team.ID {
			members = append(members, c.userJSON(person))
		}
	}
	page, next, err := paged(c, members, 1000)
	return object{"members": page, "response_metadata": object{"next_cursor": next}}, err
}

func (c *call) channelJSON(channel *Channel) object {
	external := len(channel.SharedWith) > 0
	body := object{
		"id": channel.ID, "created": 1700000000, "is_archived": channel.Archived, "is_im": channel.direct != "",
		"is_mpim": false, "is_org_shared": false, "context_team_id": c.in.team.ID, "updated": 1700000000000,
	}
	if channel.direct != "" {
		body["user"], body["is_open"], body["is_user_deleted"] = channel.direct, true, c.people[channel.direct].Deleted
		return body
	}
	body["name"], body["name_normalized"] = channel.Name, channel.Name
	body["is_channel"], body["is_group"] = !channel.Private, channel.Private
	body["is_private"], body["is_general"] = channel.Private, channel.Name == "general"
	body["is_shared"], body["is_ext_shared"], body["is_pending_ext_shared"] = external, external, false
	body["shared_team_ids"], body["is_member"] = c.teamsOf(channel), c.member(channel, c.in.UserID)
	body["topic"], body["purpose"] = object{"value": ""}, object{"value": ""}
	if external {
		body["connected_team_ids"], body["conversation_host_id"] = c.teamsOf(channel), channel.teamID
	}
	return body
}

// readable finds the channel of an argument and checks that the bot may read its messages or description. kind is
// history or read.
func (c *call) readable(kind string) (*Channel, error) {
	channel := c.channels[c.args["channel"]]
	if channel == nil || !c.sees(channel) {
		return nil, fail("channel_not_found")
	}
	scope := "channels:" + kind
	switch {
	case channel.direct != "":
		scope = "im:" + kind
	case channel.Private:
		scope = "groups:" + kind
	}
	if !c.has(scope) {
		return nil, &failure{code: "missing_scope", more: object{
			"needed": scope, "provided": strings.Join(c.in.Scopes, ","),
		}}
	}
	if kind == "history" && !c.member(channel, c.in.UserID) {
		return nil, fail("not_in_channel")
	}
	return channel, nil
}

func (c *call) conversationsInfo() (object, error) {
	channel, err := c.readable("read")
	if err != nil {
		return nil, err
	}
	return object{"channel": c.channelJSON(channel)}, nil
}

func (c *call) listed(member bool) (object, error) {
	kinds := strings.Split(cmp.Or(c.args["types"], "public_channel"), ",")
	var channels []object
	for _, id := range c.order {
		channel := c.channels[id]
		kind := "public_channel"
		switch {
		case channel.direct != "":
			kind = "im"
		case channel.Private:
			kind = "private_channel"
		}
		if slices.Contains(kinds, kind) && c.sees(channel) && (!member || c.member(channel, c.in.UserID)) &&
			(!channel.Archived || !c.flag("exclude_archived")) {
			channels = append(channels, c.channelJSON(channel))
		}
	}
	page, next, err := paged(c, channels, 100)
	return object{"channels": page, "response_metadata": object{"next_cursor": next}}, err
}

func (c *call) conversationsList() (object, error) { return c.listed(false) }

func (c *call) usersConversations() (object, error) { return c.listed(true) }

func (c *call) conversationsMembers() (object, error) {
	channel, err := c.readable("read")
	if err != nil {
		return nil, err
	}
	var members []string
	for _, id := range slices.Sorted(maps.Keys(c.people)) {
		if c.member(channel, id) {
			members = append(members, id)
		}
	}
	page, next, err := paged(c, members, 100)
	return object{"members": page, "response_metadata": object{"next_cursor": next}}, err
}

func (c *call) conversationsOpen() (object, error) {
	person := c.people[c.args["users"]]
	if person == nil || !c.known(person) {
		return nil, fail("user_not_found")
	}
	if person.Deleted {
		return nil, fail("user_disabled")
	}
	channel := c.directWith(c.in, person.ID)
	body := object{"id": channel.ID}
	if c.flag("return_im") {
		body = c.channelJSON(channel)
	}
	return object{"channel": body}, nil
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
	var list []*Message
	for _, m := range c.visible(channel.ID, "") {
		if m == first || first.ThreadTS != "" && m.ThreadTS == first.ThreadTS {
			list = append(list, m)
		}
	}
	return c.history(list)
}

func (c *call) conversationsHistory() (object, error) {
	channel, err := c.readable("history")
	if err != nil {
		return nil, err
	}
	var list []*Message
	for _, m := range c.visible(channel.ID, "") {
		if m.ThreadTS == "" || m.ThreadTS == m.TS {
			list = append(list, m)
		}
	}
	slices.Reverse(list)
	return c.history(list)
}

// history returns the messages between oldest and latest. The first message of a thread is always part of its replies.
func (c *call) history(list []*Message) (object, error) {
	oldest, latest := c.args["oldest"], c.args["latest"]
	for _, bound := range []string{oldest, latest} {
		if _, ok := tsTime(bound); bound != "" && !ok {
			return nil, fail("invalid_ts_oldest")
		}
	}
	within := func(ts string) bool {
		at, _ := tsTime(ts)
		from, _ := tsTime(oldest)
		to, _ := tsTime(latest)
		return (oldest == "" || at.After(from) || c.flag("inclusive") && at.Equal(from)) &&
			(latest == "" || at.Before(to) || c.flag("inclusive") && at.Equal(to))
	}
	messages := []object{}
	for _, m := range list {
		if within(m.TS) || c.method == "conversations.replies" && m.TS == m.ThreadTS {
			messages = append(messages, c.messageJSON(m, c.flag("include_all_metadata")))
		}
	}
	page, next, err := paged(c, messages, 1000)
	return object{
		"messages": page, "has_more": next != "", "response_metadata": object{"next_cursor": next},
	}, err
}

// paged returns the page of a list for the arguments limit and cursor, and the next cursor.
func paged[T any](c *call, list []T, most int) ([]T, string, error) {
	limit := most
	if text := c.args["limit"]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, "", fail("invalid_limit")
		}
		if n > 0 {
			limit = min(n, 1000)
		}
	}
	from := 0
	if cursor := c.args["cursor"]; cursor != "" {
		raw, err := base64.StdEncoding.DecodeString(cursor)
		if err == nil {
			from, err = strconv.Atoi(strings.TrimPrefix(string(raw), "next:"))
		}
		if err != nil || from < 0 || from > len(list) {
			return nil, "", fail("invalid_cursor")
		}
	}
	to, next := min(from+limit, len(list)), ""
	if to < len(list) {
		next = base64.StdEncoding.EncodeToString([]byte("next:" + strconv.Itoa(to)))
	}
	if list == nil {
		list = []T{}
	}
	return list[from:to], next, nil
}

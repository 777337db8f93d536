package api_test

import (
	"strings"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// kind is the kind of object that an id identifies.
type kind string

const (
	aThread  kind = "thread"
	aMessage kind = "message"
	// A thread of the browser extension.
	aPageThread kind = "page thread"
	aSkill      kind = "skill"
	aMadeSkill  kind = "skill of one's own"
	aRequest    kind = "request to publish a skill"
	aCategory   kind = "category"
	aMember     kind = "member"
	aSource     kind = "data source"
	aPassage    kind = "passage"
	aPicture    kind = "picture"
	aTrial      kind = "trial"
	aToolCall   kind = "call of a tool"
	aShare      kind = "share"
	aNotice     kind = "notice"
	aGroup      kind = "group"
	aProject    kind = "project"
	aRating     kind = "rating"

	aSCIMToken  kind = "token for provisioning"
	aToolServer kind = "tool server"
	aConnection kind = "connection"
	nothing     kind = ""
)

// Roles that may make a call. Other authenticated actors receive 403.
var (
	everybody = []identity.Role{
		identity.RoleGeneralUser, identity.RoleOrganizationAdmin,
		identity.RoleOrganizationSuperAdmin, identity.RoleSystemAdmin,
	}
	admins = everybody[1:3]
	supers = everybody[2:3]
)

// rule defines who may make a call, and the status of its response.
type rule struct {
	may    []identity.Role // Nil for everybody, with or without a token.
	status int             // Of the response.
	names  kind            // If it belongs to another actor or does not exist, the status is 404.
	body   func(id string) any
}

// access is the complete access matrix. A route that is missing here fails the test.
var access = map[string]rule{
	"GET /ping": {status: 200}, "GET /healthz": {status: 200}, "GET /readyz": {status: 200},
	"GET /metrics":     {status: 200},
	"GET /config.json": {status: 200}, "GET /openapi.yaml": {status: 200}, "GET /docs/api": {status: 200},
	"GET /.well-known/tsumugi-signing-key": {status: 200}, "GET /v1/me/export": {may: everybody, status: 200},
	"GET /docs/api.css":          {status: 200},
	"GET /extension/updates.xml": {status: 200},
	"GET /extension/tsumugi.crx": {status: 200},
	"GET /extension/tsumugi.zip": {status: 200},
	"GET /*":                     {status: 200},

	"POST /external/slack/v1/event": {status: 401}, "POST /external/slack/v1/interaction": {status: 401},
	"POST /external/slack/v1/command":       {status: 401},
	"GET /external/slack/v1/oauth/callback": {status: 303}, "GET /external/slack/v1/link/callback": {status: 303},
	"GET /v1/slack-config": {may: admins, status: 200},
	"PUT /v1/slack-config": {may: supers, status: 200, body: with(map[string]any{
		"policy": map[string]any{"auto_link": true, "shared_channels": false, "channels": []string{}},
	})},
	"DELETE /v1/slack-config":              {may: supers, status: 404}, // No configuration is stored.
	"GET /v1/slack-config/manifest":        {may: admins, status: 200},
	"POST /v1/slack-config/test":           {may: supers, status: 404},
	"POST /v1/slack-config/install":        {may: supers, status: 409},
	"GET /v1/slack-config/link":            {may: admins, status: 200},
	"DELETE /v1/user/{user_id}/slack-link": {may: supers, status: 404, names: aMember},
	"GET /v1/slack-link":                   {may: everybody, status: 200},
	"POST /v1/slack-link":                  {may: everybody, status: 409, body: with(map[string]any{})},
	"DELETE /v1/slack-link":                {may: everybody, status: 404},

	"GET /v1/tool":        {may: everybody, status: 200},
	"GET /v1/tool-server": {may: supers, status: 200},
	"POST /v1/tool-server": {may: supers, status: 400, body: with(map[string]any{
		"key": "crm", "name": "顧客管理", "url": "https://192.168.0.1/", "auth": "none",
	})},
	"PUT /v1/tool-server/{tool_server_id}": {
		may: supers, status: 200, names: aToolServer, body: with(map[string]any{"enabled": false}),
	},
	"DELETE /v1/tool-server/{tool_server_id}":        {may: supers, status: 204, names: aToolServer},
	"POST /v1/tool-server/{tool_server_id}/discover": {may: supers, status: 200, names: aToolServer},
	"PUT /v1/tool-server/{tool_server_id}/tool/{tool_name}": {
		may: supers, status: 404, names: aToolServer, body: with(map[string]any{"rule": "allow"}),
	},
	"POST /v1/tool-server/{tool_server_id}/tool/{tool_name}/accept": {
		may: supers, status: 404, names: aToolServer, body: with(map[string]any{"offered_sha256": "x"}),
	},
	"POST /v1/tool-server/{tool_server_id}/connection":   {may: everybody, status: 404, names: aToolServer},
	"DELETE /v1/tool-server/{tool_server_id}/connection": {may: everybody, status: 404, names: aToolServer},
	"GET /v1/tool-connection":                            {may: everybody, status: 200},
	"GET /v1/tool-connection/{tool_server_id}/callback":  {status: 303},

	"POST /v1/auth-type": {status: 200, body: with(map[string]any{"email": "somebody@tsumugi.example"})},
	"POST /v1/auth-type/qr-code": {status: 200, body: with(map[string]any{
		"email": "somebody@tsumugi.example", "secret": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
	})},
	"POST /v1/refresh_token":   {status: 401, body: with(map[string]any{"client_id": ssoClient, "refresh_token": "x"})},
	"GET /v1/oauth2/authorize": {status: 400}, "GET /v1/oauth2/callback": {status: 400},
	"GET /v1/oauth2/link": {status: 400}, "POST /v1/oauth2/link": {status: 415},
	"GET /v1/saml/{organization_id}/metadata": {status: 404}, "POST /v1/saml/{organization_id}/acs": {status: 415},
	"GET /v1/oidc/{organization_id}/callback": {status: 303}, "POST /v1/oidc/{organization_id}/logout": {status: 400},
	"GET /v1/live": {status: 426}, // The token arrives later, in a message.

	"POST /v1/signout": {may: everybody, status: 200}, "GET /v1/me": {may: everybody, status: 200},
	"GET /v1/me/usage": {may: everybody, status: 200}, "GET /v1/extension": {may: everybody, status: 200},
	"GET /v1/contract/usage/model": {may: admins, status: 200},
	"GET /v1/contract/usage/tool":  {may: admins, status: 200},
	"GET /v1/contract/usage/csv":   {may: admins, status: 200}, "GET /v1/user/csv": {may: admins, status: 200},
	"GET /v1/audit/csv": {may: admins, status: 200},
	"GET /v1/guidance":  {may: everybody, status: 200},
	"PUT /v1/guidance/about": {may: everybody, status: 200, body: with(map[string]any{
		"name": "", "department": "", "tone": "", "signature": "",
	})},
	"PUT /v1/guidance/instructions": {
		may: admins, status: 200, body: with(map[string]any{"instructions": ""}),
	},
	"GET /v1/model": {may: everybody, status: 200}, "GET /v1/organization/model": {may: admins, status: 200},
	"PUT /v1/organization/model": {may: admins, status: 200, body: with(map[string]any{
		"default_id": "test", "models": []any{map[string]any{"id": "test", "allowed": true, "name": "", "note": ""}},
	})},
	// Test tokens have no session.
	"GET /v1/session": {may: everybody, status: 200}, "DELETE /v1/session": {may: everybody, status: 409},
	"DELETE /v1/session/{session_id}":   {may: everybody, status: 404},
	"DELETE /v1/user/{user_id}/session": {may: admins, status: 204, names: aMember},
	"DELETE /v1/user/{user_id}/factor":  {may: admins, status: 200, names: aMember},
	"GET /v1/factor-policy":             {may: admins, status: 200},
	"PUT /v1/factor-policy": {
		may: supers, status: 200, body: with(map[string]any{"policy": "optional"}),
	},
	"GET /v1/session-limits":     {may: admins, status: 200},
	"GET /v1/organization/state": {may: supers, status: 200},
	"GET /v1/retention":          {may: everybody, status: 200},
	"PUT /v1/retention":          {may: admins, status: 200, body: with(map[string]any{"days": 400})},
	"GET /v1/retention/preview":  {may: admins, status: 400}, // Without days.
	"GET /v1/retention/thread":   {may: everybody, status: 200},
	"GET /v1/member-limit":       {may: admins, status: 200},
	"PUT /v1/member-limit":       {may: admins, status: 200, body: with(map[string]any{"tokens": 1_000_000_000})},
	"PUT /v1/session-limits": {may: supers, status: 200, body: with(map[string]any{
		"single_sign_on": map[string]any{"idle_minutes": 480, "max_minutes": 10080},
		"password":       map[string]any{"idle_minutes": 43200, "max_minutes": 43200},
		"connection":     map[string]any{"idle_minutes": 43200},
	})},
	"GET /v1/address-range":                       {may: admins, status: 200},
	"PUT /v1/address-range":                       {may: supers, status: 200, body: with(map[string]any{"ranges": []string{}})},
	"GET /.well-known/oauth-authorization-server": {status: 200},
	"GET /.well-known/oauth-protected-resource":   {status: 200}, "GET /.well-known/oauth-protected-resource/mcp": {status: 200},
	"GET /mcp": {status: 405}, "POST /mcp": {may: everybody, status: 200, body: with(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": map[string]any{},
	})},
	"POST /v1/oauth2/token": {status: 400}, "POST /v1/oauth2/revoke": {status: 400},
	"POST /v1/oauth2/device": {status: 400},
	"GET /v1/oauth2/grant":   {may: everybody, status: 400},
	"POST /v1/oauth2/grant":  {may: everybody, status: 400, body: grantBody},
	"GET /v1/oauth2/device":  {may: everybody, status: 404},
	"PUT /v1/oauth2/device": {
		may: everybody, status: 404,
		body: with(map[string]any{"user_code": "BCDF-GHJK", "allow": true}),
	},
	"GET /v1/connection": {may: everybody, status: 200},
	"POST /v1/connection/token": {
		may: everybody, status: 201, body: func(string) any { return personalToken("chat") },
	},
	"DELETE /v1/connection/{connection_id}":              {may: everybody, status: 204, names: aConnection},
	"GET /v1/organization/connection":                    {may: admins, status: 200},
	"DELETE /v1/organization/connection/{connection_id}": {may: admins, status: 204, names: aConnection},
	"GET /v1/connection-policy":                          {may: everybody, status: 200},
	"PUT /v1/connection-policy": {
		may: admins, status: 200, body: with(map[string]any{"personal_tokens": true}),
	},
	"PUT /v1/guidance/dictation": {may: admins, status: 200, body: with(map[string]any{"service": true})},
	"GET /v1/category":           {may: everybody, status: 200}, "GET /v1/skill": {may: everybody, status: 200},
	"POST /v1/category": {may: admins, status: 201, body: newCategory},
	"PUT /v1/category/order": {
		may: admins, status: 409, body: with(map[string]any{"category_ids": []string{}}),
	},
	"PUT /v1/category/{category_id}":    {may: admins, status: 200, names: aCategory, body: newCategory},
	"DELETE /v1/category/{category_id}": {may: admins, status: 204, names: aCategory},
	"GET /v1/skill/{skill_id}":          {may: everybody, status: 200, names: aSkill},
	"POST /v1/skill":                    {may: everybody, status: 201, body: func(string) any { return savedSkill("self", 0) }},
	"GET /v1/skill/library":             {may: everybody, status: 200}, "GET /v1/skill/hidden": {may: admins, status: 200},
	"POST /v1/skill/import": {may: everybody, status: 400, body: with(map[string]any{"yaml": "x"})},
	"POST /v1/skill/try": {may: everybody, status: 201, body: func(string) any {
		return map[string]any{"request_id": newID(), "slot": newID(), "content": skillContent()}
	}},
	"GET /v1/skill/request":                    {may: admins, status: 200},
	"GET /v1/skill/request/{skill_request_id}": {may: admins, status: 200, names: aRequest},
	"PUT /v1/skill/request/{skill_request_id}": {
		may: admins, status: 204, names: aRequest, body: with(map[string]any{"approve": false}),
	},
	"PUT /v1/skill/{skill_id}": {
		may: everybody, status: 200, names: aMadeSkill, body: func(string) any { return savedSkill("self", 1) },
	},
	"DELETE /v1/skill/{skill_id}":       {may: everybody, status: 204, names: aMadeSkill},
	"GET /v1/skill/{skill_id}/content":  {may: everybody, status: 200, names: aMadeSkill},
	"POST /v1/skill/{skill_id}/restore": {may: everybody, status: 200, names: aMadeSkill},
	"POST /v1/skill/{skill_id}/copy": {
		may: everybody, status: 201, names: aMadeSkill,
		body: func(string) any { return map[string]any{"request_id": newID(), "audience": "self"} },
	},
	"GET /v1/skill/{skill_id}/version":           {may: everybody, status: 200, names: aMadeSkill},
	"GET /v1/skill/{skill_id}/version/{version}": {may: everybody, status: 404, names: aMadeSkill},
	"GET /v1/skill/{skill_id}/export":            {may: everybody, status: 200, names: aMadeSkill},
	"PUT /v1/skill/{skill_id}/request": {
		may: everybody, status: 200, names: aMadeSkill, body: with(map[string]any{}),
	},
	"DELETE /v1/skill/{skill_id}/request": {may: everybody, status: 200, names: aMadeSkill},
	// For a missing skill; TestHiddenSkills tests the others.
	"PUT /v1/skill/{skill_id}/hidden": {may: admins, status: 404, body: with(map[string]any{"hidden": true})},
	"GET /v1/favorite_skill":          {may: everybody, status: 200},
	"POST /v1/favorite_skill":         {may: everybody, status: 204, names: aSkill, body: id("skill_id")},
	"DELETE /v1/favorite_skill":       {may: everybody, status: 204, body: with(map[string]any{"skill_id": newID()})},
	"GET /v1/notification":            {may: everybody, status: 200},
	"PUT /v1/notification/read": {
		may: everybody, status: 204,
		body: with(map[string]any{"ids": []string{newID()}}),
	},
	"POST /v1/notification": {may: admins, status: 201, body: func(string) any {
		return map[string]any{"request_id": newID(), "title": "休業日", "level": "info", "audience": "all"}
	}},
	"GET /v1/notification/{notification_id}": {may: admins, status: 200, names: aNotice},
	"PUT /v1/notification/{notification_id}": {
		may: admins, status: 200, names: aNotice,
		body: with(map[string]any{"title": "休業日", "level": "info", "audience": "all"}),
	},
	"DELETE /v1/notification/{notification_id}":   {may: admins, status: 204, names: aNotice},
	"POST /v1/notification/{notification_id}/end": {may: admins, status: 409, names: aNotice}, // It is scheduled.
	"GET /v1/organization/notification":           {may: admins, status: 200},
	"GET /v1/group":                               {may: admins, status: 200},
	"POST /v1/group": {may: admins, status: 201, body: func(string) any {
		return map[string]any{"request_id": newID(), "name": newID()}
	}},
	"GET /v1/group/{group_id}": {may: admins, status: 200, names: aGroup},
	"PUT /v1/group/{group_id}": {
		may: admins, status: 200, names: aGroup, body: func(id string) any { return map[string]any{"name": id} },
	},
	"PUT /v1/group/{group_id}/member": {may: admins, status: 200, names: aGroup, body: with(map[string]any{})},
	"DELETE /v1/group/{group_id}":     {may: admins, status: 204, names: aGroup},

	// The roles in a project: TestProjectRoles.
	"GET /v1/project": {may: everybody, status: 200}, "GET /v1/project/all": {may: admins, status: 200},
	"POST /v1/project": {may: everybody, status: 201, body: func(string) any {
		return map[string]any{"request_id": newID(), "name": "新商品"}
	}},
	"GET /v1/project/{project_id}": {may: everybody, status: 200, names: aProject},
	"PUT /v1/project/{project_id}": {
		may: everybody, status: 200, names: aProject, body: with(map[string]any{"version": 1, "name": "新しい名前"}),
	},
	"DELETE /v1/project/{project_id}":       {may: everybody, status: 204, names: aProject},
	"POST /v1/project/{project_id}/restore": {may: everybody, status: 409, names: aProject}, // It is not deleted.
	"PUT /v1/project/{project_id}/archive": {
		may: everybody, status: 204, names: aProject, body: with(map[string]any{"archived": true}),
	},
	"GET /v1/project/{project_id}/grant": {may: everybody, status: 200, names: aProject},
	// Without a manager.
	"PUT /v1/project/{project_id}/grant": {
		may: everybody, status: 409, names: aProject, body: with(map[string]any{"version": 1, "grants": []any{}}),
	},
	"POST /v1/project/{project_id}/leave":  {may: everybody, status: 409, names: aProject}, // The last manager.
	"GET /v1/project/{project_id}/subject": {may: everybody, status: 200, names: aProject},
	"GET /v1/project/{project_id}/channel": {may: everybody, status: 200, names: aProject},
	// No channel is bound.
	"DELETE /v1/project/{project_id}/channel/{channel_id}": {may: everybody, status: 404, names: aProject},
	// It has a manager.
	"POST /v1/project/{project_id}/manager": {
		may: admins, status: 409, names: aProject, body: func(string) any { return map[string]any{"user_id": newID()} },
	},
	"GET /v1/project/{project_id}/usage":       {may: everybody, status: 200, names: aProject},
	"GET /v1/project/{project_id}/search":      {may: everybody, status: 200, names: aProject},
	"GET /v1/project/{project_id}/data-source": {may: everybody, status: 200, names: aProject},
	// For a missing file.
	"POST /v1/project/{project_id}/data-source": {
		may: everybody, status: 404, names: aProject, body: unknownSource,
	},
	"DELETE /v1/project/{project_id}/data-source/{data_source_id}": {may: everybody, status: 404, names: aProject},

	"GET /v1/models": {may: everybody, status: 200}, "GET /v1/models/{model}": {may: everybody, status: 200, names: aSkill},
	"POST /v1/chat/completions": {
		may: everybody, status: 404, body: func(string) any { return completionOf("none") },
	},
	"POST /v1/responses": {
		may: everybody, status: 404, body: with(map[string]any{"model": "none", "input": "糸とは"}),
	},
	"GET /v1/thread":                {may: everybody, status: 200},
	"POST /v1/thread":               {may: everybody, status: 201, names: aSkill, body: id("skill_id")},
	"GET /v1/thread/{thread_id}":    {may: everybody, status: 200, names: aThread},
	"DELETE /v1/thread/{thread_id}": {may: everybody, status: 204, names: aThread},
	"PUT /v1/thread/{thread_id}": {
		may: everybody, status: 200, names: aThread,
		body: with(map[string]any{"title": "見出し"}),
	},
	"PUT /v1/thread/{thread_id}/touch": {may: everybody, status: 200, names: aThread},
	"PUT /v1/thread/{thread_id}/project": {
		may: everybody, status: 200, names: aThread,
		body: with(map[string]any{"project_id": nil, "visibility": "private"}),
	},
	"GET /v1/thread/{thread_id}/audience": {may: everybody, status: 400}, // Without a project.
	// Without messages.
	"PUT /v1/thread/{thread_id}/share": {
		may: everybody, status: 404, names: aThread,
		body: with(map[string]any{"leaf": newID()}),
	},
	"GET /v1/share":                            {may: everybody, status: 200},
	"GET /v1/organization/share":               {may: admins, status: 200},
	"GET /v1/share/{share_id}":                 {may: everybody, status: 200, names: aShare},
	"DELETE /v1/share/{share_id}":              {may: everybody, status: 204, names: aShare},
	"GET /v1/share/{share_id}/message":         {may: everybody, status: 200, names: aShare},
	"POST /v1/share/{share_id}/thread":         {may: everybody, status: 201, names: aShare, body: with(map[string]any{})},
	"GET /v1/message":                          {may: everybody, status: 200, names: aThread}, // In the query.
	"POST /v1/message/async":                   {may: everybody, status: 202, names: aThread, body: question},
	"POST /v1/message/sync":                    {may: everybody, status: 200, names: aThread, body: question},
	"POST /v1/message/stream":                  {may: everybody, status: 200, names: aThread, body: question},
	"GET /v1/message/{message_id}/stream":      {may: everybody, status: 200, names: aMessage},
	"GET /v1/thread/{thread_id}/stream":        {may: everybody, status: 204, names: aThread}, // No answer is running.
	"POST /v1/message/{message_id}/stop":       {may: everybody, status: 204, names: aMessage},
	"POST /v1/message/{message_id}/suggestion": {may: everybody, status: 200, names: aMessage},
	"DELETE /v1/message/{message_id}/queue":    {may: everybody, status: 409, names: aMessage}, // It is answered.
	// For an answer without changes.
	"PUT /v1/message/{message_id}/decision": {may: everybody, status: 409, names: aMessage, body: func(string) any {
		return map[string]any{"accepted": []int{1}, "refused": []int{}}
	}},
	"GET /v1/tool-call": {may: everybody, status: 200},
	// Of an answer that has ended.
	"POST /v1/tool-call/{tool_call_id}/decision": {may: everybody, status: 409, names: aToolCall, body: func(string) any {
		return map[string]any{"request_id": newID(), "approved": true, "arguments_sha256": strings.Repeat("00", 32)}
	}},
	"GET /v1/message/{message_id}/docx": {may: everybody, status: 409, names: aMessage},
	"POST /external/chrome_extension/v1/chat/completion/stream": {
		may: everybody, status: 200, names: aPageThread, body: func(id string) any {
			return map[string]any{
				"request_id": newID(), "thread_id": id, "kind": "chrome_extension_page_whole_summary_follow_up",
				"messages": []any{map[string]any{"role": "user", "content": "糸とは"}},
			}
		},
	},
	"POST /external/chrome_extension/v1/page/file": {may: everybody, status: 415},
	"POST /v1/message_feedback": {may: everybody, status: 200, names: aMessage, body: func(id string) any {
		return map[string]any{"message_id": id, "rating": "good"}
	}},
	"DELETE /v1/message_feedback/{message_id}": {may: everybody, status: 204, names: aMessage},

	"POST /v1/picture":                {may: everybody, status: 415},
	"GET /v1/picture/{picture_id}":    {may: everybody, status: 200, names: aPicture},
	"DELETE /v1/picture/{picture_id}": {may: everybody, status: 204, names: aPicture},

	"GET /v1/organization/feedback":              {may: admins, status: 200},
	"GET /v1/organization/feedback/skill":        {may: admins, status: 200},
	"GET /v1/organization/feedback/csv":          {may: admins, status: 200},
	"GET /v1/organization/feedback/{message_id}": {may: admins, status: 200, names: aRating},

	"GET /v1/data-source": {may: everybody, status: 200}, "POST /v1/data-source/file": {may: everybody, status: 415},
	"GET /v1/data-source/file/{data_source_id}":                {may: everybody, status: 200, names: aSource},
	"GET /v1/data-source/{data_source_id}":                     {may: everybody, status: 200, names: aSource},
	"GET /v1/data-source/{data_source_id}/passage":             {may: everybody, status: 200, names: aSource},
	"DELETE /v1/data-source/{data_source_id}":                  {may: everybody, status: 204, names: aSource},
	"GET /v1/data-source-chunk-embedding/{chunk_embedding_id}": {may: everybody, status: 200, names: aPassage},
	// For a missing data source; TestPreprocess tests the others.
	"POST /v1/thread/{thread_id}/data-source-preprocess": {
		may: everybody, status: 404, names: aThread, body: unknownSource,
	},
	"POST /v1/thread/{thread_id}/data-source-preprocess-sync": {
		may: everybody, status: 404, names: aThread, body: unknownSource,
	},

	"GET /v1/data-source/{data_source_id}/page/{page}": {may: everybody, status: 404, names: aSource},

	"POST /v1/data-source/{data_source_id}/stop": {may: everybody, status: 200, names: aSource},
	"POST /v1/data-source/{data_source_id}/read": {may: everybody, status: 200, names: aSource},

	"GET /v1/contract": {may: admins, status: 200}, "GET /v1/contract/usage/member": {may: admins, status: 200},
	"GET /v1/user": {may: admins, status: 200}, "GET /v1/audit": {may: admins, status: 200},
	"PUT /v1/user/{user_id}": {
		may: admins, status: 200, names: aMember,
		body: with(map[string]any{"name": "新しい名前"}),
	},
	"DELETE /v1/user/{user_id}":          {may: admins, status: 204, names: aMember},
	"GET /v1/user/{user_id}/removal":     {may: admins, status: 200, names: aMember},
	"DELETE /v1/user/{user_id}/sso-link": {may: admins, status: 409, names: aMember}, // The member is not linked.
	"POST /v1/user/invite": {may: admins, status: 200, body: func(string) any {
		return map[string]any{"users": []any{map[string]any{
			"email": newID() + "@tsumugi.example", "name": "新人",
			"role": "general-user",
		}}}
	}},
	"POST /v1/user/invite/resend": {may: admins, status: 204, names: aMember, body: id("user_id")},

	"GET /v1/saml-config": {may: admins, status: 200}, "PUT /v1/saml-config": {
		may: supers, status: 200,
		body: with(map[string]any{}),
	},
	"PUT /v1/saml-config/on": {may: supers, status: 200}, "PUT /v1/saml-config/off": {may: supers, status: 200},
	"GET /v1/oidc-config": {may: admins, status: 200}, "PUT /v1/oidc-config": {
		may: supers, status: 200, body: with(map[string]any{}),
	},
	// Nothing is configured; TestSignInByOpenIDConnect tests the others.
	"PUT /v1/oidc-config/on": {may: supers, status: 409}, "PUT /v1/oidc-config/off": {may: supers, status: 200},
	"POST /v1/oidc-config/test": {may: supers, status: 409},
	"GET /v1/scim-config":       {may: admins, status: 200}, "GET /v1/scim-config/call": {may: admins, status: 200},
	"POST /v1/scim-config/token":              {may: supers, status: 201, body: with(map[string]any{"name": "Okta"})},
	"DELETE /v1/scim-config/token/{token_id}": {may: supers, status: 204, names: aSCIMToken},

	"POST /v1/saml-config/test":          {may: supers, status: 201},
	"GET /v1/saml-config/test/{test_id}": {may: supers, status: 200, names: aTrial},
}

// skillContent returns the content of a skill with a unique name.
func skillContent() map[string]any {
	categories, _, _ := skill.Builtin()
	return map[string]any{
		"name": newID()[18:], "description": "試験のスキルです。", "icon": "chat", "category_id": categories[0].ID,
		"prompt": "あなたは秘書です。",
	}
}

// savedSkill returns the body that saves a skill. version is the edited version, or 0 for a new skill.
func savedSkill(audience string, version int) map[string]any {
	body := map[string]any{"request_id": newID(), "audience": audience, "content": skillContent()}
	if version > 0 {
		body["version"] = version
	}
	return body
}

// newCategory returns the body of a category with a unique name.
func newCategory(string) any { return map[string]any{"name": newID()[24:]} }

func with(body any) func(string) any { return func(string) any { return body } }

func id(field string) func(string) any {
	return func(id string) any { return map[string]any{field: id} }
}

func unknownSource(string) any { return map[string]any{"data_source_ids": []string{newID()}} }

func question(id string) any {
	return map[string]any{"request_id": newID(), "thread_id": id, "content": "糸とは"}
}

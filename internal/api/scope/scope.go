// Package scope lists the routes that connections may call, with their scopes. It imports only identity, so that the
// generator of the API's page can use it.
package scope

import "github.com/tsumugi-ai/tsumugi/internal/identity"

// Scopes of routes.
var (
	anyScope = []identity.Scope{identity.ScopeChat, identity.ScopeDocuments, identity.ScopeExtension}
	inChat   = []identity.Scope{identity.ScopeChat}
	inFiles  = []identity.Scope{identity.ScopeDocuments}
	inPages  = []identity.Scope{identity.ScopeExtension}
	// Each message of the Model Context Protocol needs one of them: see mcp.Message.
	inMCP = []identity.Scope{identity.ScopeChat, identity.ScopeDocuments}
	// Actions of the extension on its answers.
	inAnswer = []identity.Scope{identity.ScopeChat, identity.ScopeExtension}
)

// Of returns the scopes of a route, such as "GET /v1/thread/{thread_id}". Each of them is sufficient. A route without
// scopes is for the app only.
func Of(route string) []identity.Scope { return routes[route] }

// routes are the routes that connections may call. All other routes, especially administration and account settings,
// and new ones, are for the app only.
var routes = map[string][]identity.Scope{
	"GET /v1/me":       anyScope,
	"GET /v1/me/usage": anyScope,

	"POST /mcp": inMCP,

	"GET /v1/model":                 inChat,
	"GET /v1/models":                inChat,
	"GET /v1/models/{model}":        inChat,
	"POST /v1/chat/completions":     inChat,
	"POST /v1/responses":            inChat,
	"GET /v1/category":              inChat,
	"GET /v1/skill":                 inChat,
	"GET /v1/skill/{skill_id}":      inChat,
	"GET /v1/favorite_skill":        inChat,
	"POST /v1/favorite_skill":       inChat,
	"DELETE /v1/favorite_skill":     inChat,
	"GET /v1/notification":          inChat,
	"PUT /v1/notification/read":     inChat,
	"GET /v1/thread":                inChat,
	"POST /v1/thread":               inChat,
	"GET /v1/thread/{thread_id}":    inAnswer,
	"PUT /v1/thread/{thread_id}":    inChat,
	"DELETE /v1/thread/{thread_id}": inChat,

	"PUT /v1/thread/{thread_id}/touch":           inChat,
	"PUT /v1/thread/{thread_id}/project":         inChat,
	"GET /v1/thread/{thread_id}/audience":        inChat,
	"PUT /v1/thread/{thread_id}/share":           inChat,
	"GET /v1/share":                              inChat,
	"GET /v1/share/{share_id}":                   inChat,
	"DELETE /v1/share/{share_id}":                inChat,
	"GET /v1/share/{share_id}/message":           inChat,
	"POST /v1/share/{share_id}/thread":           inChat,
	"GET /v1/thread/{thread_id}/stream":          inAnswer,
	"GET /v1/message":                            inAnswer,
	"POST /v1/picture":                           inChat,
	"GET /v1/picture/{picture_id}":               inChat,
	"DELETE /v1/picture/{picture_id}":            inChat,
	"POST /v1/message/async":                     inChat,
	"POST /v1/message/sync":                      inChat,
	"POST /v1/message/stream":                    inAnswer, // For regenerating an answer.
	"GET /v1/message/{message_id}/stream":        inAnswer,
	"POST /v1/message/{message_id}/stop":         inAnswer,
	"DELETE /v1/message/{message_id}/queue":      inChat,
	"PUT /v1/message/{message_id}/decision":      inChat,
	"GET /v1/message/{message_id}/docx":          inChat,
	"GET /v1/tool-call":                          inAnswer,
	"POST /v1/tool-call/{tool_call_id}/decision": inAnswer,
	"POST /v1/message/{message_id}/suggestion":   inChat,
	"POST /v1/message_feedback":                  inAnswer,
	"DELETE /v1/message_feedback/{message_id}":   inAnswer,

	"POST /external/chrome_extension/v1/chat/completion/stream": inPages,
	"POST /external/chrome_extension/v1/page/file":              inPages,
	"GET /v1/project": inPages, // To choose the project of a question.

	"POST /v1/thread/{thread_id}/data-source-preprocess":       inFiles,
	"POST /v1/thread/{thread_id}/data-source-preprocess-sync":  inFiles,
	"GET /v1/data-source-chunk-embedding/{chunk_embedding_id}": inFiles,
	"GET /v1/data-source":                              inFiles,
	"GET /v1/data-source/{data_source_id}":             inFiles,
	"GET /v1/data-source/{data_source_id}/passage":     inFiles,
	"DELETE /v1/data-source/{data_source_id}":          inFiles,
	"POST /v1/data-source/{data_source_id}/stop":       inFiles,
	"POST /v1/data-source/{data_source_id}/read":       inFiles,
	"POST /v1/data-source/file":                        inFiles,
	"GET /v1/data-source/file/{data_source_id}":        inFiles,
	"GET /v1/data-source/{data_source_id}/page/{page}": inFiles,
}

package system_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// step is one call of a round. {name} in its path and body is replaced by a value that an earlier step has saved. A
// step whose values are missing is skipped.
type step struct {
	method, path string

	body   string // JSON. {new} is a new id, and {ask} a question with a short answer.
	save   string // Values of the response to save, such as "thread=id other=items.0.id"; * is all of it.
	accept int    // A status of a refusal that counts as success.

	run func(*visitor, context.Context) error // Replaces the call.
}

// memberSteps are calls that every member makes.
var memberSteps = []step{
	{method: "POST", path: "/pool/", run: (*visitor).signInAgain},
	{method: "GET", path: "/config.json"},
	{method: "GET", path: "/v1/me", save: "user=id"},
	{method: "GET", path: "/v1/me/usage"},
	{method: "GET", path: "/v1/guidance"},
	{
		method: "PUT", path: "/v1/guidance/about",
		body: `{"name":"山田","department":"","tone":"簡潔に","signature":""}`,
	},
	{method: "GET", path: "/v1/session"},
	{method: "GET", path: "/v1/connection"},
	{method: "GET", path: "/v1/connection-policy"},
	{method: "GET", path: "/v1/notification"},
	{method: "GET", path: "/v1/live", run: (*visitor).live},

	// Skills.
	{method: "GET", path: "/v1/category", save: "category=items.0.id"},
	{method: "GET", path: "/v1/skill?limit=100"},
	{method: "GET", path: "/v1/skill/{skill}"},
	{method: "POST", path: "/v1/favorite_skill", body: `{"skill_id":"{skill}"}`},
	{method: "GET", path: "/v1/favorite_skill"},
	{method: "DELETE", path: "/v1/favorite_skill", body: `{"skill_id":"{skill}"}`},
	{
		method: "POST", path: "/v1/skill", save: "own=id",
		body: `{"request_id":"{new}","audience":"self","content":{content}}`,
	},
	{
		method: "PUT", path: "/v1/skill/{own}",
		body: `{"request_id":"{new}","version":1,"audience":"self","content":{content}}`,
	},
	{method: "GET", path: "/v1/skill/library"},
	{method: "GET", path: "/v1/skill/{own}/content"},
	{method: "GET", path: "/v1/skill/{own}/version"},
	{method: "GET", path: "/v1/skill/{own}/version/1"},
	{method: "GET", path: "/v1/skill/{own}/export"},
	{
		method: "POST", path: "/v1/skill/{own}/copy", save: "copy=id",
		body: `{"request_id":"{new}","audience":"self"}`,
	},
	{method: "DELETE", path: "/v1/skill/{copy}"},
	{method: "PUT", path: "/v1/skill/{own}/request", body: `{"note":"お願いします。"}`},
	{method: "DELETE", path: "/v1/skill/{own}/request"},
	{
		method: "POST", path: "/v1/skill/try", save: "trial=thread_id",
		body: `{"request_id":"{new}","slot":"{new}","content":{content}}`,
	},

	// Threads, questions and answers.
	{method: "GET", path: "/v1/model"},
	{method: "GET", path: "/v1/models"},
	{
		method: "POST", path: "/v1/thread", save: "thread=id",
		body: `{"skill_id":"{skill}","request_id":"{new}","title":"質問"}`,
	},
	{
		method: "POST", path: "/v1/message/sync", save: "question=question.id answer=answer.id",
		body: `{"request_id":"{new}","thread_id":"{thread}","content":{ask}}`,
	},
	{method: "POST", path: "/v1/message/stream", run: (*visitor).askAndFollow},
	{
		method: "POST", path: "/v1/message/async", save: "running=answer.id",
		body: `{"request_id":"{new}","thread_id":"{thread}","content":{askLong}}`,
	},
	{method: "GET", path: "/v1/message?thread_id={thread}"},
	{method: "POST", path: "/v1/message/{running}/stop"},
	{method: "GET", path: "/v1/message/{running}/stream", run: (*visitor).followStopped},
	{
		method: "POST", path: "/v1/message/sync",
		body: `{"request_id":"{new}","thread_id":"{thread}","regenerate":"{answer}"}`,
	},
	{
		method: "POST", path: "/v1/message_feedback",
		body: `{"message_id":"{answer}","rating":"bad","comment":"違います。","with_text":true}`,
	},
	{method: "DELETE", path: "/v1/message_feedback/{answer}"},
	{method: "POST", path: "/v1/message_feedback", body: `{"message_id":"{answer}","rating":"good"}`},
	{method: "GET", path: "/v1/thread?limit=20"},
	{method: "GET", path: "/v1/thread?q=" + url.QueryEscape("質問")},
	{method: "GET", path: "/v1/thread/{thread}"},
	{method: "PUT", path: "/v1/thread/{thread}", body: `{"title":"別の題","pinned":true}`},
	{method: "PUT", path: "/v1/thread/{thread}/touch"},
	{method: "PUT", path: "/v1/thread/{thread}/share", save: "share=id", body: `{"leaf":"{answer}"}`},
	{method: "GET", path: "/v1/share"},
	{method: "GET", path: "/v1/share/{share}"},
	{method: "GET", path: "/v1/share/{share}/message"},
	{method: "POST", path: "/v1/share/{share}/thread", save: "copied=id", body: `{"request_id":"{new}"}`},
	{method: "DELETE", path: "/v1/share/{share}"},
	{method: "DELETE", path: "/v1/thread/{copied}"},
	{
		method: "POST", path: "/v1/chat/completions",
		body: `{"model":"{skill}","messages":[{"role":"user","content":{ask}}]}`,
	},
	{
		method: "POST", path: "/v1/chat/completions",
		body: `{"model":"{skill}","store":false,"stream":true,"messages":[{"role":"user","content":{ask}}]}`,
	},
	{method: "POST", path: "/external/chrome_extension/v1/chat/completion/stream", run: (*visitor).explainPage},

	// Files and pictures.
	{method: "POST", path: "/v1/data-source/file", run: (*visitor).uploadFile},
	{
		method: "POST", path: "/v1/thread/{thread}/data-source-preprocess-sync",
		body: `{"request_id":"{new}","data_source_ids":["{file}"]}`,
	},
	{method: "GET", path: "/v1/data-source"},
	{method: "GET", path: "/v1/data-source?q=" + url.QueryEscape("規程")},
	{method: "GET", path: "/v1/data-source/{file}"},
	{method: "GET", path: "/v1/data-source/{file}/passage?page=1"},
	{method: "GET", path: "/v1/data-source/file/{file}"},
	{method: "POST", path: "/v1/thread", save: "reading=id", body: `{"skill_id":"{own}","request_id":"{new}"}`},
	{
		method: "POST", path: "/v1/message/sync",
		body: `{"request_id":"{new}","thread_id":"{reading}","content":{ask},"data_source_ids":["{file}"]}`,
	},
	{method: "GET", path: "/v1/message?thread_id={reading}"},
	{method: "DELETE", path: "/v1/thread/{reading}"},
	{method: "DELETE", path: "/v1/data-source/{file}"},
	{method: "POST", path: "/v1/picture", run: (*visitor).uploadPicture},
	{method: "GET", path: "/v1/picture/{picture}"},
	{method: "DELETE", path: "/v1/picture/{picture}"},
	{method: "DELETE", path: "/v1/skill/{own}"},
	{method: "POST", path: "/v1/skill/{own}/restore"},
	{method: "DELETE", path: "/v1/skill/{own}"},
}

// administratorSteps are calls that only administrators make.
var administratorSteps = []step{
	{method: "GET", path: "/v1/category?all=true", save: "category=items.0.id"},
	{method: "POST", path: "/v1/category", save: "made=id", body: `{"name":"{short}"}`},
	{method: "PUT", path: "/v1/category/{made}", body: `{"name":"{short}x"}`},
	{method: "DELETE", path: "/v1/category/{made}"},

	// A skill for everybody that answers from a file. The file is deleted while the skill uses it.
	{method: "POST", path: "/v1/thread", save: "thread=id", body: `{"skill_id":"{skill}","request_id":"{new}"}`},
	{method: "POST", path: "/v1/data-source/file", run: (*visitor).uploadFile},
	{
		method: "POST", path: "/v1/thread/{thread}/data-source-preprocess-sync",
		body: `{"request_id":"{new}","data_source_ids":["{file}"]}`,
	},
	{
		method: "POST", path: "/v1/skill", save: "shared=id",
		body: `{"request_id":"{new}","audience":"organization","content":{contentWithFile}}`,
	},
	// The previous release gives the file to the skill and answers as if it did not exist.
	{method: "DELETE", path: "/v1/data-source/{file}", accept: http.StatusNotFound},
	{method: "GET", path: "/v1/data-source"},
	{method: "GET", path: "/v1/skill?limit=100"},
	{method: "GET", path: "/v1/skill/{shared}"},
	{method: "GET", path: "/v1/skill/{shared}/content"},
	{method: "GET", path: "/v1/skill/{shared}/export"},
	{method: "POST", path: "/v1/thread", save: "asking=id", body: `{"skill_id":"{shared}","request_id":"{new}"}`},
	{
		method: "POST", path: "/v1/message/sync",
		body: `{"request_id":"{new}","thread_id":"{asking}","content":{ask}}`,
	},
	{method: "GET", path: "/v1/message?thread_id={asking}"},
	{method: "DELETE", path: "/v1/skill/{shared}"},
	{method: "DELETE", path: "/v1/thread/{asking}"},
	{method: "DELETE", path: "/v1/thread/{thread}"},

	{method: "GET", path: "/v1/skill/request"},
	{method: "PUT", path: "/v1/skill/{skill}/hidden", body: `{"hidden":false}`},
	{method: "GET", path: "/v1/skill/hidden"},
	{method: "GET", path: "/v1/skill/library?shelf=organization"},
	{
		method: "POST", path: "/v1/notification", save: "notice=id",
		body: `{"request_id":"{new}","title":"保守","level":"info","audience":"all"}`,
	},
	{method: "GET", path: "/v1/notification/{notice}"},
	{method: "PUT", path: "/v1/notification/{notice}", body: `{"title":"保守","level":"warning","audience":"all"}`},
	{method: "PUT", path: "/v1/notification/read", body: `{"ids":["{notice}"]}`},
	{method: "GET", path: "/v1/organization/notification"},
	{method: "POST", path: "/v1/notification/{notice}/end"},
	{
		method: "POST", path: "/v1/notification", save: "planned=id",
		body: `{"request_id":"{new}","title":"予告","level":"info","audience":"admins",` +
			`"published_at":"{tomorrow}T00:00:00Z"}`,
	},
	{method: "DELETE", path: "/v1/notification/{planned}"},

	// Members.
	{
		method: "POST", path: "/v1/user/invite",
		body: `{"users":[{"email":"{short}@demo.example","name":"新人","role":"general-user"}]}`,
	},
	{method: "GET", path: "/v1/user?q={short}", save: "invited=items.0.id"},
	{method: "PUT", path: "/v1/user/{invited}", body: `{"name":"佐藤","token_limit":{"rule":"own","tokens":1000}}`},
	{method: "DELETE", path: "/v1/user/{invited}/session"},
	{method: "DELETE", path: "/v1/user/{invited}"},
	{method: "GET", path: "/v1/user/csv"},

	// The end of a connection ends all streams of its user. Administrators have none here.
	{
		method: "POST", path: "/v1/connection/token", save: "connection=connection.id",
		body: `{"request_id":"{new}","name":"test","scopes":["chat"],"expires_on":"{tomorrow}"}`,
	},
	{method: "DELETE", path: "/v1/connection/{connection}"},

	// Settings. They are stored as they are.
	{method: "GET", path: "/v1/organization/model", save: "model=default_id"},
	{
		method: "PUT", path: "/v1/organization/model",
		body: `{"default_id":"{model}","models":[{"id":"{model}","allowed":true,"name":"","note":""}]}`,
	},
	{method: "PUT", path: "/v1/guidance/instructions", body: `{"instructions":"日本語で答えてください。"}`},
	{method: "PUT", path: "/v1/connection-policy", body: `{"personal_tokens":true}`},
	{method: "GET", path: "/v1/session-limits", save: "limits=*"},
	{method: "PUT", path: "/v1/session-limits", body: `{limits}`},
	{method: "GET", path: "/v1/member-limit"},
	{method: "PUT", path: "/v1/member-limit", body: `{}`},
	{method: "GET", path: "/v1/retention"},
	{method: "PUT", path: "/v1/retention", body: `{}`},
	{method: "GET", path: "/v1/retention/preview?days=30"},
	{method: "GET", path: "/v1/retention/thread"},
	{method: "GET", path: "/v1/saml-config"},
	{method: "GET", path: "/v1/slack-config"},

	// Reports.
	{method: "GET", path: "/v1/contract"},
	{method: "GET", path: "/v1/contract/usage/member"},
	{method: "GET", path: "/v1/contract/usage/model"},
	{method: "GET", path: "/v1/contract/usage/csv"},
	{method: "GET", path: "/v1/audit"},
	{method: "GET", path: "/v1/audit/csv"},
	{method: "GET", path: "/v1/organization/connection"},
	{method: "GET", path: "/v1/organization/share"},
	{method: "GET", path: "/v1/organization/feedback", save: "rated=items.0.id"},
	{method: "GET", path: "/v1/organization/feedback/{rated}"},
	{method: "GET", path: "/v1/organization/feedback/skill"},
	{method: "GET", path: "/v1/organization/feedback/csv"},
}

// placeholder matches a placeholder of a step, but no JSON.
var placeholder = regexp.MustCompile(`\{\w+\}`)

// visitor makes the calls of one user through one server. It belongs to one goroutine.
type visitor struct {
	*client
	server  int    // The index of the server.
	base    string // The URL of the server.
	picture []byte // A PNG.
	number  int    // The number of the round, unique among all visitors.
	values  map[string]string
}

// startRound sets the values that do not come from responses.
func (v *visitor) startRound(number int) {
	v.number = number
	content := `{"name":"規程{short}","description":"規程に答えます。","icon":"📄","category_id":"{category}",` +
		`"prompt":"規程に基づいて答えてください。","accepts_data_sources":true`
	v.values = map[string]string{
		"skill": v.skill, "tomorrow": time.Now().AddDate(0, 0, 2).Format(time.DateOnly),
		"short": fmt.Sprintf("n%06d", number), "content": content + "}",
		"contentWithFile": content + `,"document_ids":["{file}"]}`,
		"ask":             v.asking(answer{chars: 60, rate: 400}), "askLong": v.asking(answer{chars: 4000, rate: 20}),
	}
}

// asking returns the content of a question as JSON.
func (v *visitor) asking(a answer) string {
	a.seed = uint64(v.number) //nolint:gosec // Small.
	encoded, _ := json.Marshal(a.in("").Content)
	return string(encoded)
}

// fill replaces the placeholders of text. ok is false if a value is missing.
func (v *visitor) fill(text string) (filled string, ok bool) {
	ok = true
	for range 2 { // A value may have placeholders.
		text = placeholder.ReplaceAllStringFunc(text, func(name string) string {
			if name == "{new}" {
				return newID()
			}
			value, found := v.values[strings.Trim(name, "{}")]
			ok = ok && found
			return value
		})
	}
	return text, ok
}

// errSkipped means that an earlier step has not succeeded.
var errSkipped = errors.New("a value is missing")

// make makes the call of a step and saves its values.
func (v *visitor) make(ctx context.Context, s step) error {
	path, ok := v.fill(s.path)
	body, filled := v.fill(s.body)
	switch {
	case !ok || !filled:
		return errSkipped
	case s.run != nil:
		return s.run(v, ctx)
	}
	var content any
	if body != "" {
		content = json.RawMessage(body)
	}
	req, err := v.newRequest(ctx, s.method, v.base+path, content)
	if err != nil {
		return err
	}
	// A connection that the server is about to close cannot be reused for a POST.
	req.Close = s.method != http.MethodGet
	resp, err := v.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode != s.accept {
		return readProblem(resp)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil || s.save == "" {
		return err
	}
	return v.save(s.save, text)
}

// save stores values of a response.
func (v *visitor) save(assignments string, response []byte) error {
	for assignment := range strings.FieldsSeq(assignments) {
		name, path, _ := strings.Cut(assignment, "=")
		if path == "*" {
			v.values[name] = string(bytes.TrimSpace(response))
			continue
		}
		var value any
		if err := json.Unmarshal(response, &value); err != nil {
			return err
		}
		for key := range strings.SplitSeq(path, ".") {
			switch at := value.(type) {
			case map[string]any:
				value = at[key]
			case []any:
				value = nil
				if i, err := strconv.Atoi(key); err == nil && i < len(at) {
					value = at[i]
				}
			}
		}
		if text, ok := value.(string); ok {
			v.values[name] = text
		}
	}
	return nil
}

// signInAgain signs in with the password and refreshes the token, without using either.
func (v *visitor) signInAgain(ctx context.Context) error {
	var pool struct {
		ClientID string `json:"client_id"`
	}
	err := v.call(ctx, http.MethodPost, v.base+"/v1/auth-type", map[string]string{"email": demoUser}, &pool)
	if err != nil {
		return err
	}
	var signedIn struct{ AuthenticationResult struct{ RefreshToken string } }
	request := map[string]any{
		"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": pool.ClientID,
		"AuthParameters": map[string]string{"USERNAME": demoUser, "PASSWORD": demoPassword},
	}
	if err := v.callPool(ctx, v.base, "InitiateAuth", request, &signedIn); err != nil {
		return err
	}
	return v.callPool(ctx, v.base, "InitiateAuth", map[string]any{
		"AuthFlow": "REFRESH_TOKEN_AUTH", "ClientId": pool.ClientID,
		"AuthParameters": map[string]string{"REFRESH_TOKEN": signedIn.AuthenticationResult.RefreshToken},
	}, nil)
}

// live opens a live socket and waits until it is ready.
func (v *visitor) live(ctx context.Context) error {
	conn, resp, err := websocket.Dial(ctx, v.base+"/v1/live", nil) //nolint:bodyclose // Closed by the library.
	if err != nil && resp != nil && resp.StatusCode >= http.StatusMultipleChoices {
		return readProblem(resp)
	}
	if err != nil {
		return err
	}
	defer func() { _ = conn.CloseNow() }()
	frame, _ := json.Marshal(map[string]string{"type": "auth", "token": v.token})
	if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return err
	}
	_, first, err := conn.Read(ctx)
	if err == nil && !bytes.Contains(first, []byte(`"ready"`)) {
		err = fmt.Errorf("the first frame is %s", first)
	}
	return err
}

// askAndFollow asks a question and follows its answer to the end.
func (v *visitor) askAndFollow(ctx context.Context) error {
	q := answer{chars: 120, rate: 200, seed: uint64(v.number)}.in(v.values["thread"]) //nolint:gosec // Small.
	if q.ThreadID == "" {
		return errSkipped
	}
	f := &follower{
		client: v.client, where: v.at, method: http.MethodPost, path: "/v1/message/stream", body: q,
	}
	if err := f.follow(ctx); err != nil {
		return err
	}
	if digest(string(f.text)) != digest(q.want) {
		return fmt.Errorf("message %s: %d bytes, want %d", f.messageID, len(f.text), len(q.want))
	}
	return nil
}

// followStopped follows an answer that has been stopped.
func (v *visitor) followStopped(ctx context.Context) error {
	f := &follower{
		client: v.client, where: v.at, method: http.MethodGet,
		path: "/v1/message/" + v.values["running"] + "/stream",
	}
	return f.follow(ctx)
}

// explainPage asks for an explanation of a page, as the browser extension does.
func (v *visitor) explainPage(ctx context.Context) error {
	f := &follower{
		client: v.client, where: v.at, method: http.MethodPost,
		path: "/external/chrome_extension/v1/chat/completion/stream",
		body: map[string]any{
			"request_id": newID(), "kind": "chrome_extension_page_whole_summary",
			"page": map[string]string{"url": "https://example.com/", "title": "例", "text": "今日は晴れです。"},
		},
	}
	err := f.follow(ctx)
	if err == nil && f.ended != "finish" {
		err = fmt.Errorf("message %s: %s", f.messageID, f.ended)
	}
	return err
}

func (v *visitor) at() string { return v.base }

// uploadFile uploads a file that no other upload equals.
func (v *visitor) uploadFile(ctx context.Context) error {
	delete(v.values, "file")
	source, err := v.upload(ctx, v.base, "規程.txt", []byte("規程 "+newID()+"\n有給休暇は年に20日です。\n"))
	if err == nil {
		v.values["file"] = source.ID
	}
	return err
}

// uploadPicture uploads a picture.
func (v *visitor) uploadPicture(ctx context.Context) error {
	delete(v.values, "picture")
	var picture struct{ ID string }
	err := v.send(ctx, v.base+"/v1/picture", "a.png", v.picture, &picture)
	if err == nil {
		v.values["picture"] = picture.ID
	}
	return err
}

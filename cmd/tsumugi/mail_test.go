package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// console is a Writer that sends each write to a channel.
type console chan string

func (c console) Write(b []byte) (int, error) {
	c <- string(b)
	return len(b), nil
}

// TestLinksInMailsSignIn invites a person, resets the password, and signs in with the links and codes of the mails.
func TestLinksInMailsSignIn(t *testing.T) {
	t.Parallel()
	ctx, db, printed := t.Context(), storetest.New(t), make(console, 10)
	mailer, err := new(mailing).mailer(t.TempDir(), "https://chat.example", printed, slog.New(slog.DiscardHandler))
	must.Succeed(t, err)
	people, err := new(cognito).openAccounts(ctx, db, "https://chat.example", mailer, slog.New(slog.DiscardHandler))
	must.Succeed(t, err)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		people.users.Stop(ctx)
	}()
	call := func(operation string, body map[string]any) (answer struct {
		ChallengeName, Session string
		AuthenticationResult   struct{ IdToken string }
	},
	) {
		t.Helper()
		body["ClientId"] = clientID
		encoded := must.Get(json.Marshal(body))(t)
		req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/pool/", bytes.NewReader(encoded))
		req.Header.Set("Content-Type", "application/x-amz-json-1.1")
		req.Header.Set("X-Amz-Target", "AWSCognitoIdentityProviderService."+operation)
		w := httptest.NewRecorder()
		people.users.Handler().ServeHTTP(w, req)
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", operation, w.Code, w.Body)
		}
		return answer
	}
	signIn := func(email, password string) map[string]any {
		return map[string]any{
			"AuthFlow":       "USER_PASSWORD_AUTH",
			"AuthParameters": map[string]string{"USERNAME": email, "PASSWORD": password},
		}
	}
	link := func(mail, path string) url.Values {
		t.Helper()
		u, err := url.Parse(regexp.MustCompile(`https://\S+`).FindString(mail))
		if err != nil || u.Host != "chat.example" || u.Path != path {
			t.Fatalf("the link is %v, %v, in %s", u, err, mail)
		}
		return u.Query()
	}

	const email = "taro+1@example.co.jp"
	if _, err := people.Invite(ctx, email, "紡 太郎"); err != nil {
		t.Fatal(err)
	}
	mail := <-printed
	temporary := regexp.MustCompile(`仮パスワード：(\S+)`).FindStringSubmatch(mail)[1]
	challenge := call("InitiateAuth", signIn(link(mail, "/login").Get("email"), temporary))
	if challenge.ChallengeName != "NEW_PASSWORD_REQUIRED" {
		t.Fatalf("got %+v", challenge)
	}
	signedIn := call("RespondToAuthChallenge", map[string]any{
		"ChallengeName": challenge.ChallengeName, "Session": challenge.Session,
		"ChallengeResponses": map[string]string{"USERNAME": email, "NEW_PASSWORD": "First-Password-1"},
	})
	if signedIn.AuthenticationResult.IdToken == "" {
		t.Fatalf("got %+v", signedIn)
	}

	call("ForgotPassword", map[string]any{"Username": email})
	query := link(<-printed, "/reset/password")
	call("ConfirmForgotPassword", map[string]any{
		"Username": query.Get("email"), "ConfirmationCode": query.Get("code"), "Password": "Second-Password-2",
	})
	// The second mail is the notice about the new password.
	if got := link(<-printed, "/reset/password"); got.Get("email") != email || got.Has("code") {
		t.Errorf("the link is for %v", got)
	}
	if call("InitiateAuth", signIn(email, "Second-Password-2")).AuthenticationResult.IdToken == "" {
		t.Error("the new password does not sign in")
	}

	if _, err := people.InviteFederated(ctx, "hanako@example.co.jp", "管理 花子"); err != nil {
		t.Fatal(err)
	}
	if got := link(<-printed, "/login").Get("email"); got != "hanako@example.co.jp" {
		t.Errorf("the link is for %q", got)
	}
}

package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognitoidp "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// externalPool is a user pool with its own database and key, which the server calls over the network like AWS's pool.
type externalPool struct {
	url         string
	client      *cognitoidp.Client
	credentials pool.Credentials
	invited     chan mail.Invitation
}

const (
	elsewhereID     = "ap-northeast-1_Elsewhere"
	elsewhereClient = "elsewhere0client"
)

func newExternalPool(t *testing.T) *externalPool {
	t.Helper()
	e := &externalPool{credentials: pool.NewCredentials(), invited: make(chan mail.Invitation, 10)}
	server := httptest.NewUnstartedServer(nil)
	e.url = "http://" + server.Listener.Addr().String()
	users := must.Get(pool.New(t.Context(), pool.Config{
		PoolID: elsewhereID, ClientID: elsewhereClient, Issuer: e.url + "/" + elsewhereID, Admin: e.credentials,
		Mailer: e,
	}, storetest.New(t)))(t)
	server.Config.Handler = users.Handler()
	server.Start()
	t.Cleanup(func() {
		server.Close()
		users.Stop(context.Background())
	})
	e.client = cognitoidp.New(cognitoidp.Options{Region: region, BaseEndpoint: aws.String(e.url)})
	return e
}

func (e *externalPool) Send(_ context.Context, message mail.Message) error {
	if invitation, ok := message.(mail.Invitation); ok {
		e.invited <- invitation
	}
	return nil
}

// environ returns the environment of the program.
func (e *externalPool) environ() []string {
	return []string{
		"COGNITO_USER_POOL_ID=" + elsewhereID, "COGNITO_CLIENT_ID=" + elsewhereClient, "COGNITO_ENDPOINT=" + e.url,
		"AWS_ACCESS_KEY_ID=" + e.credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + e.credentials.SecretAccessKey,
	}
}

// join makes an invited person's first sign-in and returns the id token.
func (e *externalPool) join(t *testing.T, password string) string {
	t.Helper()
	invitation := <-e.invited
	first, err := e.signIn(t, invitation.Email, invitation.TemporaryPassword)
	if err != nil || first.ChallengeName != types.ChallengeNameTypeNewPasswordRequired {
		t.Fatalf("the first sign-in: %+v, %v", first, err)
	}
	second := must.Get(e.client.RespondToAuthChallenge(t.Context(), &cognitoidp.RespondToAuthChallengeInput{
		ClientId: aws.String(elsewhereClient), ChallengeName: first.ChallengeName, Session: first.Session,
		ChallengeResponses: map[string]string{"USERNAME": invitation.Email, "NEW_PASSWORD": password},
	}))(t)
	return *second.AuthenticationResult.IdToken
}

func (e *externalPool) signIn(t *testing.T, email, password string) (*cognitoidp.InitiateAuthOutput, error) {
	t.Helper()
	return e.client.InitiateAuth(t.Context(), &cognitoidp.InitiateAuthInput{
		ClientId: aws.String(elsewhereClient), AuthFlow: types.AuthFlowTypeUserPasswordAuth,
		AuthParameters: map[string]string{"USERNAME": email, "PASSWORD": password},
	})
}

// TestExternalUserPool runs the program with COGNITO_* settings. Members are invited, sign in and are disabled at the
// external user pool.
func TestExternalUserPool(t *testing.T) {
	t.Parallel()
	const password = "Tsumugi-Elsewhere-1"
	e, data := newExternalPool(t), filepath.Join(t.TempDir(), "data")
	p := start(t, data, e.environ()...)
	if strings.Contains(p.welcome, "demo.example") {
		t.Error("demo users were created in an external user pool")
	}
	//nolint:gosec // Itself.
	create := exec.CommandContext(t.Context(), os.Args[0], "org", "create", "--data="+data, "--name=株式会社よそ",
		"--domain=corp.example", "--super-admin=boss@corp.example", "--super-admin-name=上野 花子")
	create.Env = append(append(os.Environ(), child+"=1"), e.environ()...)
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("org create: %v\n%s", err, out)
	}
	boss := e.join(t, password)
	var me struct{ Email, Role string }
	if status := p.json(t, "GET", "/v1/me", boss, nil, &me); status != http.StatusOK ||
		me.Role != "organization-super-admin" {
		t.Fatalf("got %d %+v", status, me)
	}
	var way struct {
		Endpoint string `json:"endpoint"`
		ClientID string `json:"client_id"`
	}
	p.json(t, "POST", "/v1/auth-type", "", map[string]string{"email": "boss@corp.example"}, &way)
	if way.Endpoint != e.url+"/" || way.ClientID != elsewhereClient {
		t.Errorf("the browser is sent to %+v", way)
	}
	if policy := p.header(t, "/login", "Content-Security-Policy"); !strings.Contains(policy,
		"connect-src 'self' "+e.url) {
		t.Errorf("the page may not speak to the user pool: %s", policy)
	}

	var invited struct {
		Items []struct {
			Result string
			User   struct{ ID string }
		}
	}
	p.json(t, "POST", "/v1/user/invite", boss, map[string]any{
		"users": []any{map[string]string{"email": "taro@corp.example", "name": "下野 太郎", "role": "general-user"}},
	}, &invited)
	if len(invited.Items) != 1 || invited.Items[0].Result != "invited" {
		t.Fatalf("got %+v", invited)
	}
	taro := e.join(t, password)
	if status := p.json(t, "GET", "/v1/me", taro, nil, &me); status != http.StatusOK ||
		me.Email != "taro@corp.example" {
		t.Errorf("the invited member: %d %+v", status, me)
	}
	if status := p.json(t, "PUT", "/v1/user/"+invited.Items[0].User.ID, boss, map[string]string{"state": "inactive"},
		nil); status != http.StatusOK {
		t.Fatalf("disabling: %d", status)
	}
	if status := p.json(t, "GET", "/v1/me", taro, nil, nil); status != http.StatusUnauthorized {
		t.Errorf("a disabled member is answered %d", status)
	}
	if _, err := e.signIn(t, "taro@corp.example", password); err == nil {
		t.Error("the user pool lets a disabled member in")
	}
}

// TestPasswordsAtAnExternalPoolForMembersOfSingleSignOn checks that a member with an embedded account gets another
// account with a new subject at the external user pool, and that single sign-on recognizes that subject too.
func TestPasswordsAtAnExternalPoolForMembersOfSingleSignOn(t *testing.T) {
	const email, name = "hana@corp.example", "中野 花"
	e := newExternalPool(t)
	for _, variable := range e.environ() {
		key, value, _ := strings.Cut(variable, "=")
		t.Setenv(key, value)
	}
	mailer, err := new(mailing).mailer(t.TempDir(), "https://chat.example", make(console, 10),
		slog.New(slog.DiscardHandler))
	must.Succeed(t, err)
	settings := cognito{
		CognitoUserPoolID: elsewhereID, CognitoClientID: elsewhereClient, CognitoRegion: region,
		CognitoEndpoint: e.url,
	}
	people, err := settings.openAccounts(t.Context(), storetest.New(t), "https://chat.example", mailer,
		slog.New(slog.DiscardHandler))
	must.Succeed(t, err)
	t.Cleanup(func() { people.users.Stop(context.Background()) })
	before := must.Get(people.InviteFederated(t.Context(), email, name))(t)
	for range 2 { // The second call returns the same account.
		subject, err := people.Invite(t.Context(), email, name)
		if err != nil || subject == before {
			t.Fatalf("got %s, %v", subject, err)
		}
		if _, err := people.users.CreateExternalUser(t.Context(), uuid.MustParse(subject), email, name); err != nil {
			t.Errorf("single sign-on: %v", err)
		}
		<-e.invited
	}
}

// header returns a header of the response to a GET request.
func (p *process) header(t *testing.T, path, name string) string {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+path, nil))(t)
	resp := must.Get(http.DefaultClient.Do(req))(t)
	_ = resp.Body.Close()
	return resp.Header.Get(name)
}

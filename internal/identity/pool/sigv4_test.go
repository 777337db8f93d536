package pool_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"

	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const mismatch = "The request signature we calculated does not match the signature you provided. Check your " +
	"AWS Secret Access Key and signing method. Consult the service documentation for details."

// adminCalls are the operations that only the server may call.
var adminCalls = []string{
	"AdminCreateUser", "AdminDeleteUser", "AdminDisableUser", "AdminEnableUser", "AdminGetUser",
	"AdminUpdateUserAttributes",
	"AdminUserGlobalSignOut",
}

func TestR46_AdministrationNeedsTheServersCredentials(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := `{"UserPoolId":"` + poolID + `","Username":"` + email + `","UserAttributes":[]}`
	access := *f.mustSignIn(t).AccessToken
	for _, operation := range adminCalls {
		for name, header := range map[string][]string{
			"nothing": {}, "a user's token": {"Authorization", "Bearer " + access},
			"a user's token, bare": {"Authorization", access},
		} {
			r := f.post(t, operation, body, header...)
			if r.status != 400 || r.fields["__type"] != "MissingAuthenticationTokenException" ||
				r.fields["message"] != "Missing Authentication Token" {
				t.Errorf("%s with %s: %d %s", operation, name, r.status, r.body)
			}
		}
	}
	get := &cognito.AdminGetUserInput{UserPoolId: aws.String(poolID), Username: aws.String(email)}
	for name, c := range map[string]struct {
		key           pool.Credentials
		kind, message string
	}{
		"another key": {
			pool.NewCredentials(), "UnrecognizedClientException",
			"The security token included in the request is invalid.",
		},
		"another secret": {
			pool.Credentials{AccessKeyID: credentials.AccessKeyID, SecretAccessKey: "a guess"},
			"InvalidSignatureException", mismatch,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newAdmin(f.server, f.clock, c.key).AdminGetUser(t.Context(), get)
			wantRefusal(t, err, c.kind, c.message)
		})
	}
	// A pool without credentials accepts none, not even empty ones.
	cfg := config(f.clock)
	cfg.Admin = pool.Credentials{}
	server := serve(t, newPool(t, cfg, f.db))
	_, err := newAdmin(server, f.clock, credentials).AdminGetUser(t.Context(), get)
	wantRefusal(t, err, "UnrecognizedClientException", "The security token included in the request is invalid.")
	empty := f.signed()
	empty.key, empty.url = pool.Credentials{}, server.URL+"/pool/"
	if r := do(t, server, empty.request(t, nil)); r.status != 400 ||
		r.fields["__type"] != "UnrecognizedClientException" {
		t.Errorf("with empty ones: %d %s", r.status, r.body)
	}
	if user, err := f.UserByEmail(t.Context(), email); err != nil || !user.Enabled {
		t.Errorf("user %+v, %v", user, err)
	}
}

// signed is a call signed with the server's key, to be tampered with.
type signed struct {
	key             pool.Credentials
	method, url     string
	region, service string
	at              time.Time
	body            []byte
	header          http.Header
}

// request signs a call and then applies spoil to it.
func (s signed) request(t testing.TB, spoil func(*http.Request)) *http.Request {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(context.Background(), s.method, s.url, bytes.NewReader(s.body)))(t)
	for name, values := range s.header {
		req.Header[name] = values
	}
	sum := sha256.Sum256(s.body)
	must.Succeed(t, v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{
		AccessKeyID:     s.key.AccessKeyID,
		SecretAccessKey: s.key.SecretAccessKey,
	},
		req, hex.EncodeToString(sum[:]), s.service, s.region, s.at))
	if spoil != nil {
		spoil(req)
	}
	return req
}

func (f *fixture) signed() signed {
	return signed{
		key: credentials, method: http.MethodPost, url: f.server.URL + "/pool/", region: "ap-northeast-1",
		service: "cognito-idp", at: f.clock.Now(),
		body: []byte(`{"UserPoolId":"` + poolID + `","Username":"` + email + `"}`),
		header: http.Header{
			"Content-Type": {"application/x-amz-json-1.1"},
			"X-Amz-Target": {"AWSCognitoIdentityProviderService.AdminGetUser"},
		},
	}
}

func TestR46_InvalidSignatures(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	authorization := func(old, new string) func(*http.Request) {
		return func(r *http.Request) {
			before := r.Header.Get("Authorization")
			r.Header.Set("Authorization", strings.Replace(before, old, new, 1))
			if r.Header.Get("Authorization") == before {
				t.Errorf("%q is not in %q", old, before)
			}
		}
	}
	const invalid, incomplete = "InvalidSignatureException", "IncompleteSignatureException"
	day := f.clock.Now().Format("20060102")
	for name, c := range map[string]struct {
		change func(*signed)
		spoil  func(*http.Request)
		kind   string
		says   string
	}{
		"good":         {nil, nil, "", ""},
		"good, spaces": {func(s *signed) { s.header.Set("X-Amz-Meta", "  a   b ") }, nil, "", ""},
		"good, a path": {func(s *signed) { s.url += "%7Eapi/%E3%81%82 b" }, nil, "", ""},
		"another body": {
			nil, func(r *http.Request) { replaceBody(r, `{"UserPoolId":"`+poolID+`","Username":"x"}`) },
			invalid, mismatch,
		},
		"another call": {nil, func(r *http.Request) {
			r.Header.Set("X-Amz-Target", strings.Replace(r.Header.Get("X-Amz-Target"), "Get", "Delete", 1))
		}, invalid, mismatch},
		"another path": {nil, func(r *http.Request) { r.URL.Path = "/pool/x" }, invalid, mismatch},
		"a query":      {nil, func(r *http.Request) { r.URL.RawQuery = "a=b" }, invalid, mismatch},
		"another host": {nil, func(r *http.Request) { r.Host = "evil.example" }, invalid, mismatch},
		"another type": {nil, func(r *http.Request) {
			r.Header.Set("Content-Type",
				"application/x-amz-json-1.1; charset=utf-8")
		}, invalid, mismatch},
		"another time": {nil, func(r *http.Request) {
			r.Header.Set("X-Amz-Date", f.clock.Now().Add(time.Minute).Format("20060102T150405Z"))
		}, invalid, mismatch},
		"another MAC": {nil, authorization("Signature=", "Signature=00"), incomplete, "not of its form"},
		"no hex":      {nil, authorization("Signature=", "Signature=zz"), incomplete, "not of its form"},
		"another key": {
			nil, authorization(credentials.AccessKeyID, "TSMGOTHER"), "UnrecognizedClientException",
			"security token",
		},
		"added header": {
			nil, func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "x") }, invalid,
			"'x-amz-security-token' must be a 'SignedHeader'",
		},
		"unsigned host": {nil, authorization("host;", ""), invalid, "'host' must be a 'SignedHeader'"},
		"unsigned type": {nil, authorization("content-type;", ""), invalid, "'content-type' must be a 'SignedHeader'"},
		"unsigned call": {nil, authorization(";x-amz-target", ""), invalid, "'x-amz-target' must be a 'SignedHeader'"},
		"unsigned date": {nil, authorization("x-amz-date;", ""), invalid, "'x-amz-date' must be a 'SignedHeader'"},
		"region":        {func(s *signed) { s.region = "us-east-1" }, nil, invalid, "valid region"},
		"service":       {func(s *signed) { s.service = "s3" }, nil, invalid, "correct service: 'cognito-idp'"},
		"terminator":    {nil, authorization("aws4_request", "aws5_request"), invalid, "valid terminator"},
		"another day":   {nil, authorization(day, "20200101"), invalid, "does not match YYYYMMDD"},
		"old": {
			func(s *signed) { s.at = s.at.Add(-5*time.Minute - time.Second) }, nil, invalid,
			"Signature expired: ",
		},
		"old enough": {func(s *signed) { s.at = s.at.Add(-5*time.Minute + time.Second) }, nil, "", ""},
		"future": {
			func(s *signed) { s.at = s.at.Add(5*time.Minute + 2*time.Second) }, nil, invalid,
			"Signature not yet current: ",
		},
		"near future": {func(s *signed) { s.at = s.at.Add(5*time.Minute - time.Second) }, nil, "", ""},
		"no date":     {nil, func(r *http.Request) { r.Header.Del("X-Amz-Date") }, incomplete, "X-Amz-Date"},
		"odd date":    {nil, func(r *http.Request) { r.Header.Set("X-Amz-Date", day+"Tgarbage") }, invalid, ""},
		"twice": {
			nil, func(r *http.Request) { r.Header.Add("Authorization", r.Header.Get("Authorization")) },
			incomplete, "one 'Authorization'",
		},
		"no credential": {nil, authorization("Credential=", "Credentials="), incomplete, "'Credential'"},
		"two MACs":      {nil, authorization("Signature=", "Signature=, Signature="), incomplete, "twice"},
		"short scope":   {nil, authorization("/aws4_request", ""), incomplete, "5 slash-delimited"},
		"only a scheme": {
			nil, func(r *http.Request) { r.Header.Set("Authorization", "AWS4-HMAC-SHA256") }, incomplete,
			"'Credential'",
		},
		"another one": {
			nil, authorization("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256"),
			"MissingAuthenticationTokenException", "Missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			call := f.signed()
			if c.change != nil {
				c.change(&call)
			}
			r := do(t, f.server, call.request(t, c.spoil))
			message, _ := r.fields["message"].(string)
			if c.kind == "" {
				if r.status != 200 || r.fields["Username"] != f.sub.String() {
					t.Errorf("got %d %s", r.status, r.body)
				}
			} else if r.status != 400 || r.fields["__type"] != c.kind || !strings.Contains(message, c.says) {
				t.Errorf("got %d %s, want %s: %s", r.status, r.body, c.kind, c.says)
			}
		})
	}
}

func replaceBody(r *http.Request, body string) {
	r.Body, r.ContentLength, r.GetBody = http.NoBody, 0, nil
	with, _ := http.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), strings.NewReader(body))
	r.Body, r.ContentLength, r.GetBody = with.Body, with.ContentLength, with.GetBody
}

func TestAdminResponsesMatchCognito(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := do(t, f.server, f.signed().request(t, nil))
	at := "1775034000.123"
	want := `{"Enabled":true,"UserAttributes":[{"Name":"email","Value":"` + email +
		`"},{"Name":"email_verified","Value":"true"},` +
		`{"Name":"name","Value":"山田 花子"},{"Name":"sub","Value":"` + f.sub.String() + `"}],"UserCreateDate":` + at +
		`,"UserLastModifiedDate":` + at + `,"UserStatus":"CONFIRMED","Username":"` + f.sub.String() + `"}`
	if r.status != 200 || r.body != want {
		t.Errorf("got %d %s\nwant %s", r.status, r.body, want)
	}
	call := f.signed()
	call.header.Set("X-Amz-Target", "AWSCognitoIdentityProviderService.AdminDeleteUser")
	res := must.Get(f.server.Client().Do(call.request(t, nil)))(t)
	defer func() { must.Succeed(t, res.Body.Close()) }()
	if res.StatusCode != 200 || res.ContentLength != 0 {
		t.Errorf("AdminDeleteUser: %d, %d bytes", res.StatusCode, res.ContentLength)
	}
}

// FuzzAuthorization: without the key no administrative call succeeds, for any headers, and no fault is revealed.
func FuzzAuthorization(f *testing.F) {
	c := newClock()
	p := must.Get(pool.New(f.Context(), config(c), &firstKey{}))(f)
	handler := p.Handler()
	good := (&fixture{clock: c, server: &httptest.Server{URL: "http://pool.example"}}).signed()
	good.key.SecretAccessKey = "a guess"
	req := good.request(f, nil)
	f.Add(req.Header.Get("Authorization"), req.Header.Get("X-Amz-Date"), "a", "/pool/")
	f.Add(
		"AWS4-HMAC-SHA256 Credential=a/20260401/ap-northeast-1/cognito-idp/aws4_request, SignedHeaders=;;;, "+
			"Signature=00",
		"20260401T090000Z", "", "/",
	)
	f.Add("AWS4-HMAC-SHA256 =,,=,", "2026", "\x00", "/%ff")
	f.Add("Bearer x", "", "", "/pool/")
	f.Fuzz(func(t *testing.T, authorization, at, extra, path string) {
		r := httptest.NewRequest(http.MethodPost, "/pool/", strings.NewReader(string(good.body)))
		r.URL.Path = path
		r.Header = good.header.Clone()
		r.Header.Set("Authorization", authorization)
		r.Header.Set("X-Amz-Date", at)
		r.Header.Set("X-Amz-Extra", extra)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != http.StatusBadRequest && w.Code != http.StatusMethodNotAllowed ||
			strings.Contains(w.Body.String(), "UserNotFoundException") {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}

func TestNewCredentialsAreNeverTheSame(t *testing.T) {
	t.Parallel()
	a, b := pool.NewCredentials(), pool.NewCredentials()
	if a.AccessKeyID == b.AccessKeyID || a.SecretAccessKey == b.SecretAccessKey || len(a.AccessKeyID) != 20 ||
		len(a.SecretAccessKey) < 40 {
		t.Errorf("%+v %+v", a, b)
	}
}

package pool_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func signInBody(name, password string) string {
	return `{"AuthFlow":"USER_PASSWORD_AUTH","ClientId":"` + clientID + `","AuthParameters":{"USERNAME":"` + name +
		`","PASSWORD":"` + password + `"}}`
}

// TestR35_LongMessageStaysOutOfTheHeader sends a value that the refusal repeats.
func TestR35_LongMessageStaysOutOfTheHeader(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.post(t, "InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH","ClientId":"`+strings.Repeat("a", 60_000)+`"}`)
	if r.status != 400 || r.fields["__type"] != "InvalidParameterException" ||
		len(r.header.Get("X-Amzn-Errormessage")) > 512 {
		t.Errorf("got %d, header of %d bytes", r.status, len(r.header.Get("X-Amzn-Errormessage")))
	}
}

func TestR34_TargetMustBeKnown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	valid := signInBody(email, password)
	for name, header := range map[string][]string{
		"missing":             {"X-Amz-Target", ""},
		"unknown operation":   {"X-Amz-Target", "AWSCognitoIdentityProviderService.MakeCoffee"},
		"no operation":        {"X-Amz-Target", "AWSCognitoIdentityProviderService."},
		"another service":     {"X-Amz-Target", "DynamoDB_20120810.InitiateAuth"},
		"no service":          {"X-Amz-Target", "InitiateAuth"},
		"other case":          {"X-Amz-Target", "awscognitoidentityproviderservice.InitiateAuth"},
		"admin call":          {"X-Amz-Target", "AWSCognitoIdentityProviderService.AdminInitiateAuth"},
		"plain text (R74)":    {"Content-Type", "text/plain"},
		"form":                {"Content-Type", "application/x-www-form-urlencoded"},
		"plain JSON":          {"Content-Type", "application/json"},
		"no media type":       {"Content-Type", ""},
		"ill-formed media":    {"Content-Type", "application/x-amz-json-1.1; charset"},
		"another protocol":    {"Content-Type", "application/x-amz-json-1.0"},
		"list of media types": {"Content-Type", "text/plain, application/x-amz-json-1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.post(t, "InitiateAuth", valid, header...)
			if r.status != 400 || r.fields["__type"] != "UnknownOperationException" {
				t.Errorf("got %d %s", r.status, r.body)
			}
		})
	}
	r := f.post(t, "InitiateAuth", valid, "Content-Type", "application/x-amz-json-1.1; charset=utf-8")
	if r.status != 200 {
		t.Errorf("with a charset: %d %s", r.status, r.body)
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodOptions, http.MethodDelete} {
		req := must.Get(http.NewRequestWithContext(t.Context(), method, f.server.URL+"/pool/", http.NoBody))(t)
		r := do(t, f.server, req)
		if r.status != 405 || r.header.Get("Allow") != "POST" || r.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", method, r.status, r.header)
		}
	}
}

func TestResponsesMatchCognito(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	r := f.post(t, "InitiateAuth", signInBody(email, password))
	if r.status != 200 || r.header.Get("Content-Type") != "application/x-amz-json-1.1" ||
		r.header.Get("Cache-Control") != "no-store" || r.header.Get("x-amzn-ErrorType") != "" {
		t.Errorf("got %d %v", r.status, r.header)
	}
	shape := regexp.MustCompile(`^\{"AuthenticationResult":\{"AccessToken":"[\w.-]+","ExpiresIn":3600,` +
		`"IdToken":"[\w.-]+","RefreshToken":"[\w-]{43}","TokenType":"Bearer"\},"ChallengeParameters":\{\}\}$`)
	if !shape.MatchString(r.body) {
		t.Errorf("got %s", r.body)
	}
	id, err := uuid.Parse(r.header.Get("x-amzn-RequestId"))
	if err != nil || id == uuid.Nil {
		t.Errorf("request id %q", r.header.Get("x-amzn-RequestId"))
	}
	result := r.fields["AuthenticationResult"].(map[string]any)
	access, refresh := result["AccessToken"].(string), result["RefreshToken"].(string)
	r = f.post(t, "GetUser", `{"AccessToken":"`+access+`"}`)
	want := `{"UserAttributes":[{"Name":"email","Value":"hanako@example.com"},{"Name":"email_verified",` +
		`"Value":"true"},{"Name":"name","Value":"山田 花子"},{"Name":"sub","Value":"` + f.sub.String() +
		`"}],"Username":"` + f.sub.String() + `","Tsumugi":{"RecoveryCodes":0,"FactorRequired":false,"Passkeys":0}}`
	if r.status != 200 || r.body != want {
		t.Errorf("GetUser: %d %s", r.status, r.body)
	}
	for range 2 { // Revoking twice is allowed.
		if r = f.post(t, "RevokeToken", `{"ClientId":"`+clientID+`","Token":"`+refresh+`"}`); r.status != 200 ||
			r.body != `{}` {
			t.Errorf("RevokeToken: %d %s", r.status, r.body)
		}
	}
	if r = f.post(t, "RevokeToken", `{"ClientId":"`+clientID+`","Token":"never-was"}`); r.status != 200 ||
		r.body != `{}` {
		t.Errorf("RevokeToken of an unknown token: %d %s", r.status, r.body)
	}
}

func TestR35_Refusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	result := f.mustSignIn(t)
	const enumFlows = "Member must satisfy enum value set: [ADMIN_NO_SRP_AUTH, ADMIN_USER_PASSWORD_AUTH, " +
		"CUSTOM_AUTH, REFRESH_TOKEN_AUTH, REFRESH_TOKEN, USER_AUTH, USER_PASSWORD_AUTH, USER_SRP_AUTH]"
	const invalid, malformed = "InvalidParameterException", "SerializationException"
	client := `"ClientId":"` + clientID + `"`
	for name, c := range map[string]struct{ operation, body, kind, message string }{
		"wrong password": {"InitiateAuth", signInBody(email, "x"), "NotAuthorizedException", incorrect},
		"empty object": {
			"InitiateAuth", `{}`, invalid,
			"2 validation errors detected: Value null at 'authFlow' failed to satisfy constraint: " +
				"Member must not be null; Value null at 'clientId' failed to satisfy constraint: Member must " +
				"not be null",
		},
		"null counts as missing": {
			"InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH","ClientId":null}`, invalid,
			"1 validation error detected: Value null at 'clientId' failed to satisfy constraint: Member must " +
				"not be null",
		},
		"names are exact": {
			"InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH","clientid":"` + clientID + `"}`, invalid,
			"1 validation error detected: Value null at 'clientId' failed to satisfy constraint: Member must " +
				"not be null",
		},
		"unknown flow": {
			"InitiateAuth", `{"AuthFlow":"MAGIC",` + client + `}`, invalid,
			"1 validation error detected: Value 'MAGIC' at 'authFlow' failed to satisfy constraint: " + enumFlows,
		},
		"ill-formed client": {
			"InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH","ClientId":"a-b"}`, invalid,
			`1 validation error detected: Value 'a-b' at 'clientId' failed to satisfy constraint: Member must ` +
				`satisfy regular expression pattern: [\w+]+`,
		},
		"empty client": {
			"InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH","ClientId":""}`, invalid,
			`2 validation errors detected: Value '' at 'clientId' failed to satisfy constraint: Member must have ` +
				`length greater than or equal to 1; Value '' at 'clientId' failed to satisfy constraint: Member must ` +
				`satisfy regular expression pattern: [\w+]+`,
		},
		"other client": {
			"InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH","ClientId":"other"}`, "ResourceNotFoundException",
			"User pool client other does not exist.",
		},
		"SRP": {
			"InitiateAuth", `{"AuthFlow":"USER_SRP_AUTH",` + client + `}`, invalid,
			"USER_SRP_AUTH is not enabled for the client.",
		},
		"admin flow": {
			"InitiateAuth", `{"AuthFlow":"ADMIN_NO_SRP_AUTH",` + client + `}`, invalid,
			"Initiate Auth method not supported.",
		},
		"no params": {
			"InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH",` + client + `}`, invalid,
			"Missing required parameter USERNAME",
		},
		"no user":     {"InitiateAuth", signInBody("", password), invalid, "Missing required parameter USERNAME"},
		"no password": {"InitiateAuth", signInBody(email, ""), invalid, "Missing required parameter PASSWORD"},
		"no token": {
			"InitiateAuth", `{"AuthFlow":"REFRESH_TOKEN_AUTH",` + client + `,"AuthParameters":{"REFRESH_TOKEN":null}}`,
			invalid, "Missing required parameter REFRESH_TOKEN",
		},
		"number": {
			"InitiateAuth", `{"AuthFlow":7,` + client + `}`, malformed,
			"NUMBER_VALUE can not be converted to a String",
		},
		"boolean": {
			"InitiateAuth", `{"AuthFlow":true,` + client + `}`, malformed,
			"TRUE_VALUE can not be converted to a String",
		},
		"object": {
			"InitiateAuth", `{"AuthFlow":{},` + client + `}`, malformed,
			"Start of structure or map found where not expected.",
		},
		"list": {
			"InitiateAuth", `{"AuthFlow":[],` + client + `}`, malformed,
			"Start of list found where not expected.",
		},
		"map is text": {
			"InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH",` + client + `,"AuthParameters":"x"}`,
			malformed, "Unexpected field type",
		},
		"param number": {
			"InitiateAuth", `{"AuthFlow":"USER_PASSWORD_AUTH",` + client +
				`,"AuthParameters":{"USERNAME":"a","PASSWORD":1}}`, malformed,
			"NUMBER_VALUE can not be converted to a String",
		},
		"no body":   {"InitiateAuth", ``, malformed, "The request body is not a JSON object."},
		"text":      {"InitiateAuth", `"x"`, malformed, "The request body is not a JSON object."},
		"null":      {"InitiateAuth", `null`, malformed, "The request body is not a JSON object."},
		"half":      {"InitiateAuth", `{"AuthFlow":`, malformed, "The request body is not a JSON object."},
		"two":       {"InitiateAuth", `{}{}`, malformed, "The request body is not a JSON object."},
		"not UTF-8": {"InitiateAuth", "{\"a\":\"\xff\"}", malformed, "The request body is not a JSON object."},
		"deep": {
			"InitiateAuth", `{"a":` + strings.Repeat("[", 30000) + strings.Repeat("]", 30000) + `}`,
			malformed, "The request body is not a JSON object.",
		},
		"no access token": {
			"GetUser", `{}`, invalid,
			"1 validation error detected: Value at 'accessToken' failed to satisfy constraint: Member must not be null",
		},
		"odd access token": {
			"GetUser", `{"AccessToken":"a b"}`, invalid,
			"1 validation error detected: Value at 'accessToken' failed to satisfy constraint: Member must satisfy " +
				"regular expression pattern: [A-Za-z0-9-_=.]+",
		},
		"access garbage": {"GetUser", `{"AccessToken":"a.b.c"}`, "NotAuthorizedException", "Invalid Access Token"},
		"sign-out garbage": {
			"GlobalSignOut", `{"AccessToken":"abc"}`, "NotAuthorizedException",
			"Invalid Access Token",
		},
		"huge token": {
			"GetUser", `{"AccessToken":"` + strings.Repeat("a", 60000) + `"}`,
			"NotAuthorizedException", "Invalid Access Token",
		},
		"revoke access": {
			"RevokeToken", `{` + client + `,"Token":"` + *result.AccessToken + `"}`,
			"UnsupportedTokenTypeException", "Unsupported token type.",
		},
		"revoke, client": {
			"RevokeToken", `{"ClientId":"other","Token":"x"}`, "UnauthorizedException",
			"Invalid client.",
		},
		"revoke, secret": {
			"RevokeToken", `{` + client + `,"Token":"x","ClientSecret":"s"}`, "UnauthorizedException",
			"Invalid client.",
		},
		"revoke nothing": {
			"RevokeToken", `{` + client + `}`, invalid,
			"1 validation error detected: Value at 'token' failed to satisfy constraint: Member must not be null",
		},
		"no session": {
			"RespondToAuthChallenge", `{"ChallengeName":"NEW_PASSWORD_REQUIRED",` + client +
				`,"ChallengeResponses":{"USERNAME":"a","NEW_PASSWORD":"b"}}`,
			invalid, "Missing required parameter Session",
		},
		"short session": {
			"RespondToAuthChallenge", `{"ChallengeName":"NEW_PASSWORD_REQUIRED",` + client + `,"Session":"abc"}`,
			invalid,
			"1 validation error detected: Value at 'session' failed to satisfy constraint: Member must have length " +
				"greater than or equal to 20",
		},
		"long session": {
			"RespondToAuthChallenge", `{"ChallengeName":"NEW_PASSWORD_REQUIRED",` + client + `,"Session":"` +
				strings.Repeat("x", 2049) + `"}`, invalid,
			"1 validation error detected: Value at 'session' failed to satisfy constraint: Member must have length " +
				"less than or equal to 2048",
		},
		"another challenge": {
			"RespondToAuthChallenge", `{"ChallengeName":"SMS_MFA",` + client + `,"Session":"` + strings.Repeat("x",
				43) + `"}`,
			"NotAuthorizedException", badSession,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := f.post(t, c.operation, c.body)
			if r.status != 400 || r.fields["__type"] != c.kind || r.fields["message"] != c.message ||
				len(r.fields) != 2 {
				t.Errorf("got %d %s\nwant %s: %s", r.status, r.body, c.kind, c.message)
			}
			if r.header.Get("x-amzn-ErrorType") != c.kind+":" || r.header.Get("x-amzn-ErrorMessage") != c.message ||
				r.header.Get("x-amzn-RequestId") == "" || r.header.Get("Content-Type") != "application/x-amz-json-1.1" {
				t.Errorf("headers %v", r.header)
			}
		})
	}
}

func TestUnknownMembersAreIgnored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := strings.Replace(signInBody(email, password), "{",
		`{"NoSuchMember":[1,{"a":null}],"AnalyticsMetadata":{"AnalyticsEndpointId":"x"},`+
			`"UserContextData":{"EncodedData":"x"},"ClientMetadata":{"a":"b"},`, 1)
	if r := f.post(t, "InitiateAuth", body); r.status != 200 {
		t.Errorf("got %d %s", r.status, r.body)
	}
	// Characters that are not allowed in a header are sent only in the body.
	r := f.post(t, "InitiateAuth", strings.Replace(body, "USER_PASSWORD_AUTH", `花\r\nX-Evil: 1`, 1))
	if r.status != 400 || r.header.Get("X-Evil") != "" || r.header.Get("x-amzn-ErrorMessage") != "" ||
		!strings.Contains(r.fields["message"].(string), "花\r\nX-Evil: 1") {
		t.Errorf("got %d %v %s", r.status, r.header, r.body)
	}
}

func TestR63_BodiesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := signInBody(email, password)
	fill := func(size int) string { return body + strings.Repeat(" ", size-len(body)) }
	if r := f.post(t, "InitiateAuth", fill(64<<10)); r.status != 200 {
		t.Errorf("64 KiB: %d %s", r.status, r.body)
	}
	if r := f.post(t, "InitiateAuth", fill(64<<10+1)); r.status != 413 ||
		r.fields["__type"] != "RequestEntityTooLargeException" {
		t.Errorf("more: %d %s", r.status, r.body)
	}
	if r := f.post(t, "InitiateAuth", body, "Content-Encoding", "gzip"); r.status != 415 ||
		r.fields["__type"] != "UnsupportedMediaTypeException" {
		t.Errorf("gzip: %d %s", r.status, r.body)
	}
}

// failingReader is a store where every call for a user fails.
type failingReader struct {
	pool.Store
	err error
}

func (s failingReader) PoolUserByEmail(context.Context, string) (pool.User, error) {
	return pool.User{}, s.err
}

func TestR35_FaultsRevealNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	secret := errors.New("dial postgres://secret@db")
	for name, c := range map[string]struct {
		err    error
		status int
		kind   string
		text   string
	}{
		"unexpected": {secret, 500, "InternalErrorException", "Internal error"},
		"unavailable": {
			fault.Wrap(secret, fault.Unavailable, "データベースに接続できません。"), 503, "ServiceUnavailableException",
			"The service is temporarily unavailable.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			cfg := config(f.clock)
			cfg.Logger = slog.New(slog.NewJSONHandler(&log, nil))
			server := serve(t, newPool(t, cfg, failingReader{f.db, c.err}))
			r := post(t, server, "InitiateAuth", signInBody(email, password))
			server.Close() // The log is complete after Close.
			if r.status != c.status || r.body != `{"__type":"`+c.kind+`","message":"`+c.text+`"}` ||
				r.header.Get("x-amzn-ErrorType") != c.kind+":" ||
				(r.header.Get("Retry-After") != "") != (c.status == 503) {
				t.Errorf("got %d %s", r.status, r.body)
			}
			if !strings.Contains(log.String(), "secret@db") ||
				!strings.Contains(log.String(), r.header.Get("x-amzn-RequestId")) {
				t.Errorf("log: %s", log.String())
			}
			if strings.Contains(log.String(), password) {
				t.Error("the log has the password")
			}
		})
	}
}

// nobody is a store without users. It counts no attempts.
type nobody struct{ pool.Store }

func (nobody) PoolUserByEmail(context.Context, string) (pool.User, error) {
	return pool.User{}, fault.Errorf(fault.NotFound, "")
}

func (nobody) PoolUserBySub(context.Context, uuid.UUID) (pool.User, error) {
	return pool.User{}, fault.Errorf(fault.NotFound, "")
}

func (nobody) ChallengeByHash(context.Context, []byte) (pool.Challenge, error) {
	return pool.Challenge{}, fault.Errorf(fault.NotFound, "")
}

func (nobody) GrantByToken(context.Context, []byte) (pool.GrantUser, error) {
	return pool.GrantUser{}, fault.Errorf(fault.NotFound, "")
}

// FuzzCall: every input gets a response of the protocol, and never an internal error.
func FuzzCall(f *testing.F) {
	c := newClock()
	keys := &firstKey{}
	cfg := config(c)
	cfg.Mailer = newPostbox() // It receives no messages because there are no users.
	p := must.Get(pool.New(f.Context(), cfg, keys))(f)
	handler := p.Handler()
	f.Add("ForgotPassword", []byte(`{"ClientId":"`+clientID+`","Username":"`+email+`","ClientMetadata":{"a":"b"}}`))
	f.Add("ConfirmForgotPassword",
		[]byte(`{"ClientId":"`+clientID+`","Username":"a","ConfirmationCode":"１２３456","Password":"`+password+`"}`))
	f.Add("ResendConfirmationCode", []byte(`{"ClientId":"`+clientID+`","Username":"@"}`))
	f.Add("AdminCreateUser", []byte(`{"UserPoolId":"`+poolID+`","Username":"a","UserAttributes":[{"Name":"a"}]}`))
	f.Add("InitiateAuth", []byte(signInBody(email, password)))
	f.Add(
		"InitiateAuth",
		[]byte(`{"AuthFlow":"REFRESH_TOKEN","ClientId":"`+clientID+`","AuthParameters":{"REFRESH_TOKEN":"x"}}`),
	)
	f.Add("GetUser", []byte(`{"AccessToken":"eyJhbGciOiJub25lIn0.e30."}`))
	f.Add("GlobalSignOut", []byte(`{"AccessToken":"a.b.c"}`))
	f.Add("RevokeToken", []byte(`{"Token":"x","ClientId":"`+clientID+`"}`))
	f.Add("RespondToAuthChallenge", []byte(`{"ChallengeName":"NEW_PASSWORD_REQUIRED","ClientId":"`+clientID+
		`","Session":"01234567890123456789","ChallengeResponses":{"USERNAME":"a","NEW_PASSWORD":"Aa1-5678",`+
		`"userAttributes.name":"b"}}`))
	f.Fuzz(func(t *testing.T, operation string, body []byte) {
		req := httptest.NewRequest(http.MethodPost, "/pool/", strings.NewReader(string(body)))
		req.Header.Set("Content-Type", "application/x-amz-json-1.1")
		req.Header.Set("X-Amz-Target", "AWSCognitoIdentityProviderService."+operation)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		switch w.Code {
		case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if !strings.HasPrefix(w.Body.String(), "{") || w.Header().Get("Content-Type") != "application/x-amz-json-1.1" {
			t.Fatalf("got %s", w.Body)
		}
	})
}

// FuzzR58_Addresses: a valid address has one normalized form, and mail servers parse it as the same address.
func FuzzR58_Addresses(f *testing.F) {
	for _, seed := range []string{
		email, " ＨＡＮＡＫＯ＠example.com\u3000", "\u212aen@example.com", "\u0130@example.com", "a@b@c", "a\u00a8@b", "a@b.",
		"a..b@c", "\ufdfa@x", "a@\u2024b", "\xff@x",
		"a\u00ad@b", "\u2100@x", "a@b\r\nc", "a@[::1]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		address := pool.NormalizeEmail(typed)
		if !pool.ValidEmail(address) {
			return
		}
		if pool.NormalizeEmail(address) != address || pool.NormalizeEmail(strings.ToUpper(address)) != address {
			t.Errorf("%q has several forms", address)
		}
		if strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f }) ||
			strings.Count(address, "@") != 1 || len(address) > 254 {
			t.Errorf("%q is an address", address)
		}
	})
}

func (nobody) SavePoolCode(context.Context, pool.Code, []byte, time.Time,
	func(pool.Attempts) (pool.Attempts, error),
) error {
	return nil
}

// PoolCode returns a code that was never sent.
func (nobody) PoolCode(context.Context, []byte, time.Time) (pool.Code, error) {
	return pool.Code{
		Hash: "$argon2id$v=19$m=64,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	}, nil
}

func (nobody) TryPoolCode(_ context.Context, code pool.Code, _ time.Time) (pool.Code, error) {
	return code, nil
}

// firstKey stores the key that the pool generates, and has no users.
type firstKey struct {
	nobody
	keys []pool.Key
}

func (s *firstKey) PoolKeys(context.Context) ([]pool.Key, error) { return s.keys, nil }

func (s *firstKey) AddFirstPoolKey(_ context.Context, key pool.Key) error {
	s.keys = append(s.keys, key)
	return nil
}

func (*firstKey) RecordPoolEvent(context.Context, pool.Event) error { return nil }

func (s *firstKey) PoolAttempts(_ context.Context, keys ...[]byte) ([]pool.Attempts, error) {
	return make([]pool.Attempts, len(keys)), nil
}

func (s *firstKey) UpdatePoolAttempts(_ context.Context, keys [][]byte, _ time.Time,
	update func([]pool.Attempts) []pool.Attempts,
) error {
	update(make([]pool.Attempts, len(keys)))
	return nil
}

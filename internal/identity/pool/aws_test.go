package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"testing"

	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"
	"github.com/aws/smithy-go"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// exchange is a call to a user pool, and its answer.
type exchange struct {
	Operation string
	Request   any
	Status    int
	Response  any
}

// TestShapesOfAWS checks the sign-ins in testdata/aws_mfa.json, which the tests of the sign-in page use too: AWS's own
// SDK sends the same requests, and knows every member of the answers and every error.
func TestShapesOfAWS(t *testing.T) {
	t.Parallel()
	text := must.Get(os.ReadFile("testdata/aws_mfa.json"))(t)
	var recorded struct {
		SignIns map[string][]exchange `json:"sign_ins"`
	}
	must.Succeed(t, json.Unmarshal(text, &recorded))
	if len(recorded.SignIns) == 0 {
		t.Fatal("no sign-ins")
	}
	for name, exchanges := range recorded.SignIns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, e := range exchanges {
				e.check(t)
			}
		})
	}
}

// check makes the call with the SDK.
func (e exchange) check(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if got := decoded(t, body); !reflect.DeepEqual(got, e.Request) ||
			r.Header.Get("X-Amz-Target") != "AWSCognitoIdentityProviderService."+e.Operation {
			t.Errorf("%s: the SDK sends %s", e.Operation, body)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(e.Status)
		_, _ = w.Write(encoded(t, e.Response))
	}))
	defer server.Close()
	output, err := e.call(t, newSDK(server))
	if e.Status != http.StatusOK {
		e.checkError(t, err)
		return
	}
	must.Succeed(t, err)
	if got := decoded(t, encoded(t, output)); !reflect.DeepEqual(given(got), given(e.Response)) {
		t.Errorf("%s: the SDK reads %v", e.Operation, got)
	}
}

// call makes the call of the exchange.
func (e exchange) call(t *testing.T, sdk *cognito.Client) (output any, err error) {
	t.Helper()
	switch ctx := t.Context(); e.Operation {
	case "InitiateAuth":
		return callSDK(ctx, t, e.Request, sdk.InitiateAuth)
	case "RespondToAuthChallenge":
		return callSDK(ctx, t, e.Request, sdk.RespondToAuthChallenge)
	case "AssociateSoftwareToken":
		return callSDK(ctx, t, e.Request, sdk.AssociateSoftwareToken)
	case "VerifySoftwareToken":
		return callSDK(ctx, t, e.Request, sdk.VerifySoftwareToken)
	}
	t.Fatalf("unknown operation %s", e.Operation)
	return nil, nil
}

func callSDK[In, Out any](
	ctx context.Context, t *testing.T, request any, call func(context.Context, *In, ...func(*cognito.Options)) (*Out, error),
) (any, error) {
	t.Helper()
	var in In
	must.Succeed(t, json.Unmarshal(encoded(t, request), &in))
	return call(ctx, &in)
}

// checkError checks that the SDK has a type for the error.
func (e exchange) checkError(t *testing.T, err error) {
	t.Helper()
	response := e.Response.(map[string]any)
	if known, ok := errors.AsType[smithy.APIError](err); !ok || known.ErrorCode() != response["__type"] ||
		known.ErrorMessage() != response["message"] || reflect.TypeOf(known).Elem().Name() != response["__type"] {
		t.Errorf("%s: the SDK reads %v as %T", e.Operation, response, known)
	}
}

// given returns the members of an answer that have a value.
func given(answer any) any {
	members, ok := answer.(map[string]any)
	if !ok {
		return answer
	}
	result := map[string]any{}
	for name, value := range members {
		empty := value == nil || value == "" || reflect.DeepEqual(value, map[string]any{})
		if name != "ResultMetadata" && !empty {
			result[name] = given(value)
		}
		if name == "ChallengeName" && value != "" &&
			!slices.Contains(types.ChallengeNameType("").Values(), types.ChallengeNameType(value.(string))) {
			result[name] = "an unknown challenge"
		}
	}
	return result
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	text := must.Get(json.Marshal(value))(t)
	return text
}

func decoded(t *testing.T, text []byte) (value any) {
	t.Helper()
	must.Succeed(t, json.Unmarshal(text, &value))
	return value
}

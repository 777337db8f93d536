package ratelimit_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestLimitsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	defaults := ratelimit.DefaultLimits()
	with := func(kind ratelimit.Kind, allowed ratelimit.Allowance) ratelimit.Limits {
		limits := maps.Clone(defaults)
		limits[kind] = allowed
		return limits
	}
	for text, want := range map[string]ratelimit.Limits{
		"default": defaults, "off": {}, "question=120": with("question", ratelimit.Allowance{Each: 120, Organization: 6000}),
		"question=0:7":               with("question", ratelimit.Allowance{Organization: 7}),
		"write=600:20000, sign_in=5": with("sign_in", ratelimit.Allowance{Each: 5}),
		"":                           nil, "x=1": nil, "question": nil, "question=": nil, "question=-1": nil,
		"question=1:":      nil,
		"question=1:2:3":   nil,
		"question=1000001": nil, "sign_in=1:2": nil, "question=1,": nil,
	} {
		var got ratelimit.Limits
		if err := got.UnmarshalText([]byte(text)); (err == nil) != (want != nil) || !maps.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestToolsAreLimitedOneByOne: a tool that is called too often, by a person or by the people of an organization, is refused.
// Other tools, people and organizations are not affected.
func TestToolsAreLimitedOneByOne(t *testing.T) {
	t.Parallel()
	limiter := ratelimit.New(ratelimit.Limits{
		ratelimit.KindTool: {Each: 5, Organization: 9}, ratelimit.KindOneTool: {Each: 2, Organization: 3},
	}, nil)
	office, other := uuid.New(), uuid.New()
	taro := identity.Owner{OrganizationID: office, UserID: uuid.New()}
	jiro := identity.Owner{OrganizationID: office, UserID: uuid.New()}
	john := identity.Owner{OrganizationID: other, UserID: uuid.New()}
	for i, call := range []struct {
		owner   identity.Owner
		tool    string
		refused ratelimit.Kind
	}{
		{taro, "a", ""},
		{taro, "a", ""},
		{taro, "a", ratelimit.KindOneTool},
		{taro, "b", ""},
		{jiro, "a", ""},
		{jiro, "a", ratelimit.KindOneTool}, // Of the organization.
		{jiro, "b", ""},
		{john, "a", ""},
		{taro, "c", ""},
		{taro, "d", ""},
		{taro, "e", ratelimit.KindTool},
	} {
		var kind ratelimit.Kind
		if refused, ok := errors.AsType[*ratelimit.Error](limiter.CountTool(call.owner, call.tool)); ok {
			kind = refused.Kind
		}
		if kind != call.refused {
			t.Errorf("call %d: refused by %q, not %q", i, kind, call.refused)
		}
	}
}

// TestLimitsAreDocumented compares the table in docs/operating.md with the defaults.
func TestLimitsAreDocumented(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../../docs/operating.md")
	must.Succeed(t, err)
	documented := make(map[ratelimit.Kind]string)
	for _, row := range regexp.MustCompile(
		"(?m)^\\| `([a-z_]+)` \\| ([0-9,]+) \\| ([0-9,–]+) \\|",
	).FindAllStringSubmatch(string(source), -1) {
		documented[ratelimit.Kind(row[1])] = strings.ReplaceAll(row[2]+":"+row[3], ",", "")
	}
	want := make(map[ratelimit.Kind]string)
	for kind, allowed := range ratelimit.DefaultLimits() {
		want[kind] = strings.Replace(fmt.Sprintf("%d:%d", allowed.Each, allowed.Organization), ":0", ":–", 1)
	}
	if !maps.Equal(documented, want) {
		t.Errorf("docs/operating.md says %v, the defaults are %v", documented, want)
	}
}

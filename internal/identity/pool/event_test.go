package pool_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// at returns the fixture with calls from an address, and from a browser with the given device secret or, for "", a
// program.
func (f *fixture) at(address, device string) *fixture {
	there := *f
	there.sdk = cognito.New(f.sdk.Options(), func(o *cognito.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Build.Add(middleware.BuildMiddlewareFunc("origin", func(
				ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler,
			) (middleware.BuildOutput, middleware.Metadata, error) {
				if r, ok := in.Request.(*smithyhttp.Request); ok {
					r.Header.Set("Test-Address", address)
					r.Header.Set("Test-Device", device)
				}
				return next.HandleBuild(ctx, in)
			}), middleware.After)
		})
	})
	return &there
}

// member makes the fixture's user a member of an organization, whose id it returns.
func (f *fixture) member(t *testing.T) uuid.UUID {
	t.Helper()
	o := org.Organization{
		ID: uuid.Must(uuid.NewV7()), Name: "紡績", AuthType: "cognito",
		MailDomains: []string{"example.com"},
	}
	must.Succeed(t, f.db.CreateOrganization(t.Context(), o))
	must.Succeed(t, f.db.CreateUser(t.Context(), identity.NewUser{
		ID: uuid.Must(uuid.NewV7()), OrganizationID: o.ID, Subject: f.sub.String(), Email: email, Name: "山田 花子",
		Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}))
	return o.ID
}

// events returns the audit log's entries of an organization, or those without one, oldest first.
func (f *fixture) events(t *testing.T, organization *uuid.UUID) []string {
	t.Helper()
	events, _, err := f.db.ListEvents(t.Context(), org.AuditQuery{
		OrganizationID: organization, Kind: org.SignIns,
		Limit: 100,
	})
	must.Succeed(t, err)
	var entries []string
	for _, e := range slices.Backward(events) {
		if (organization == nil) != (e.OrganizationID == nil) {
			continue
		}
		var details []string
		for _, d := range e.Details {
			details = append(details, d.After)
		}
		entries = append(entries, strings.TrimSpace(fmt.Sprintf("%s %s %s x%d %s", e.Action, e.By.Kind, e.By.Address,
			e.Times,
			strings.Join(details, " "))))
		if e.TargetLabel != email && organization != nil || e.By.RequestID != "r1" ||
			e.By.Kind == org.ByMember != (e.By.Email == email) {
			t.Errorf("entry %+v", e)
		}
	}
	return entries
}

func wantEvents(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the audit log tells of\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSignInsAreAudited covers a session and the rejected attempts around it.
func TestSignInsAreAudited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	organization := f.member(t)
	here := f.at("192.0.2.7", "browser")
	ctx := t.Context()
	tick := func() { f.clock.Advance(time.Second) }
	for range 5 {
		_, err := here.signIn(ctx, email, "not the password")
		wantNotAuthorized(t, err, incorrect)
	}
	tick()
	first := here.mustSignIn(t)
	tick()
	_, err := here.forgot(ctx, email)
	must.Succeed(t, err)
	code := arrived(t, f.mail.codes).Code
	tick()
	if err := here.confirm(ctx, email, other(code, 1), fresh); err == nil {
		t.Error("a wrong code was taken")
	}
	tick()
	must.Succeed(t, here.confirm(ctx, email, code, fresh))
	tick()
	_, err = here.refresh(ctx, *first.RefreshToken)
	wantNotAuthorized(t, err, "Refresh Token has been revoked")
	tick()
	out := must.Get(here.signIn(ctx, email, fresh))(t)
	tick()
	must.Succeed(t, here.changePassword(ctx, out.AuthenticationResult.AccessToken, fresh, password))
	tick()
	must.Get(here.sdk.RevokeToken(ctx, &cognito.RevokeTokenInput{
		ClientId: aws.String(clientID),
		Token:    out.AuthenticationResult.RefreshToken,
	}))(t)
	_, err = here.sdk.RevokeToken(ctx, &cognito.RevokeTokenInput{
		ClientId: aws.String(clientID),
		Token:    out.AuthenticationResult.RefreshToken,
	})
	must.Succeed(t, err) // The session has already ended, so there is only one entry.
	tick()
	last := here.mustSignIn(t)
	tick()
	must.Get(here.sdk.GlobalSignOut(ctx, &cognito.GlobalSignOutInput{AccessToken: last.AccessToken}))(t)
	wantEvents(t, f.events(t, &organization),
		"session.fail unknown 192.0.2.7 x5 password",
		"session.lock unknown 192.0.2.7 x1",
		"session.begin user 192.0.2.7 x1 password",
		"password.request unknown 192.0.2.7 x1",
		"password.fail unknown 192.0.2.7 x1 code",
		"password.reset user 192.0.2.7 x1",
		"session.refuse unknown 192.0.2.7 x1 revoked",
		"session.begin user 192.0.2.7 x1 password",
		"password.change user 192.0.2.7 x1",
		"session.end user 192.0.2.7 x1",
		"session.begin user 192.0.2.7 x1 password",
		"session.end_all user 192.0.2.7 x1",
	)
	wantEvents(t, f.events(t, nil))
}

// TestUnknownNamesDoNotFillTheAuditLog: attempts with unknown names make one entry an hour per address, in no
// organization. The name as typed is never recorded.
func TestUnknownNamesDoNotFillTheAuditLog(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	organization := f.member(t)
	ctx := t.Context()
	for address := range 3 {
		there := f.at("192.0.2."+strconv.Itoa(address+1), "")
		for i := range 4 {
			_, err := there.signIn(ctx, "typed-"+strconv.Itoa(i)+"@example.com", "wrong")
			wantNotAuthorized(t, err, incorrect)
			must.Get(there.forgot(ctx, "typed-"+strconv.Itoa(i)+"@example.com"))(t)
			_, err = there.refresh(ctx, "unknown")
			wantNotAuthorized(t, err, "Invalid Refresh Token.")
		}
	}
	events, total, err := f.db.ListEvents(ctx, org.AuditQuery{Limit: 100})
	must.Succeed(t, err)
	if total != 9 {
		t.Errorf("%d entries", total)
	}
	for _, e := range events {
		if e.Times != 4 || e.OrganizationID != nil || strings.Contains(fmt.Sprintf("%+v", e), "typed") {
			t.Errorf("entry %+v", e)
		}
	}
	if events := f.events(t, &organization); len(events) > 0 {
		t.Errorf("the organization has entries %q", events)
	}
}

// TestR39_WrongPasswordsCountByAddress: wrong passwords at one address do not lock out others, and the limit on all
// addresses together does not apply to known devices.
func TestR39_WrongPasswordsCountByAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	home := f.at("192.0.2.1", "known")
	home.mustSignIn(t)
	addresses := 0
	for tried := 0; tried < 50; addresses++ {
		there := f.at("198.51.100."+strconv.Itoa(addresses+1), "")
		for range 5 {
			_, err := there.signIn(ctx, email, "wrong")
			wantNotAuthorized(t, err, incorrect)
			tried++
		}
		if _, err := there.signIn(ctx, email, password); tried < 50 {
			wantNotAuthorized(t, err, exceeded)
		}
	}
	if addresses != 10 {
		t.Fatalf("%d addresses", addresses)
	}
	_, err := f.at("203.0.113.1", "").signIn(ctx, email, password) // From an address without attempts.
	wantNotAuthorized(t, err, exceeded)
	_, err = f.at("203.0.113.1", "unknown").signIn(ctx, email, password)
	wantNotAuthorized(t, err, exceeded)
	_, err = f.at("203.0.113.1", "known").signIn(ctx, email, "wrong") // Its wrong passwords are counted there too.
	wantNotAuthorized(t, err, incorrect)
	must.Get(f.at("203.0.113.1", "known").signIn(ctx, email, password))(t)
	_, err = f.at("203.0.113.2", "").signIn(ctx, email, password) // The right password has reset the count.
	must.Succeed(t, err)
	// Addresses in one IPv6 /64 count as one.
	for i := range 5 {
		_, err := f.at("2001:db8::"+strconv.Itoa(i+1), "").signIn(ctx, email, "wrong")
		wantNotAuthorized(t, err, incorrect)
	}
	_, err = f.at("2001:db8::ffff", "").signIn(ctx, email, password)
	wantNotAuthorized(t, err, exceeded)
	must.Get(f.at("2001:db8:0:1::1", "").signIn(ctx, email, password))(t)
}

func TestNewDevicesAndPasswordsAreMailed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.at("192.0.2.1", "laptop").mustSignIn(t)
	f.at("192.0.2.2", "laptop").mustSignIn(t)
	if n := len(f.mail.devices); n != 0 {
		t.Fatalf("%d mails of the first device", n)
	}
	phone := f.at("192.0.2.3", "phone")
	tokens := phone.mustSignIn(t)
	got := arrived(t, f.mail.devices)
	if got.Email != email || got.Name != "山田 花子" || got.Address != "192.0.2.3" ||
		!got.At.Equal(f.clock.Now().Truncate(time.Microsecond)) {
		t.Errorf("notice %+v", got)
	}
	phone.mustSignIn(t)
	program := f.at("192.0.2.4", "") // Recognized by its user agent and address.
	program.mustSignIn(t)
	arrived(t, f.mail.devices)
	program.mustSignIn(t)
	must.Succeed(t, phone.changePassword(ctx, tokens.AccessToken, password, fresh))
	if got := arrived(t, f.mail.changed); got.Email != email || got.Address != "192.0.2.3" {
		t.Errorf("notice %+v", got)
	}
	must.Get(phone.forgot(ctx, email))(t)
	must.Succeed(t, phone.confirm(ctx, email, arrived(t, f.mail.codes).Code, password))
	arrived(t, f.mail.changed)
	f.mail.setFailure(http.ErrHandlerTimeout) // A failed mail does not prevent the sign-in.
	f.at("192.0.2.5", "tablet").mustSignIn(t)
	arrived(t, f.mail.devices)
	if n := len(f.mail.devices) + len(f.mail.changed); n != 0 {
		t.Errorf("%d mails too many", n)
	}
}

func TestAgents(t *testing.T) {
	t.Parallel()
	const webkit = " AppleWebKit/537.36 (KHTML, like Gecko) "
	for agent, want := range map[string]string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64)" + webkit +
			"Chrome/141.0.0.0 Safari/537.36": "Chrome（Windows）",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64)" + webkit +
			"Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0": "Edge（Windows）",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)" + webkit +
			"Version/26.0 Safari/605.1.15": "Safari（Mac）",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X)" + webkit +
			"Version/26.0 Mobile Safari/604.1": "Safari（iPhone）",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X)" + webkit +
			"CriOS/141.0 Mobile Safari/604.1": "Chrome（iPhone）",
		"Mozilla/5.0 (Linux; Android 15; Pixel 9)" + webkit +
			"Chrome/141.0.0.0 Mobile Safari/537.36": "Chrome（Android）",
		"Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0": "Firefox（Linux）",
		"curl/8.5.0": "", "": "", "aws-sdk-go-v2/1.39 os/linux": "",
	} {
		if got := identity.Agent(agent); got != want {
			t.Errorf("%s: %q, want %q", agent, got, want)
		}
	}
}

package workspace_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestLinkInOneBrowser(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if found := o.link(o.home, "UTARO", ""); found.State != channel.LinkNone {
		t.Fatalf("before: %+v", found)
	}
	state := o.notice("UTARO")
	link, err := o.links.OwnLink(t.Context(), o.taro, state)
	if err != nil || link.PendingPerson == nil || link.PendingPerson.Name != "太郎" || link.Workspace != "紡" || !link.CanLink ||
		link.Link != nil {
		t.Fatalf("got %+v, %v", link, err)
	}
	b := o.begin(o.taro, state)
	must.Succeed(t, o.signIn(b, "UTARO", "T1"))
	found := o.link(o.home, "UTARO", "T1")
	if found.State != channel.LinkActive || found.Owner.UserID != o.taro.ID || found.Email != "taro@example.jp" {
		t.Errorf("got %+v", found)
	}
	if err := o.signIn(b, "UTARO", "T1"); !errors.Is(err, workspace.ErrProofState) {
		t.Errorf("the same again: %v", err)
	}
	if _, err := o.links.OwnLink(t.Context(), o.taro, state); !errors.Is(err, workspace.ErrProofState) {
		t.Errorf("the notice after it was used: %v", err)
	}
	link, err = o.links.OwnLink(t.Context(), o.taro, "")
	if err != nil || link.Link == nil || link.Link.Person != "UTARO" || link.Link.Name != "太郎" || link.Link.Automatic {
		t.Errorf("got %+v, %v", link.Link, err)
	}
	list, total, err := o.links.List(t.Context(), o.hanako, 0, 10)
	if err != nil || total != 1 || list[0].UserEmail != "taro@example.jp" {
		t.Errorf("got %+v, %d, %v", list, total, err)
	}
	if err := o.links.Unlink(t.Context(), o.taro); err != nil {
		t.Error(err)
	}
	if err := o.links.Unlink(t.Context(), o.taro); !errors.Is(err, workspace.ErrNotLinked) {
		t.Errorf("again: %v", err)
	}
	events, _, err := o.db.ListEvents(t.Context(), org.AuditQuery{OrganizationID: &o.taro.OrganizationID, Limit: 10})
	var actions []string
	for _, e := range events {
		actions = append(actions, string(e.Action)+" "+e.By.Email)
	}
	want := []string{"slack.unlink taro@example.jp", "slack.link taro@example.jp", "slack.edit hanako@example.jp"}
	if err != nil || !slices.Equal(actions, want) {
		t.Errorf("the log has %q, %v", actions, err)
	}
}

// TestForeignProofsAreRefused: a forwarded address, another browser, another person of the surface, another workspace,
// a guest and another organization are refused.
func TestForeignProofsAreRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.people["UGUEST"] = workspace.Profile{Name: "協力会社", Confirmed: true, Teams: []string{"T1"}, Guest: true}
	o.people["UGONE"] = workspace.Profile{Name: "退職", Confirmed: true, Teams: []string{"T1"}, Deleted: true}
	for name, test := range map[string]struct {
		try  func() error
		want error
	}{
		"a forwarded address that a colleague opens": {func() error {
			return o.signIn(o.begin(o.taro, o.notice("UHANAKO")), "UTARO", "T1")
		}, workspace.ErrOtherPerson},
		"another browser": {func() error {
			b := o.begin(o.taro, o.notice("UTARO"))
			b.cookie = o.begin(o.hanako, "").cookie
			return o.signIn(b, "UTARO", "T1")
		}, workspace.ErrProofState},
		"no cookie": {func() error {
			b := o.begin(o.taro, "")
			b.cookie = ""
			return o.signIn(b, "UTARO", "T1")
		}, workspace.ErrProofState},
		"the state of the notice itself": {func() error {
			b := o.begin(o.taro, "")
			b.state = o.notice("UTARO")
			return o.signIn(b, "UTARO", "T1")
		}, workspace.ErrProofState},
		"another attempt's nonce": {func() error {
			b := o.begin(o.taro, "")
			b.nonce = o.begin(o.taro, "").nonce
			code := uuid.NewString()
			o.codes[code], o.nonces[code] = workspace.Identity{TeamID: "T1", Person: "UTARO"}, "another"
			return o.links.Finish(t.Context(), b.state, b.cookie, code)
		}, fault.Errorf(fault.Invalid, "本人確認を完了できません。")},
		"another workspace": {func() error {
			return o.signIn(o.begin(o.taro, ""), "URIVAL", "T2")
		}, workspace.ErrNotMember},
		"a guest": {func() error {
			return o.signIn(o.begin(o.taro, ""), "UGUEST", "T1")
		}, workspace.ErrNotMember},
		"a deleted account": {func() error {
			return o.signIn(o.begin(o.taro, ""), "UGONE", "T1")
		}, workspace.ErrNotMember},
		"denied at the surface": {func() error {
			b := o.begin(o.taro, "")
			return o.links.Finish(t.Context(), b.state, b.cookie, "")
		}, workspace.ErrDenied},
		"too late": {func() error {
			b := o.begin(o.taro, "")
			o.now = o.now.Add(11 * time.Minute)
			return o.signIn(b, "UTARO", "T1")
		}, workspace.ErrProofState},
		"a notice too old": {func() error {
			state := o.notice("UTARO")
			o.now = o.now.Add(2 * time.Hour)
			_, _, err := o.links.Begin(t.Context(), o.taro, state)
			return err
		}, workspace.ErrProofState},
		"another organization's notice": {func() error {
			_, _, err := o.links.Begin(t.Context(), o.rival, o.notice("UTARO"))
			return err
		}, workspace.ErrProofState},
		"a member who was removed in between": {func() error {
			jiro := o.person(o.taro.OrganizationID, "jiro@example.jp", identity.RoleGeneralUser)
			b := o.begin(jiro, "")
			o.exec("UPDATE users SET state = 'inactive' WHERE id = $1", jiro.ID)
			return o.signIn(b, "UTARO", "T1")
		}, workspace.ErrProofState},
	} {
		if err := test.try(); err == nil || fault.CodeOf(err) != fault.CodeOf(test.want) ||
			fault.DetailOf(err) != fault.DetailOf(test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, total, err := o.links.List(t.Context(), o.hanako, 0, 10); err != nil || total != 0 {
		t.Errorf("%d links, %v", total, err)
	}
}

// TestOneLinkEach: each person has at most one member, and each member at most one person.
func TestOneLinkEach(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	must.Succeed(t, o.signIn(o.begin(o.taro, ""), "UTARO", "T1"))
	if err := o.signIn(o.begin(o.taro, ""), "UTARO", "T1"); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := o.signIn(o.begin(o.hanako, ""), "UTARO", "T1"); !errors.Is(err, workspace.ErrPersonTaken) {
		t.Errorf("another member: %v", err)
	}
	if err := o.signIn(o.begin(o.taro, ""), "UHANAKO", "T1"); !errors.Is(err, workspace.ErrMemberTaken) {
		t.Errorf("another person: %v", err)
	}
	if err := o.links.UnlinkMember(t.Context(), o.taro, o.taro.ID); !errors.Is(err, org.ErrForbidden) {
		t.Errorf("unlinked by a member: %v", err)
	}
	if err := o.links.UnlinkMember(t.Context(), o.rival, o.taro.ID); !errors.Is(err, workspace.ErrNotLinked) {
		t.Errorf("unlinked by another organization: %v", err)
	}
	if err := o.links.UnlinkMember(t.Context(), o.hanako, o.taro.ID); err != nil {
		t.Error(err)
	}
	if err := o.signIn(o.begin(o.taro, ""), "UTARO", "T1"); err != nil {
		t.Error(err)
	}
	removed, err := o.links.RemoveLink(t.Context(), channel.Target{Installation: o.home, Person: "UTARO"})
	if err != nil || !removed || o.link(o.home, "UTARO", "").State != channel.LinkNone {
		t.Errorf("from the surface: %t, %v", removed, err)
	}
}

// TestLinksFollowTheMember: a disabled member receives a notice; the link of a removed member is deleted.
func TestLinksFollowTheMember(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	must.Succeed(t, o.signIn(o.begin(o.taro, ""), "UTARO", "T1"))
	o.exec("UPDATE users SET state = 'inactive' WHERE id = $1", o.taro.ID)
	if found := o.link(o.home, "UTARO", ""); found.State != channel.LinkRemoved {
		t.Errorf("disabled: %+v", found)
	}
	o.exec("DELETE FROM users WHERE id = $1", o.taro.ID)
	if found := o.link(o.home, "UTARO", ""); found.State != channel.LinkNone {
		t.Errorf("removed: %+v", found)
	}
}

// TestAutomaticLinks: if enabled, full members of the workspace are linked by their confirmed address with exactly one
// active member of the organization.
func TestAutomaticLinks(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if found := o.link(o.home, "UTARO", ""); found.State != channel.LinkNone {
		t.Errorf("switched off: %+v", found)
	}
	o.policy(channel.Policy{AutoLink: true})
	inactive := o.person(o.taro.OrganizationID, "left@example.jp", identity.RoleGeneralUser)
	o.exec("UPDATE users SET state = 'inactive' WHERE id = $1", inactive.ID)
	invited := o.person(o.taro.OrganizationID, "invited@example.jp", identity.RoleGeneralUser)
	o.exec("UPDATE users SET last_signed_in_at = NULL WHERE id = $1", invited.ID)
	odd := o.person(o.taro.OrganizationID, "odd@example.jp", identity.RoleGeneralUser)
	o.exec(`INSERT INTO pool_users (sub, email, email_verified, name, groups, status, enabled, password_hash, version,
		    created_at, updated_at)
		SELECT subject::uuid, email, false, name, '{}', 'CONFIRMED', true, '', 1, now(), now() FROM users WHERE id = $1`, odd.ID)
	unconfirmed := member("太郎", "taro@example.jp")
	unconfirmed.Confirmed = false
	guest, bot, deleted, stranger := member("客", "taro@example.jp"), member("機械", "taro@example.jp"),
		member("退職", "taro@example.jp"), member("他社", "taro@example.jp")
	guest.Guest, bot.Bot, deleted.Deleted, stranger.External = true, true, true, true
	elsewhere := member("別", "taro@example.jp")
	elsewhere.Teams = []string{"T9"}
	for name, test := range map[string]struct {
		profile workspace.Profile
		want    channel.LinkState
	}{
		"unconfirmed": {unconfirmed, channel.LinkNone}, "without an address": {member("無", ""), channel.LinkNone},
		"guest": {guest, channel.LinkRefused}, "bot": {bot, channel.LinkRefused},
		"deleted": {deleted, channel.LinkRefused}, "stranger": {stranger, channel.LinkRefused},
		"another workspace's":               {elsewhere, channel.LinkRefused},
		"unknown address":                   {member("新", "new@example.jp"), channel.LinkNone},
		"member of another organization":    {member("五郎", "rival@example.com"), channel.LinkNone},
		"disabled member":                   {member("退職", "left@example.jp"), channel.LinkNone},
		"member who has never signed in":    {member("招待", "invited@example.jp"), channel.LinkNone},
		"member with unconfirmed address":   {member("奇", "odd@example.jp"), channel.LinkNone},
		"address with a wildcard":           {member("奇", "%@example.jp"), channel.LinkNone},
		"address with the domain in common": {member("奇", "x@example.jp"), channel.LinkNone},
	} {
		o.people["UX"] = test.profile
		if found := o.link(o.home, "UX", ""); found.State != test.want {
			t.Errorf("%s: %+v", name, found)
		}
	}
	asked := o.asked
	if found := o.link(o.home, "UTARO", "T2"); found.State != channel.LinkRefused || o.asked != asked {
		t.Errorf("of another workspace in a shared channel: %+v", found)
	}
	if found := o.link(o.away, "URIVAL", ""); found.State != channel.LinkNone {
		t.Errorf("in an organization that has not switched it on: %+v", found)
	}
	for range 2 {
		if found := o.link(o.home, "UTARO", "T1"); found.State != channel.LinkActive || found.Owner.UserID != o.taro.ID {
			t.Fatalf("got %+v", found)
		}
	}
	if o.asked != asked+2 {
		t.Errorf("the profile was asked for %d times", o.asked-asked)
	}
	// A second person with the same address is not linked.
	o.people["UTWIN"] = member("双子", "taro@example.jp")
	if found := o.link(o.home, "UTWIN", ""); found.State != channel.LinkNone {
		t.Errorf("a second person: %+v", found)
	}
	list, _, err := o.links.List(t.Context(), o.hanako, 0, 10)
	if err != nil || len(list) != 1 || !list[0].Automatic {
		t.Errorf("got %+v, %v", list, err)
	}
}

// TestAutomaticLinksAtOnce: of many concurrent events of one person, one adds the link.
func TestAutomaticLinksAtOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.policy(channel.Policy{AutoLink: true})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			found, err := o.links.FindLink(t.Context(), channel.Target{Installation: o.home, Person: "UTARO"})
			if err != nil || found.State != channel.LinkActive {
				t.Errorf("got %+v, %v", found, err)
			}
		})
	}
	all.Wait()
	if _, total, err := o.db.ListEvents(t.Context(), org.AuditQuery{Action: org.ActionSlackLink, Limit: 10}); err != nil ||
		total != 1 {
		t.Errorf("%d entries, %v", total, err)
	}
}

// TestR91_LogsHaveNoCredentials: neither logs nor printed values contain credentials.
func TestR91_LogsHaveNoCredentials(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	slog.New(slog.NewTextHandler(o.log, nil)).Info("x", "installation", o.home, "credentials", o.home.Credentials,
		"text", o.home.Credentials.String())
	if strings.Contains(o.log.String(), "xoxb") || strings.Contains(o.log.String(), "client-secret") {
		t.Errorf("the log has %s", o.log)
	}
}

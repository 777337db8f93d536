package identity_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// watched is a store with one member, under any name, that counts how often it is asked. The test tells what it tells.
type watched struct {
	identity.Store
	found identity.Standing
	asked int
	tell  identity.Watcher // Set by Start.

	read     func() // Not nil: called when an answer has been read and is on its way.
	watching chan struct{}
}

func (w *watched) UserBySubject(context.Context, string, uuid.UUID) (identity.Standing, error) {
	w.asked++
	found := w.found
	if w.read != nil {
		w.read()
	}
	return found, nil
}

func (w *watched) WatchUsers(ctx context.Context, watcher identity.Watcher) {
	w.tell = watcher
	close(w.watching)
	<-ctx.Done()
}

// tokens are a verifier: a token is a subject, its session the test's.
type tokens struct {
	session uuid.UUID
	how     identity.AuthType
}

func (v *tokens) VerifyIDToken(_ context.Context, token string) (identity.Claims, error) {
	return identity.Claims{Subject: token, Session: v.session, AuthType: v.how, ExpiresAt: time.Now().Add(time.Hour)}, nil
}

// desk is a service with a member, of whom the store tells.
type desk struct {
	*identity.Service
	t      *testing.T
	store  *watched
	tokens *tokens
}

// atDesk runs a test in a bubble.
func atDesk(t *testing.T, test func(d *desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{t: t, tokens: &tokens{session: uuid.New(), how: identity.AuthCognito}, store: &watched{
			found: identity.Standing{
				User:                 identity.User{ID: uuid.New(), OrganizationID: uuid.New(), State: identity.StateActive, Role: identity.RoleGeneralUser},
				OrganizationAuthType: identity.AuthCognito,
			},
			watching: make(chan struct{}),
		}}
		d.Service = identity.NewService(d.store, d.tokens, slog.New(slog.DiscardHandler))
		d.Start(&screens{})
		defer d.Stop()
		<-d.store.watching
		test(d)
	})
}

// later lets a time pass. What happens in the same instant has no order.
func (d *desk) later(after time.Duration) { <-time.After(after) }

// prove has the store prove that it has told everything.
func (d *desk) prove() { d.store.tell.Proven(time.Now()) }

// listen has the store begin to tell, and prove it.
func (d *desk) listen() {
	d.store.tell.Listening()
	d.later(time.Millisecond)
	d.prove()
}

// calls makes a call, and holds against want how often the store was asked for it.
func (d *desk) calls(what, token string, want int) (identity.Actor, error) {
	d.t.Helper()
	before := d.store.asked
	actor, err := d.Authenticate(d.t.Context(), token)
	if got := d.store.asked - before; got != want {
		d.t.Errorf("%s: the store was asked %d times, want %d", what, got, want)
	}
	d.later(time.Millisecond)
	return actor, err
}

func TestR45_StandingsAreRememberedWhileTheWatchIsUpToDate(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		d.calls("before anything is told", "ann", 1)
		d.calls("before anything is told", "ann", 1)
		d.store.tell.Listening()
		d.later(time.Millisecond)
		d.calls("without a proof", "ann", 1)
		d.calls("without a proof", "ann", 1)
		d.prove()
		first, err := d.calls("with a proof", "ann", 0)
		if err != nil || first.User != d.store.found.User || first.Session != d.tokens.session {
			t.Errorf("got %+v, %v", first, err)
		}
		d.later(time.Second)
		second, err := d.calls("once more", "ann", 0)
		if err != nil || second.User != first.User || !second.ExpiresAt.After(first.ExpiresAt) {
			t.Errorf("got %+v, %v: the token's end is the token's", second, err)
		}
		d.calls("another person", "bob", 1)
		d.tokens.session = uuid.New()
		d.calls("another session", "ann", 1)
		if _, err := d.Again(t.Context(), first); err != nil {
			t.Error(err)
		}
		if before := d.store.asked; before != 7 {
			t.Errorf("asked %d times in all: Again asks each time", before)
		}
	})
}

func TestR45_WhatWasReadBeforeTheWatchBeganIsReadAgain(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		d.calls("before", "ann", 1)
		d.listen()
		d.calls("then", "ann", 1)
		d.calls("then again", "ann", 0)
	})
}

func TestR45_WhoHasChangedIsReadAgain(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		d.listen()
		d.calls("first", "ann", 1)
		user, organization := d.store.found.ID, d.store.found.OrganizationID
		for what, change := range map[string]func(){
			"role":              func() { d.store.tell.Changed(user) },
			"name":              func() { d.store.tell.Stale(user) },
			"organization":      func() { d.store.tell.Stale(organization) },
			"session":           func() { d.store.tell.Stale(d.tokens.session) },
			"twice":             func() { d.store.tell.Stale(user); d.store.tell.Changed(user) },
			"and somebody else": func() { d.store.tell.Changed(user); d.store.tell.Changed(uuid.New()) },
		} {
			change()
			d.later(time.Millisecond)
			d.calls(what, "ann", 1)
			d.calls(what+", again", "ann", 0)
		}
		d.store.tell.Changed(uuid.New())
		d.store.tell.Stale(uuid.New())
		d.calls("somebody else", "ann", 0)

		d.store.found.State = identity.StateInactive
		d.store.tell.Changed(user)
		for range 2 { // A refusal is not remembered.
			if _, err := d.calls("inactive", "ann", 1); !errors.Is(err, identity.ErrNoUser) {
				t.Errorf("got %v", err)
			}
		}
		d.store.found.State, d.store.found.SessionRevoked = identity.StateActive, true
		for range 2 {
			if _, err := d.calls("revoked", "ann", 1); !errors.Is(err, identity.ErrExpired) {
				t.Errorf("got %v", err)
			}
		}
		d.store.found.SessionRevoked = false
		if _, err := d.calls("active again", "ann", 1); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

// TestR45_HowASessionBeganIsLookedAtEachTime: whether it may be by password is decided from what is remembered, but for the
// token at hand.
func TestR45_HowASessionBeganIsLookedAtEachTime(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		d.listen()
		d.store.found.OrganizationAuthType = identity.AuthFederated
		d.tokens.how = identity.AuthFederated
		if _, err := d.calls("single sign-on", "ann", 1); err != nil {
			t.Errorf("got %v", err)
		}
		d.tokens.how = identity.AuthCognito
		if _, err := d.calls("a password", "ann", 0); !errors.Is(err, identity.ErrSSORequired) {
			t.Errorf("got %v", err)
		}
	})
}

func TestR45_StandingsOfALostLinkAreReadAgain(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		d.listen()
		d.calls("first", "ann", 1)
		d.calls("second", "ann", 0)
		d.store.tell.Lost(errors.New("broken pipe"))
		d.calls("while nothing is told", "ann", 1)
		d.calls("while nothing is told", "ann", 1)
		d.store.tell.Listening()
		d.later(time.Millisecond)
		d.calls("before the first proof", "ann", 1)
		d.prove()
		d.calls("with a proof", "ann", 0)

		// An answer that was on its way all the time is from before the watch began anew.
		d.store.read = func() {
			d.store.read = nil
			d.store.tell.Lost(errors.New("broken pipe"))
			d.later(time.Second)
			d.listen()
		}
		d.calls("an answer on its way", "bob", 1)
		d.calls("after it", "bob", 1)
		d.calls("and then", "bob", 0)
	})
}

func TestR45_ProofsRunOut(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		d.store.tell.Listening()
		d.later(time.Millisecond)
		asked := time.Now()
		d.later(2 * time.Second) // So long the answer took.
		d.store.tell.Proven(asked)
		d.calls("first", "ann", 1)
		d.later(time.Until(asked.Add(2900 * time.Millisecond)))
		d.calls("in time", "ann", 0)
		d.later(time.Until(asked.Add(3 * time.Second)))
		d.calls("too late", "ann", 1)
		d.calls("too late", "ann", 1)
		d.prove()
		d.calls("proven again", "ann", 0)
	})
}

// TestR45_AnswerThatIsOvertakenByAChange: what was read before a change comes in after the change was told.
func TestR45_AnswerThatIsOvertakenByAChange(t *testing.T) {
	t.Parallel()
	for what, told := range map[string]func(d *desk){
		"by the watch": func(d *desk) { d.store.tell.Changed(d.store.found.ID) },
		"at once":      func(d *desk) { d.store.tell.Stale(d.store.found.ID) },
	} {
		atDesk(t, func(d *desk) {
			d.listen()
			d.store.read = func() {
				d.store.read = nil
				d.later(time.Second)
				d.store.found.State = identity.StateInactive
				told(d)
				d.later(time.Second)
				d.prove()
			}
			if _, err := d.calls(what+": the answer", "ann", 1); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if _, err := d.calls(what+": after it", "ann", 1); !errors.Is(err, identity.ErrNoUser) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}

func TestR45_StandingsAreBounded(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		d.listen()
		for i := range 10_000 {
			if _, err := d.Authenticate(t.Context(), strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
		}
		d.calls("the first of as many as there may be", "0", 0)
		d.calls("one more", "10000", 1)
		d.calls("the first", "0", 1)
		d.calls("the last", "10000", 0)
	})
	atDesk(t, func(d *desk) {
		d.listen()
		d.calls("first", "ann", 1)
		for range 59 {
			d.later(time.Second - time.Millisecond)
			d.prove()
			d.calls("within a minute", "ann", 0)
		}
		d.later(time.Second)
		d.prove()
		d.calls("after a minute", "ann", 1)
		d.calls("and again", "ann", 0)
	})
}

// TestR45_ChangesAreRememberedForLonger than what they make outdated: somebody makes no call between a change and the minute's
// end, while many others change.
func TestR45_ChangesAreRememberedForLonger(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		d.listen()
		for range 200 { // Old ones are forgotten at some time.
			d.later(time.Second)
			d.store.tell.Changed(uuid.New())
		}
		d.calls("first", "ann", 1)
		d.store.tell.Changed(d.store.found.ID)
		for range 59 {
			d.later(time.Second)
			d.prove()
			d.store.tell.Changed(uuid.New())
		}
		d.calls("within the minute", "ann", 1)
	})
}

// TestR45_RememberedActorsAreRechecked: what an actor opens later is refused if they have changed since the store was asked.
func TestR45_RememberedActorsAreRechecked(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		d.listen()
		d.calls("first", "ann", 1)
		for range 58 {
			d.later(time.Second)
			d.prove()
		}
		actor, err := d.calls("just within a minute", "ann", 0)
		if err != nil || d.Recheck(actor) != nil {
			t.Errorf("got %v, %v", err, d.Recheck(actor))
		}
		d.later(25 * time.Second) // The call takes as long as one may.
		d.store.tell.Stale(d.tokens.session)
		for range 30 { // Old changes are forgotten meanwhile.
			d.later(time.Second)
			d.store.tell.Changed(uuid.New())
		}
		if err := d.Recheck(actor); !errors.Is(err, identity.ErrExpired) {
			t.Errorf("got %v", err)
		}
	})
}

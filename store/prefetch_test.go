package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestPrefetchedThreadStateIsOfTheUser: rows that were read for the owner that a subject once had are not used after
// the subject has become another user.
func TestPrefetchedThreadStateIsOfTheUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, limit, subject := f.thread(t, f.ann), chat.HistoryLimit{Messages: 10, Bytes: 1 << 20}, newID().String()
	request := newID()
	load := func(owner identity.Owner) (lookedUp identity.Owner, err error) {
		t.Helper()
		ctx := f.PrefetchThreadState(context.Background(), thread.ID, nil, request, limit)
		user := must.Get(f.UserBySubject(ctx, identity.Claims{Subject: subject}))(t)
		_, err = f.LoadThreadState(ctx, owner, thread.ID, nil, request, [32]byte{}, limit)
		return identity.Owner{OrganizationID: user.OrganizationID, UserID: user.ID}, err
	}
	rename := func(from string, to uuid.UUID) {
		t.Helper()
		f.exec(t, `UPDATE users SET subject = subject || '-' WHERE subject = '`+from+`'`)
		f.exec(t, `UPDATE users SET subject = '`+subject+`' WHERE id = '`+to.String()+`'`)
	}
	rename(subject, f.ann.UserID)
	for range 2 { // The first call remembers the owner, the second one reads ahead.
		if owner, err := load(f.ann); err != nil || owner != f.ann {
			t.Fatalf("%v, %v", owner, err)
		}
	}
	rename(subject, f.bob.UserID)
	for range 2 {
		if owner, err := load(f.bob); !errors.Is(err, chat.ErrNoThread) || owner != f.bob {
			t.Errorf("%v, %v", owner, err)
		}
	}
}

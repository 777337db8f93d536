package identity

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	proofHolds   = 3 * time.Second // Two proofs may fail to come. With it, a change holds within 5 s, whatever happens.
	standingKept = time.Minute     // Then the store is asked again, whatever the watch says.
	maxStandings = 10_000          // Some 500 bytes each.
	changesKept  = 2 * time.Minute // Longer than a standing is kept and a request then takes to what it opens.
)

// reading is a standing, and what is known of its age.
type reading struct {
	Standing
	asOf time.Time // The store was asked no earlier than this.
}

type standingKey struct {
	subject string
	session uuid.UUID
}

// standings are what the store has said of those who make requests, so that it need not be asked each time, and what has
// changed lately. A standing counts only while all of this holds:
//
//   - The watch is up to date: not longer ago than proofHolds, everything that had been committed was known to be told.
//   - The standing was read since the watch began, so that whatever came later was told.
//   - Nothing was told since then of the rows it was read from: the user's, the organization's and the session's.
//
// So nothing need be removed when something changes, and a standing may come in after what makes it outdated was told.
// The zero value is ready for use.
type standings struct {
	mu      sync.Mutex
	kept    map[standingKey]reading // Guarded by mu.
	changed map[uuid.UUID]time.Time // Guarded by mu. When this server was told of a change, by what the row is for.
	sweep   time.Time               // Guarded by mu. When old changes are forgotten next.
	began   time.Time               // Guarded by mu. Since when the watch tells everything.
	proven  time.Time               // Guarded by mu. Everything that was committed before then has been told. Zero: that is not known.
}

// begin notes that the watch tells everything from now on.
func (s *standings) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.proven = time.Now(), time.Time{}
}

// prove notes that everything that was committed before a time has been told. The zero time says that this is not known.
func (s *standings) prove(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proven = at
}

// note remembers that a user, an organization or a session has changed.
func (s *standings) note(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(map[uuid.UUID]time.Time)
	}
	now := time.Now()
	s.changed[id] = now
	if now.Before(s.sweep) {
		return
	}
	s.sweep = now.Add(changesKept)
	for id, at := range s.changed {
		if now.Sub(at) > changesKept {
			delete(s.changed, id)
		}
	}
}

// since reports whether one of some rows has changed after a time, which is no longer ago than changes are kept.
func (s *standings) since(at time.Time, ids ...uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changedSince(at, ids...)
}

// changedSince is since. mu is held.
func (s *standings) changedSince(at time.Time, ids ...uuid.UUID) bool {
	for _, id := range ids {
		if changed, known := s.changed[id]; known && !changed.Before(at) {
			return true
		}
	}
	return false
}

// keep remembers a standing.
func (s *standings) keep(key standingKey, r reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil || len(s.kept) >= maxStandings {
		s.kept = make(map[standingKey]reading) // Rare, and those in use are soon back.
	}
	s.kept[key] = r
}

// find returns a standing that still counts.
func (s *standings) find(key standingKey) (reading, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found := s.kept[key]
	now := time.Now() // Not before the lock is there: to wait for it takes time, too.
	return r, found && s.upToDate(now) && r.asOf.After(s.began) && now.Sub(r.asOf) < standingKept &&
		!s.changedSince(r.asOf, r.ID, r.OrganizationID, key.session)
}

// upToDate says whether a proof still holds, by either clock: one stands still while the machine is suspended, the other
// may be set. mu is held.
func (s *standings) upToDate(now time.Time) bool {
	return now.Sub(s.proven) < proofHolds && now.Round(0).Sub(s.proven.Round(0)) < proofHolds
}

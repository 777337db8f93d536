package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

const (
	tallyTime     = time.Hour
	tallyNetworks = 1024 // Counters per hour for the networks of similar attempts.
	poolDevices   = 50   // Devices stored per user: the most recent ones.
)

// addToTally is the ON CONFLICT clause that adds an event to the entry of its hour.
const addToTally = `
	ON CONFLICT (tally) DO UPDATE SET times = audit_events.times + 1, last_at = excluded.at,
	    request_id = excluded.request_id,
	    address = CASE WHEN audit_events.address = excluded.address THEN excluded.address END`

func (db *DB) RecordPoolEvent(ctx context.Context, event pool.Event) error {
	return auditSignIn(ctx, db.pool, event)
}

// auditSignIn adds an event to the audit log if the account belongs to a member. Events without proof that the member
// caused them share one entry per hour, so that an attacker cannot flood the log.
func auditSignIn(ctx context.Context, q querier, event pool.Event) error {
	if event.Action == "" {
		return nil
	}
	return exec(ctx, q, `
		INSERT INTO audit_events (id, organization_id, at, actor_kind, actor_id, actor_name,
		    actor_email, action, target_kind,
		                          target_id, target_label, details, address, request_id, tally)
		SELECT $1, u.organization_id, $2, CASE WHEN $3::boolean THEN $4 ELSE $5 END, CASE WHEN $3 THEN u.id END,
		       CASE WHEN $3 THEN coalesce(u.name, p.name, '') ELSE '' END,
		       CASE WHEN $3 THEN coalesce(u.email, p.email, '') ELSE '' END, $6, $7, coalesce(u.id::text, ''),
		       coalesce(u.email, p.email, ''), $8, $9, $10, $11
		FROM (SELECT $12::uuid AS sub) s
		LEFT JOIN pool_users p ON p.sub = s.sub
		LEFT JOIN users u ON u.subject = s.sub::text`+addToTally,
		uuidv7.New(), event.At, event.Proved, org.ByMember, org.ByUnknown, event.Action, org.TargetUser,
		signInDetails(event.Method, event.Factor, event.Reason),
		storableAddress(event.Origin.Address), storable(event.Origin.RequestID), tally(event), event.Sub)
}

func signInDetails(method, factor, reason string) []org.Change {
	return changed([]org.Change{
		{Field: "method", After: method}, {Field: "factor", After: factor}, {Field: "reason", After: reason},
	})
}

// tally returns the key under which an event is counted, or nil if the event gets a separate entry.
func tally(event pool.Event) []byte {
	if event.Proved {
		return nil
	}
	return tallyOf(string(event.Action), event.Sub.String()+" "+event.Reason, event.Origin.Network(), event.At)
}

// tallyOf returns the key under which similar events of one hour are counted. It hashes networks into a fixed number of
// keys to limit the number of entries.
func tallyOf(action, what, network string, at time.Time) []byte {
	sum := sha256.Sum256([]byte(network))
	place := binary.BigEndian.Uint32(sum[:]) % tallyNetworks
	sum = sha256.Sum256(fmt.Appendf(nil, "%s %s %d %d", action, what, place, at.Truncate(tallyTime).Unix()))
	return sum[:]
}

// storableAddress returns an address for the audit log, or nil for an invalid one.
func storableAddress(address netip.Addr) *netip.Addr {
	if !address.IsValid() {
		return nil
	}
	plain := address.Unmap().WithZone("")
	return &plain
}

func (db *DB) RecordRefusal(ctx context.Context, r sso.Refusal) error {
	network := pool.Origin{Address: r.Origin.Address}.Network()
	what := r.OrganizationID.String() + " " + r.Email + " " + string(r.Code)
	return exec(ctx, db.pool, `
		INSERT INTO audit_events (id, organization_id, at, actor_kind, action, target_kind, target_id,
		    target_label, details, address,
		                          request_id, tally)
		SELECT $1, o.id, $2, $3, $4, $5, coalesce(u.id::text, ''), $6, $7, $8, $9, $10
		FROM organizations o
		LEFT JOIN users u ON u.organization_id = o.id AND u.email = lower($6)
		WHERE o.id = $11`+addToTally,
		uuidv7.New(), r.At, org.ByUnknown, org.ActionSignInFailed, org.TargetUser, storable(r.Email),
		signInDetails("sso", "", string(r.Code)),
		storableAddress(r.Origin.Address), storable(r.Origin.RequestID),
		tallyOf(string(org.ActionSignInFailed), what, network, r.At),
		r.OrganizationID)
}

func (db *DB) RecordRefusedAddress(ctx context.Context, actor identity.Actor) error {
	now := time.Now()
	return exec(ctx, db.pool, `
		INSERT INTO audit_events (id, organization_id, at, actor_kind, actor_id, actor_name, actor_email, action,
		    target_kind, target_id, target_label, address, tally)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $7, $11, $12)`+addToTally,
		uuidv7.New(), actor.OrganizationID, now, org.ByMember, actor.ID, storable(actor.Name), storable(actor.Email),
		org.ActionAddressRefused, org.TargetUser, actor.ID.String(), storableAddress(actor.Address),
		tallyOf(string(org.ActionAddressRefused), actor.ID.String(), pool.Origin{Address: actor.Address}.Network(), now))
}

func (db *DB) KnowsDevice(ctx context.Context, sub uuid.UUID, device []byte) (bool, error) {
	return queryValue[bool](ctx, db.pool, `SELECT EXISTS (SELECT FROM pool_devices WHERE sub = $1 AND device = $2)`, sub,
		device)
}

// recordPoolDevice records that a user signed in on a device. It reports whether the device is new and the user has
// signed in on other devices before.
func recordPoolDevice(ctx context.Context, tx pgx.Tx, sub uuid.UUID, device []byte, at time.Time) (bool, error) {
	if device == nil {
		return false, nil
	}
	return queryValue[bool](ctx, tx, `
		WITH before AS (SELECT device FROM pool_devices WHERE sub = $1),
		     kept AS (
		         INSERT INTO pool_devices (sub, device, seen_at) VALUES ($1, $2, $3)
		         ON CONFLICT (sub, device) DO UPDATE SET seen_at = excluded.seen_at),
		     forgotten AS (
		         DELETE FROM pool_devices WHERE sub = $1 AND device IN (
		             SELECT device FROM pool_devices WHERE sub = $1 AND device <> $2 ORDER BY seen_at DESC OFFSET $4))
		SELECT EXISTS (SELECT FROM before) AND NOT EXISTS (SELECT FROM before WHERE device = $2)`,
		sub, device, at, poolDevices-1)
}

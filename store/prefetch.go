package store

import (
	"context"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// maxOwners bounds the memory of DB.owners, in bytes.
const maxOwners = 4 << 20

// threadRequest is the arguments of LoadThreadState that determine what it reads, apart from the owner.
type threadRequest struct {
	threadID  uuid.UUID
	parent    uuid.UUID // Nil for the end of the branch that was shown last.
	requestID uuid.UUID
	limit     chat.HistoryLimit
}

// threadRows are the results of threadStateSQL and historySQL.
type threadRows struct {
	owner   identity.Owner
	threads []threadStateRow
	history []chat.Message
}

// queue adds the queries of a request.
func (r *threadRows) queue(batch *pgx.Batch, request threadRequest) {
	var parent *uuid.UUID
	if request.parent != uuid.Nil {
		parent = &request.parent
	}
	batch.Queue(threadStateSQL, r.owner.OrganizationID, r.owner.UserID, request.threadID, parent,
		request.requestID).Query(collect(&r.threads))
	batch.Queue(historySQL, r.owner.OrganizationID, r.owner.UserID, request.threadID, parent, request.limit.Messages,
		request.limit.Bytes, request.limit.ToolCalls).Query(collect(&r.history))
}

// prefetch is a request of PrefetchThreadState.
type prefetch struct {
	request threadRequest
	started atomic.Bool
	rows    atomic.Pointer[threadRows] // Nil until the rows are read, and after their use.
}

type prefetchKey struct{}

// PrefetchThreadState implements chat.Store. UserBySubject reads the rows: it queries with the owner that the subject
// had at its last call, and LoadThreadState uses the rows only if they are those of the owner who asks.
func (db *DB) PrefetchThreadState(
	ctx context.Context, threadID uuid.UUID, parent *uuid.UUID, requestID uuid.UUID, limit chat.HistoryLimit,
) context.Context {
	return context.WithValue(ctx, prefetchKey{}, &prefetch{request: newThreadRequest(threadID, parent, requestID, limit)})
}

func newThreadRequest(threadID uuid.UUID, parent *uuid.UUID, requestID uuid.UUID, limit chat.HistoryLimit) threadRequest {
	request := threadRequest{threadID: threadID, requestID: requestID, limit: limit}
	if parent != nil {
		request.parent = *parent
	}
	return request
}

// startPrefetch returns the prefetch of a context to its first caller, and nil to others or without one.
func startPrefetch(ctx context.Context) *prefetch {
	p, _ := ctx.Value(prefetchKey{}).(*prefetch)
	if p == nil || p.started.Swap(true) {
		return nil
	}
	return p
}

// prefetched returns the rows of an owner's request to its first caller, if they were read, and nil otherwise.
func prefetched(ctx context.Context, owner identity.Owner, request threadRequest) *threadRows {
	p, _ := ctx.Value(prefetchKey{}).(*prefetch)
	if p == nil || p.request != request {
		return nil
	}
	rows := p.rows.Swap(nil)
	if rows == nil || rows.owner != owner {
		return nil
	}
	return rows
}

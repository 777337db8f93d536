package api

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// call is a call of a signed-in person.
type call struct {
	checks
	w      http.ResponseWriter
	actor  identity.Actor
	pathID uuid.UUID // The id in the path, if it has one.
}

func (c *call) ctx() context.Context { return c.r.Context() }

// action handles a call and returns the record of the response: a reply, a record with the status 200, or nil for the
// status 204.
type action func(c *call) (record any, err error)

// reply is a record with its status.
type reply struct {
	status int
	record any
}

// created returns the reply with a record that a call has added.
func created(record any) reply { return reply{http.StatusCreated, record} }

// createdIf is created for a call that may have been repeated.
func createdIf(isNew bool, record any) reply {
	if isNew {
		return created(record)
	}
	return reply{http.StatusOK, record}
}

// call answers the calls of a class with the records of an action.
func (s *Server) call(class class, do action) http.HandlerFunc {
	return s.as(class, func(c *call) error {
		record, err := do(c)
		if err != nil {
			return err
		}
		switch record := record.(type) {
		case nil:
			return writeNoContent(c.w)
		case reply:
			return writeJSON(c.w, record.status, record.record)
		default:
			return writeJSON(c.w, http.StatusOK, record)
		}
	})
}

// withBody decodes the body of a call for an action.
func withBody[T any](do func(c *call, req T) (any, error)) action {
	return func(c *call) (any, error) {
		var req T
		if err := decode(c.w, c.r, &req); err != nil {
			return nil, err
		}
		return do(c, req)
	}
}

// withView returns the action that reads or changes settings by do, and answers with their record.
func withView[V, Record any](
	do func(ctx context.Context, actor identity.Actor) (V, error), toRecord func(V) Record,
) action {
	return func(c *call) (any, error) {
		view, err := do(c.ctx(), c.actor)
		return toRecord(view), err
	}
}

// withPage parses offset and limit of a call for an action.
func withPage(do func(c *call, offset, limit int) (any, error)) action {
	return func(c *call) (any, error) {
		offset, limit := c.page()
		if err := c.err(); err != nil {
			return nil, err
		}
		return do(c, offset, limit)
	}
}

package store

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// SQLSTATE codes, from appendix A of PostgreSQL's manual.
const (
	codeForeignKey       = "23503"
	codeUnique           = "23505"
	codeCheck            = "23514"
	codeSerialization    = "40001"
	codeDeadlock         = "40P01"
	codeLockTimeout      = "55P03"
	codeQueryCanceled    = "57014" // Caused by statement_timeout.
	codeDiskFull         = "53100"
	codeCannotConnectNow = "57P03"
	codeUndefinedTable   = "42P01"
	codeIdleInTx         = "25P03"
	codeBadText          = "22021" // NUL, or invalid UTF-8.
	codeBadJSONText      = "22P05" // NUL in JSON.
)

// Messages for users when the database is unavailable.
const (
	unavailable = "データベースに接続できません。少し時間をおいて、もう一度お試しください。"
	busy        = "ただいま混み合っています。少し時間をおいて、もう一度お試しください。"
)

// translate gives a driver error its fault code. It returns faults and unexpected errors, which have no code and
// therefore are internal, unchanged.
func translate(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok || err == nil {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fault.Wrap(err, fault.Canceled, "処理は取り消されました。")
	case hasCode(err, codeDiskFull):
		return fault.Wrap(err, fault.Unavailable, "サーバーの保存容量に空きがないため、保存できません。管理者にお知らせください。")
	case errors.Is(err, context.DeadlineExceeded) && !isConnectError(err):
		// The call timed out waiting for a connection of the pool or for locks of other calls.
		return fault.Wrap(err, fault.Unavailable, busy)
	case isUnavailable(err):
		return fault.Wrap(err, fault.Unavailable, unavailable)
	case errors.Is(err, pgx.ErrNoRows):
		return fault.Wrap(err, fault.NotFound, "見つかりません。")
	case hasCode(err, codeForeignKey) && strings.HasSuffix(pgError(err).ConstraintName, "_organization_id_user_id_fkey"):
		// The user was removed during the call.
		return fault.Wrap(err, fault.Unauthenticated, "%s", identity.ErrNoUser.Detail)
	case hasCode(err, codeBadText) || hasCode(err, codeBadJSONText):
		return fault.Wrap(err, fault.Invalid, "保存できない文字が含まれています。")
	}
	return err
}

// isConnectError reports whether connecting to the database failed.
func isConnectError(err error) bool {
	_, failed := errors.AsType[*pgconn.ConnectError](err)
	return failed
}

// isUnavailable reports whether the database or the connection to it failed, so that a retry may succeed.
func isUnavailable(err error) bool {
	if code := pgError(err).Code; code != "" {
		switch code {
		case codeLockTimeout, codeQueryCanceled, codeSerialization, codeDeadlock, codeIdleInTx:
			return true
		}
		// 08 connection, 53 resources (connections, memory, disk), 57P shutdown, 58 system errors.
		return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53") || strings.HasPrefix(code, "57P") ||
			strings.HasPrefix(code, "58")
	}
	if isConnectError(err) {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		pgconn.SafeToRetry(err)
}

// isRetryable reports whether a transaction had no effect and an immediate retry may succeed.
func isRetryable(err error) bool {
	return hasCode(err, codeDeadlock) || hasCode(err, codeSerialization) || pgconn.SafeToRetry(err)
}

// pgError returns the database's error in the chain of err, or an empty one.
func pgError(err error) *pgconn.PgError {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg
	}
	return &pgconn.PgError{}
}

func hasCode(err error, code string) bool { return pgError(err).Code == code }

// violates reports whether an error is a violation of the named constraint or unique index.
func violates(err error, constraint string) bool {
	pg := pgError(err)
	return strings.HasPrefix(pg.Code, "23") && pg.ConstraintName == constraint
}

// isNoRows reports whether a query for one row found none.
func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

package pool

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Status is Cognito's word for how far a user's account has come.
type Status string

// The statuses of a user.
const (
	StatusUnconfirmed         Status = "UNCONFIRMED"           // The address was never confirmed; no sign-in.
	StatusConfirmed           Status = "CONFIRMED"             // Signs in with a password of their own.
	StatusForceChangePassword Status = "FORCE_CHANGE_PASSWORD" // Has a temporary password, good for choosing one.
	StatusResetRequired       Status = "RESET_REQUIRED"        // An administrator asked for a new password.
	// Signs in by another identity provider, and has no password.
	StatusExternalProvider Status = "EXTERNAL_PROVIDER"
)

// User is a person in the pool.
type User struct {
	Sub            uuid.UUID
	Email          string // As NormalizeEmail returns it. The pool's alias for the sub.
	EmailVerified  bool
	Name           string
	Groups         []string // The claim cognito:groups.
	Status         Status
	Enabled        bool
	PasswordHash   string     // In the PHC string format; empty for a user without a password.
	TemporaryUntil *time.Time // When a temporary password runs out. Set with StatusForceChangePassword only.
	Version        int64      // Grows whenever what proves the user changes: the password, or being disabled.
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Password is what SetPoolPassword sets.
type Password struct {
	Hash           string
	Status         Status
	TemporaryUntil *time.Time
}

// Challenge is a sign-in that waits for the user's answer. The client holds an opaque session; only its hash is kept.
type Challenge struct {
	Hash      []byte // SHA-256 of the session.
	Name      string // NEW_PASSWORD_REQUIRED.
	Sub       uuid.UUID
	ClientID  string
	Version   int64 // The user's, when the challenge was set.
	ExpiresAt time.Time
	UsedAt    *time.Time
}

// Grant is one sign-in on one device: the refresh token that was handed out, and what the tokens that come from it have
// in common.
type Grant struct {
	ID        uuid.UUID // The claim origin_jti.
	TokenHash []byte    // SHA-256 of the refresh token.
	Sub       uuid.UUID
	ClientID  string
	EventID   uuid.UUID
	AuthTime  time.Time
	ExpiresAt time.Time
	RevokedAt *time.Time
}

// GrantUser is a grant with its user.
type GrantUser struct {
	Grant Grant
	User  User
}

// Attempts counts the wrong passwords for one account since the last right one. The zero value is none.
type Attempts struct {
	Failures    int
	LockedUntil time.Time
	ForgottenAt time.Time // When the count starts afresh.
}

// Code stands for a forgotten password. There is one for a name that is nobody's too, which nobody was sent.
type Code struct {
	Key       []byte     // Whose it is, as for attempts: 32 bytes.
	Sub       *uuid.UUID // Nil: nobody's.
	Version   int64      // The user's, when the code was made.
	Hash      string     // In the PHC string format.
	Tries     int        // How often it was looked at.
	ExpiresAt time.Time
}

// UserChange is what UpdatePoolUser sets. Nil leaves what is there.
type UserChange struct {
	Email         *string // Normalized.
	EmailVerified *bool
	Name          *string
}

// Key is a signing key of the pool.
type Key struct {
	ID         string // The header kid: the RFC 7638 thumbprint.
	PrivateKey string // PKCS #8 in PEM.
	CreatedAt  time.Time
	ActiveFrom time.Time  // The newest active key signs. A new one waits until everyone has had time to see it.
	RetireAt   *time.Time // When the last token that it signed has run out. Nil for the key in use.
}

// Store is what the pool needs of a database. Times come from the pool's clock. Errors are faults. Events are told to
// the audit log in the transaction of what they tell of.
type Store interface {
	// PoolKeys returns all signing keys.
	PoolKeys(ctx context.Context) ([]Key, error)

	// AddFirstPoolKey adds the key if there is none yet, however many servers try at once.
	AddFirstPoolKey(ctx context.Context, key Key) error

	// RotatePoolKey adds the key and lets those that have no end yet retire at the given time. Those that retired a day
	// before the new one was made are removed.
	RotatePoolKey(ctx context.Context, next Key, retireAt time.Time) error

	// CreatePoolUser adds a user. If the address is taken, the error has the code fault.Conflict.
	CreatePoolUser(ctx context.Context, user User) error

	// PoolUserBySub returns a user, or an error with the code fault.NotFound.
	PoolUserBySub(ctx context.Context, sub uuid.UUID) (User, error)

	// PoolUserByEmail returns the user with that normalized address, or an error with the code fault.NotFound.
	PoolUserByEmail(ctx context.Context, email string) (User, error)

	// SetPoolPassword sets a user's password and ends what the old one began: grants are revoked, challenges void. If
	// there is no such user, the error has the code fault.NotFound.
	SetPoolPassword(ctx context.Context, sub uuid.UUID, password Password, at time.Time) error

	// ChangePoolPassword is SetPoolPassword for a user who has been authenticated in the session of one grant, which
	// goes on. If the user is no longer enabled or no longer the given version, the error has the code fault.Conflict.
	ChangePoolPassword(
		ctx context.Context, sub uuid.UUID, version int64, password Password, keep uuid.UUID, event Event,
	) error

	// RehashPoolPassword replaces a user's hash by another one of the same password. One that has changed since is left
	// alone.
	RehashPoolPassword(ctx context.Context, sub uuid.UUID, old, hash string) error

	// SetPoolUserEnabled lets a user sign in, or not; disabling ends challenges and grants. If there is no such user,
	// the error has the code fault.NotFound.
	SetPoolUserEnabled(ctx context.Context, sub uuid.UUID, enabled bool, at time.Time) error

	// DeletePoolUser removes a user with everything that they hold. If there is no such user, the error has the code
	// fault.NotFound.
	DeletePoolUser(ctx context.Context, sub uuid.UUID) error

	// UpdatePoolUser changes what a user is called and where they are reached. Another address ends challenges, and
	// codes that were sent to the old one. If it is taken, the error has the code fault.Conflict; if there is no such
	// user, fault.NotFound.
	UpdatePoolUser(ctx context.Context, sub uuid.UUID, change UserChange, at time.Time) error

	// SavePoolCode keeps a code in place of the one that had the same key, and counts it under another key as
	// UpdatePoolAttempts does. An error of count is returned and changes nothing. If the code's user does not exist,
	// the error has the code fault.NotFound.
	SavePoolCode(
		ctx context.Context, code Code, countKey []byte, at time.Time, count func(Attempts) (Attempts, error),
	) error

	// PoolCode returns the code that is kept under a key. If there is none, or it has run out, the error has the code
	// fault.NotFound.
	PoolCode(ctx context.Context, key []byte, at time.Time) (Code, error)

	// TryPoolCode counts one more look at a code and returns it. If it was replaced or has run out, the error has the
	// code fault.NotFound.
	TryPoolCode(ctx context.Context, code Code, at time.Time) (Code, error)

	// UsePoolCode uses a code up and sets its user's password, which ends all their sessions; their address counts as
	// verified. If the code was used, replaced or has run out, or its user's proof has changed since it was made, the
	// error has the code fault.Conflict and nothing happened.
	UsePoolCode(ctx context.Context, code Code, password Password, event Event) error

	// PoolAttempts returns the attempts that are counted under each of some keys.
	PoolAttempts(ctx context.Context, keys ...[]byte) ([]Attempts, error)

	// UpdatePoolAttempts replaces the attempts that are counted under some keys by what update makes of them, one
	// caller after the other. update may be called several times. To prevent deadlock, a key that several callers share
	// comes last.
	UpdatePoolAttempts(ctx context.Context, keys [][]byte, at time.Time, update func([]Attempts) []Attempts) error

	// KnowsDevice reports whether a user has signed in on a device.
	KnowsDevice(ctx context.Context, sub uuid.UUID, device []byte) (bool, error)

	// RecordPoolEvent tells the audit log.
	RecordPoolEvent(ctx context.Context, event Event) error

	// CreateChallenge keeps a challenge. If the user is no longer enabled, or no longer the version that the challenge
	// is for, the error has the code fault.Conflict.
	CreateChallenge(ctx context.Context, challenge Challenge, at time.Time) error

	// ChallengeByHash returns a challenge, used or run out though it may be, or an error with the code fault.NotFound.
	ChallengeByHash(ctx context.Context, hash []byte) (Challenge, error)

	// CompleteChallenge uses a challenge up and sets the password, and the name unless it is empty, of its user, whom
	// it returns. If the challenge does not exist, or was used, or its user's proof has changed since, the error has
	// the code fault.Conflict and nothing happened.
	CompleteChallenge(ctx context.Context, hash []byte, password Password, name string, event Event) (User, error)

	// CreateGrant keeps a grant, and the device that it began on. It reports whether the user has signed in on others
	// before, and not on this one. If the user is no longer enabled or no longer the given version, the error has the
	// code fault.Conflict: what proved them does not hold any more.
	CreateGrant(ctx context.Context, grant Grant, version int64, event Event) (newDevice bool, err error)

	// GrantByToken returns the grant with that hash of a refresh token, or an error with the code fault.NotFound.
	GrantByToken(ctx context.Context, tokenHash []byte) (GrantUser, error)

	// GrantByID returns a grant, or an error with the code fault.NotFound.
	GrantByID(ctx context.Context, id uuid.UUID) (GrantUser, error)

	// RevokeGrant ends one grant. One that has ended, or does not exist, is left alone, and not told of. The event's
	// user is the grant's.
	RevokeGrant(ctx context.Context, id uuid.UUID, event Event) error

	// RevokeGrants ends all grants of a user.
	RevokeGrants(ctx context.Context, sub uuid.UUID, event Event) error
}

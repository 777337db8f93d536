package pool

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Status is Cognito's name for the state of a user's account.
type Status string

// The statuses.
const (
	StatusUnconfirmed         Status = "UNCONFIRMED"           // The address was never confirmed; cannot sign in.
	StatusConfirmed           Status = "CONFIRMED"             // Signs in with a password.
	StatusForceChangePassword Status = "FORCE_CHANGE_PASSWORD" // Must replace a temporary password at sign-in.
	StatusResetRequired       Status = "RESET_REQUIRED"        // An administrator requires a new password.
	// Signs in with another identity provider, and has no password.
	StatusExternalProvider Status = "EXTERNAL_PROVIDER"
)

// User is a user of the pool.
type User struct {
	Sub            uuid.UUID
	Email          string // As returned by NormalizeEmail. The pool's alias for the sub.
	EmailVerified  bool
	Name           string
	Groups         []string // The claim cognito:groups.
	Status         Status
	Enabled        bool
	PasswordHash   string     // In the PHC string format; empty for a user without a password.
	TemporaryUntil *time.Time // When a temporary password expires. Set with StatusForceChangePassword only.
	Version        int64      // Incremented when earlier proofs become invalid: by a new password, or when disabled.
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Password is the input of SetPoolPassword.
type Password struct {
	Hash           string
	Status         Status
	TemporaryUntil *time.Time
}

// Challenge is a sign-in that waits for the user's response. The client holds an opaque session; only its hash is
// stored.
type Challenge struct {
	Hash      []byte    // SHA-256 of the session.
	Name      string    // NEW_PASSWORD_REQUIRED, SOFTWARE_TOKEN_MFA, MFA_SETUP, WEB_AUTHN or WEB_AUTHN_REGISTRATION.
	Sub       uuid.UUID // uuid.Nil: any user; with WEB_AUTHN only.
	ClientID  string
	Version   int64 // The user's version when the challenge was set.
	ExpiresAt time.Time
	UsedAt    *time.Time
}

// anyUser reports whether the challenge was set without a user.
func (c Challenge) anyUser() bool { return c.Sub == uuid.Nil }

// Grant is one sign-in on one device: the refresh token issued for it, and the claims shared by all tokens issued from
// it.
type Grant struct {
	ID        uuid.UUID // The claim origin_jti.
	TokenHash []byte    // SHA-256 of the refresh token.
	Sub       uuid.UUID
	ClientID  string
	EventID   uuid.UUID
	AuthTime  time.Time
	ExpiresAt time.Time
	RevokedAt *time.Time
	External  External // Set only for CreateGrant. Zero for a sign-in with a password.

	// AuthenticatedAt is set only for CreateGrant: when the user gave the second factor, or another identity provider
	// authenticated the user. Nil if unknown, or at AuthTime.
	AuthenticatedAt *time.Time
}

// GrantUser is a grant with its user.
type GrantUser struct {
	Grant Grant
	User  User
}

// Attempts counts the wrong passwords for one account since the last right one. The zero value has no attempts.
type Attempts struct {
	Failures    int
	LockedUntil time.Time
	ForgottenAt time.Time // Time at which the count is reset.
}

// Code is a code for a forgotten password. Unknown names have one too, which is never sent, so that they cannot be
// distinguished.
type Code struct {
	Key       []byte     // The account's key, as for attempts: 32 bytes.
	Sub       *uuid.UUID // Nil for an unknown name.
	Version   int64      // The user's version when the code was made.
	Hash      string     // In the PHC string format.
	Tries     int        // Number of tries.
	ExpiresAt time.Time
}

// Factor is the second factor of a user: an authenticator app, and recovery codes that replace its codes. The zero value
// is a user without one.
type Factor struct {
	Secret        string // The verified secret of the app, in Base32; "" for none.
	Pending       string // A new secret, in Base32, until its first code; "" for none.
	Enabled       bool   // Sign-ins with a password require a code.
	RecoveryCodes int    // The number of unused ones.
	Passkeys      int    // Their number.
	Required      bool   // The policy of the user's organization requires a second factor.
}

// FactorProof is a verified proof of the second factor: the time step of a code, or the hash of a recovery code. The zero
// value contains no proof.
type FactorProof struct {
	Step         int64
	RecoveryHash []byte // SHA-256.
}

// Passkey is a public key whose private key is in a user's authenticator (a WebAuthn credential).
type Passkey struct {
	ID             []byte // Chosen by the authenticator.
	Sub            uuid.UUID
	Name           string // Given by the user.
	PublicKey      []byte // A COSE_Key (RFC 9052).
	SignCount      uint32 // The authenticator's counter at the last signature. 0: it does not count.
	BackupEligible bool   // The authenticator may copy the key to other devices.
	CreatedAt      time.Time
	LastUsedAt     *time.Time
}

// TrustedDevice is a browser that a user trusts: sign-ins there skip the second factor.
type TrustedDevice struct {
	Key       []byte // As returned by Origin.DeviceKey.
	Agent     string // The browser and its system.
	TrustedAt time.Time
	SeenAt    time.Time // The last sign-in.
}

// UserChange is the input of UpdatePoolUser. Nil fields are left unchanged.
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
	ActiveFrom time.Time  // The newest active key signs. A new key becomes active once all readers have seen it.
	RetireAt   *time.Time // When the last token signed with it has expired. Nil for the key in use.
}

// Store is the database of a Pool. Times come from the pool's clock. Errors are faults. Events are recorded in the
// audit log in the same transaction as the change that they describe.
//
// The context of each call is one of timeout.Call, because a time limit for a whole operation would include the time that
// a password waits to be hashed.
type Store interface {
	// PoolKeys returns all signing keys.
	PoolKeys(ctx context.Context) ([]Key, error)

	// AddFirstPoolKey adds the key if there are no keys, even if several servers call it concurrently.
	AddFirstPoolKey(ctx context.Context, key Key) error

	// RotatePoolKey adds the key and sets the retirement time of the keys without one. It removes keys that retired
	// more than a day before the creation of the new key.
	RotatePoolKey(ctx context.Context, next Key, retireAt time.Time) error

	// CreatePoolUser adds a user. If the address or the sub is taken, the error has the code fault.Conflict.
	CreatePoolUser(ctx context.Context, user User) error

	// PoolUserBySub returns a user, or an error with the code fault.NotFound.
	PoolUserBySub(ctx context.Context, sub uuid.UUID) (User, error)

	// PoolUserByEmail returns the user with that normalized address, or an error with the code fault.NotFound.
	PoolUserByEmail(ctx context.Context, email string) (User, error)

	// SetPoolPassword sets a user's password, revokes the user's grants and invalidates their challenges. If the user
	// does not exist, the error has the code fault.NotFound.
	SetPoolPassword(ctx context.Context, sub uuid.UUID, password Password, at time.Time) error

	// ChangePoolPassword is SetPoolPassword for a user authenticated by a grant, which is not revoked. If the user is
	// no longer enabled or no longer has the given version, the error has the code fault.Conflict.
	ChangePoolPassword(
		ctx context.Context, sub uuid.UUID, version int64, password Password, keep uuid.UUID, event Event,
	) error

	// RehashPoolPassword replaces a user's hash by another one of the same password. If the hash has changed since, it
	// changes nothing.
	RehashPoolPassword(ctx context.Context, sub uuid.UUID, old, hash string) error

	// SetPoolUserEnabled enables or disables a user. Disabling ends challenges and grants. If the user does not exist,
	// the error has the code fault.NotFound.
	SetPoolUserEnabled(ctx context.Context, sub uuid.UUID, enabled bool, at time.Time) error

	// DeletePoolUser removes a user with all their data. If the user does not exist, the error has the code
	// fault.NotFound.
	DeletePoolUser(ctx context.Context, sub uuid.UUID) error

	// UpdatePoolUser changes a user's name or address. A new address invalidates challenges, and codes that were sent
	// to the old one. If it is taken, the error has the code fault.Conflict; if the user does not exist,
	// fault.NotFound.
	UpdatePoolUser(ctx context.Context, sub uuid.UUID, change UserChange, at time.Time) error

	// SavePoolCode replaces the code with the same key, and counts it under another key like UpdatePoolAttempts. If
	// count returns an error, SavePoolCode returns it and changes nothing. If the code's user does not exist, the error
	// has the code fault.NotFound.
	SavePoolCode(
		ctx context.Context, code Code, countKey []byte, at time.Time, count func(Attempts) (Attempts, error),
	) error

	// PoolCode returns the code stored under a key. If it does not exist or has expired, the error has the code
	// fault.NotFound.
	PoolCode(ctx context.Context, key []byte, at time.Time) (Code, error)

	// TryPoolCode counts one more try of a code and returns the code. If the code was replaced or has expired, the
	// error has the code fault.NotFound.
	TryPoolCode(ctx context.Context, code Code, at time.Time) (Code, error)

	// UsePoolCode consumes a code and sets its user's password. This ends all of the user's sessions and verifies the
	// address. If the code was used or replaced or has expired, or the user's version has changed since its creation,
	// the error has the code fault.Conflict, and nothing is changed.
	UsePoolCode(ctx context.Context, code Code, password Password, event Event) error

	// PoolAttempts returns the attempts counted under each of the given keys.
	PoolAttempts(ctx context.Context, keys ...[]byte) ([]Attempts, error)

	// UpdatePoolAttempts replaces the attempts counted under the keys by the result of update, one caller at a time.
	// update may be called several times. To prevent deadlock, a key shared by several callers comes last.
	UpdatePoolAttempts(ctx context.Context, keys [][]byte, at time.Time, update func([]Attempts) []Attempts) error

	// KnowsDevice reports whether a user has signed in on a device.
	KnowsDevice(ctx context.Context, sub uuid.UUID, device []byte) (bool, error)

	// RecordPoolEvent records an event in the audit log.
	RecordPoolEvent(ctx context.Context, event Event) error

	// CreateChallenge stores a challenge. If the user is no longer enabled, or no longer has the challenge's version,
	// the error has the code fault.Conflict.
	CreateChallenge(ctx context.Context, challenge Challenge, at time.Time) error

	// ChallengeByHash returns a challenge, even one that is used or expired, or an error with the code fault.NotFound.
	ChallengeByHash(ctx context.Context, hash []byte) (Challenge, error)

	// CompleteChallenge consumes a challenge, sets the password of its user and, unless it is empty, the name, and
	// returns the user. If the challenge does not exist, or was used, or the user's version has changed since, the
	// error has the code fault.Conflict, and nothing is changed.
	CompleteChallenge(ctx context.Context, hash []byte, password Password, name string, event Event) (User, error)

	// PoolFactor returns the second factor of a user.
	PoolFactor(ctx context.Context, sub uuid.UUID) (Factor, error)

	// SetPendingTOTP stores a new secret that awaits its first code. If the user does not exist, the error has the code
	// fault.NotFound.
	SetPendingTOTP(ctx context.Context, sub uuid.UUID, secret string) error

	// VerifyTOTP replaces the user's secret by the pending one, after a code of it at the given time step, and enables it
	// if enable is true. If the secret is no longer the pending one, or the user no longer has the given version, the error
	// has the code fault.Conflict, and nothing is changed.
	VerifyTOTP(ctx context.Context, user User, secret string, step int64, enable bool, event Event) (User, error)

	// EnableTOTP makes sign-ins require a code of the user's verified secret. Without one, the error has the code
	// fault.Conflict.
	EnableTOTP(ctx context.Context, sub uuid.UUID, event Event) error

	// RemoveFactor removes the app's secrets of a user and, if passkeys is true, the passkeys. Without a passkey, it
	// also removes the recovery codes. It reports whether the user had an enabled app or, if passkeys is true, a
	// passkey.
	RemoveFactor(ctx context.Context, sub uuid.UUID, passkeys bool, event Event) (bool, error)

	// SetRecoveryCodes replaces all recovery codes of a user, by their hashes. If the user has no enabled factor, the error
	// has the code fault.Conflict.
	SetRecoveryCodes(ctx context.Context, sub uuid.UUID, hashes [][]byte, event Event) error

	// HasRecoveryCode reports whether a hash belongs to an unused recovery code of a user.
	HasRecoveryCode(ctx context.Context, sub uuid.UUID, hash []byte) (bool, error)

	// UseFactor consumes a challenge together with its proof, if any. If the challenge does not exist, was used or has
	// expired, the error has the code fault.Conflict; if a code of the same or a later time step, or the recovery
	// code, was used before, fault.NotFound. Then nothing is changed.
	UseFactor(ctx context.Context, challenge []byte, proof FactorProof, at time.Time) error

	// Passkeys returns the passkeys of a user, the oldest first.
	Passkeys(ctx context.Context, sub uuid.UUID) ([]Passkey, error)

	// PasskeyByID returns a passkey, or an error with the code fault.NotFound.
	PasskeyByID(ctx context.Context, id []byte) (Passkey, error)

	// AddPasskey consumes a challenge of the passkey's user, stores the passkey and returns the user. The first factor of a
	// user voids all sessions of challenges, because each of them could set up another factor. If the challenge does not
	// exist, was used or has expired, or if the user is not enabled or no longer has the given version, the error has the
	// code fault.NotFound; if the passkey exists, or if the user has MaxPasskeys of them, fault.Conflict. Then nothing is
	// changed.
	AddPasskey(ctx context.Context, challenge []byte, user User, passkey Passkey, event Event) (User, error)

	// UsePasskey consumes a challenge and stores the passkey's counter and the time. If the challenge does not exist, was
	// used or has expired, the error has the code fault.Conflict; if the passkey does not exist, or if its counter does not
	// increase, fault.NotFound. Then nothing is changed.
	UsePasskey(ctx context.Context, challenge []byte, passkey Passkey, at time.Time) error

	// RenamePasskey changes the name of a user's passkey. If it does not exist, the error has the code fault.NotFound.
	RenamePasskey(ctx context.Context, sub uuid.UUID, id []byte, name string) error

	// RemovePasskey removes a passkey of a user, and with the last second factor the recovery codes. If the passkey does
	// not exist, the error has the code fault.NotFound; if it is the only second factor of a user who needs one,
	// fault.Conflict.
	RemovePasskey(ctx context.Context, sub uuid.UUID, id []byte, event Event) error

	// TrustedSince returns when a user trusted a device. It returns nil if that was before the time after, or if the
	// user's version has changed.
	TrustedSince(ctx context.Context, user User, device []byte, after time.Time) (*time.Time, error)

	// TrustDevice makes a known device of a user a trusted one, until the user's version changes.
	TrustDevice(ctx context.Context, user User, device TrustedDevice) error

	// TrustedDevices returns a user's trusted devices under the conditions of TrustedSince, the latest first.
	TrustedDevices(ctx context.Context, user User, after time.Time) ([]TrustedDevice, error)

	// DistrustDevice makes a device of a user an ordinary one. If it does not exist, the error has the code fault.NotFound.
	DistrustDevice(ctx context.Context, sub uuid.UUID, device []byte) error

	// CreateGrant stores a grant and the device of the sign-in. It reports whether the user has signed in before, but
	// never on this device. If the user is no longer enabled or no longer has the given version, or if the code of
	// External no longer exists, the authentication is no longer valid and the error has the code fault.Conflict.
	CreateGrant(ctx context.Context, grant Grant, version int64, event Event) (newDevice bool, err error)

	// GrantByToken returns the grant with that hash of a refresh token, or an error with the code fault.NotFound.
	GrantByToken(ctx context.Context, tokenHash []byte) (GrantUser, error)

	// GrantByID returns a grant, or an error with the code fault.NotFound.
	GrantByID(ctx context.Context, id uuid.UUID) (GrantUser, error)

	// RevokeGrant ends one grant. If the grant has ended or does not exist, nothing is changed or recorded. The event's
	// user is the grant's.
	RevokeGrant(ctx context.Context, id uuid.UUID, event Event) error

	// RevokeGrants ends all grants of a user.
	RevokeGrants(ctx context.Context, sub uuid.UUID, event Event) error
}

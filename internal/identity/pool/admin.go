package pool

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Message actions of AdminCreateUser.
const (
	actionResend   = "RESEND"
	actionSuppress = "SUPPRESS"
)

// timestamp is a time as the protocol writes it: seconds since 1970, with milliseconds.
type timestamp time.Time

func (t timestamp) MarshalJSON() ([]byte, error) {
	milliseconds := time.Time(t).UnixMilli()
	return fmt.Appendf(nil, "%d.%03d", milliseconds/1000, milliseconds%1000), nil
}

// userType is the shape UserType of the protocol.
type userType struct {
	Attributes           []attribute
	Enabled              bool
	UserCreateDate       timestamp
	UserLastModifiedDate timestamp
	UserStatus           Status
	Username             string
}

type userAnswer struct{ User userType }

func describe(user User) userAnswer {
	return userAnswer{userType{
		Attributes: attributes(user), Enabled: user.Enabled, UserCreateDate: timestamp(user.CreatedAt),
		UserLastModifiedDate: timestamp(user.UpdatedAt), UserStatus: user.Status, Username: user.Sub.String(),
	}}
}

// adminName reads the members common to all administrative calls, the pool id and the user name, and checks the input.
// All other members must have been read before.
func (p *Pool) adminName(in *input) (string, error) {
	poolID := in.text("UserPoolId", rule{required: true, min: 1, max: maxPoolID})
	name := in.text("Username", usernameRule())
	if err := in.check(); err != nil {
		return "", err
	}
	if poolID != p.cfg.PoolID {
		return "", &refusal{kind: "ResourceNotFoundException", message: "User pool " + poolID + " does not exist."}
	}
	return name, nil
}

// named returns the user with the name given by an administrator.
func (p *Pool) named(ctx context.Context, name string) (User, error) {
	user, err := p.findUser(ctx, name)
	if err != nil {
		return User{}, err
	}
	if user == nil {
		return User{}, noUser()
	}
	return *user, nil
}

// adminUser returns the user named by the input of an operation without other members.
func (p *Pool) adminUser(ctx context.Context, in *input) (User, error) {
	name, err := p.adminName(in)
	if err != nil {
		return User{}, err
	}
	return p.named(ctx, name)
}

func noUser() *refusal {
	return &refusal{kind: "UserNotFoundException", message: "User does not exist."}
}

// adminGetUser is the operation AdminGetUser.
func (p *Pool) adminGetUser(ctx context.Context, in *input) (any, error) {
	user, err := p.adminUser(ctx, in)
	if err != nil {
		return nil, err
	}
	described := describe(user).User
	return struct { // The same content, except for the name of one member.
		Enabled              bool
		UserAttributes       []attribute
		UserCreateDate       timestamp
		UserLastModifiedDate timestamp
		UserStatus           Status
		Username             string
	}{
		described.Enabled, described.Attributes, described.UserCreateDate, described.UserLastModifiedDate,
		described.UserStatus, described.Username,
	}, nil
}

// onUser returns an operation that applies do to the named user and always answers with answer.
func (p *Pool) onUser(
	do func(ctx context.Context, sub uuid.UUID) error, answer any,
) func(context.Context, *input) (any, error) {
	return func(ctx context.Context, in *input) (any, error) {
		user, err := p.adminUser(ctx, in)
		if err != nil {
			return nil, err
		}
		return answer, refusedIf(do(ctx, user.Sub), fault.NotFound, noUser()) // The user was deleted meanwhile.
	}
}

// adminUpdateUserAttributes is the operation AdminUpdateUserAttributes.
func (p *Pool) adminUpdateUserAttributes(ctx context.Context, in *input) (any, error) {
	list := in.attributes("UserAttributes", true)
	in.texts("ClientMetadata")
	name, err := p.adminName(in)
	if err != nil {
		return nil, err
	}
	change, err := userChange(list)
	if err != nil {
		return nil, err
	}
	user, err := p.named(ctx, name)
	if err != nil {
		return nil, err
	}
	if change.Email != nil && *change.Email != user.Email && change.EmailVerified == nil {
		change.EmailVerified = new(bool) // A new address is unverified.
	}
	err = p.store.UpdatePoolUser(timeout.Call(ctx), user.Sub, change, p.now())
	if fault.CodeOf(err) == fault.Conflict {
		return nil, &refusal{kind: "AliasExistsException", message: "An account with the given email already exists."}
	}
	return empty{}, refusedIf(err, fault.NotFound, noUser()) // The user was deleted meanwhile.
}

// userChange converts attributes set by an administrator.
func userChange(list []attribute) (change UserChange, err error) {
	invalid := func(name, why string) error {
		return invalidParameter("Attributes did not conform to the schema: %s: %s", name, why)
	}
	for _, a := range list {
		switch a.Name {
		case "email":
			email := NormalizeEmail(a.Value)
			if !validEmail(email) {
				return change, invalidParameter("Invalid email address format.")
			}
			change.Email = &email
		case "email_verified":
			verified, err := strconv.ParseBool(a.Value)
			if err != nil || a.Value != strconv.FormatBool(verified) {
				return change, invalid(a.Name, "Value must be true or false")
			}
			change.EmailVerified = &verified
		case "name":
			name := strings.TrimSpace(a.Value)
			if !validName(name) {
				return change, invalid(a.Name, fmt.Sprintf("String must be no longer than %d characters", maxName))
			}
			change.Name = &name
		case "sub":
			return change, invalidParameter("Cannot modify the non-mutable attribute sub")
		default:
			return change, invalid(a.Name, "Attribute does not exist in the schema.")
		}
	}
	return change, nil
}

// adminCreateUser is the operation AdminCreateUser: it adds a user with a temporary password, or gives a new one to a
// user who has never signed in. A user of another identity provider becomes a user with a password and keeps their sub.
func (p *Pool) adminCreateUser(ctx context.Context, in *input) (any, error) {
	temporary := in.text("TemporaryPassword", rule{max: maxPassword, secret: true})
	action := in.text("MessageAction", rule{values: []string{actionResend, actionSuppress}})
	list := in.attributes("UserAttributes", false)
	in.texts("ClientMetadata")
	name, err := p.adminName(in)
	if err != nil {
		return nil, err
	}
	email := NormalizeEmail(name)
	if !validEmail(email) {
		return nil, invalidParameter("Username should be an email.")
	}
	change, err := userChange(list)
	if err != nil {
		return nil, err
	}
	if change.Email != nil && *change.Email != email {
		return nil, invalidParameter(
			"User email should be empty or same as username, since username attribute is email",
		)
	}
	if temporary == "" {
		temporary = GeneratePassword()
	} else if lacks := checkPolicy(temporary); lacks != "" {
		return nil, &refusal{
			kind:    "InvalidPasswordException",
			message: "Password did not conform with policy: " + lacks,
		}
	}
	if action != actionSuppress && p.cfg.Mailer == nil { // Checked before anything is changed.
		p.cfg.Logger.WarnContext(ctx, "pool: invitation not delivered: no mailer")
		return nil, undelivered()
	}
	user, undo, err := p.admit(ctx, email, change, temporary, action == actionResend)
	if err != nil || action == actionSuppress {
		return describe(user), err
	}
	if err := p.invite(ctx, user, temporary); err != nil {
		undo(context.WithoutCancel(ctx))
		return nil, err
	}
	return describe(user), nil
}

// admit gives a temporary password to a new user, or to an existing one who may get another. undo reverts it if the
// invitation cannot be sent.
func (p *Pool) admit(ctx context.Context, email string, change UserChange, temporary string, again bool) (
	user User, undo func(context.Context), err error,
) {
	existing, err := p.findUser(ctx, email)
	switch {
	case err != nil:
		return User{}, nil, err
	case again && existing == nil:
		return User{}, nil, noUser()
	case again && (existing.Status != StatusForceChangePassword || !existing.Enabled):
		return User{}, nil, notInvited()
	case !again && existing != nil && (existing.Status != StatusExternalProvider || !existing.Enabled):
		return User{}, nil, userExists()
	}
	now := p.now()
	password, err := p.newPassword(ctx, User{}, temporary, false, now)
	if err != nil {
		return User{}, nil, err
	}
	if existing == nil {
		user, err = p.addInvited(ctx, email, change, password, now)
		return user, func(ctx context.Context) {
			if err := p.store.DeletePoolUser(timeout.Call(ctx), user.Sub); err != nil {
				p.cfg.Logger.WarnContext(ctx, "pool: user without an invitation not removed", "sub", user.Sub, "err", err)
			}
		}, err
	}
	err = p.store.ChangePoolPassword(timeout.Call(ctx), existing.Sub, existing.Version, password, uuid.Nil, Event{At: now})
	if fault.CodeOf(err) == fault.Conflict { // The user signed in, or was changed, meanwhile.
		return User{}, nil, notInvited()
	}
	if err == nil && !again {
		err = p.store.UpdatePoolUser(timeout.Call(ctx), existing.Sub, UserChange{
			Name:          change.Name,
			EmailVerified: change.EmailVerified,
		}, now)
	}
	if err == nil {
		user, err = p.store.PoolUserBySub(timeout.Call(ctx), existing.Sub)
	}
	return user, func(context.Context) {}, refusedIf(err, fault.NotFound, noUser()) // The user was deleted meanwhile.
}

// addInvited adds a user with a temporary password. A user without a name gets the address as name.
func (p *Pool) addInvited(ctx context.Context, email string, change UserChange, password Password, now time.Time) (User,
	error,
) {
	user := User{
		Sub: uuid.New(), Email: email, Name: email, Enabled: true, Version: 1, Status: password.Status,
		PasswordHash: password.Hash, TemporaryUntil: password.TemporaryUntil, CreatedAt: now, UpdatedAt: now,
	}
	if change.Name != nil {
		user.Name = *change.Name
	} else if !validName(email) {
		user.Name, _, _ = strings.Cut(email, "@")
	}
	if change.EmailVerified != nil {
		user.EmailVerified = *change.EmailVerified
	}
	err := p.store.CreatePoolUser(timeout.Call(ctx), user)
	if fault.CodeOf(err) == fault.Conflict {
		return User{}, userExists()
	}
	return user, err
}

func notInvited() *refusal {
	return &refusal{
		kind:    "UnsupportedUserStateException",
		message: "Resend not possible. User status is not FORCE_CHANGE_PASSWORD.",
	}
}

func userExists() *refusal {
	return &refusal{kind: "UsernameExistsException", message: "User account already exists"}
}

package pool

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Limits of a user's names.
const (
	minEmail = 3
	maxEmail = 254 // RFC 5321, section 4.5.3.1, with the correction 1690.
	maxName  = 100
	maxTyped = 2048 // Bytes of a name as typed at sign-in. Longer names match no user.
	maxGroup = 128
)

// NewUser is the input of CreateUser. Exactly one of the two passwords is set.
type NewUser struct {
	Email             string
	Name              string
	TemporaryPassword string // The user must replace it at the first sign-in.
	PermanentPassword string
	Groups            []string
}

// NormalizeEmail returns the stored form of an address: trimmed, in lower case, and with full-width letters, as typed
// by a Japanese keyboard, converted to ASCII (NFKC).
func NormalizeEmail(email string) string {
	return strings.ToLower(norm.NFKC.String(strings.TrimSpace(email)))
}

// normalizeName returns the form of a typed user name under which attempts are counted. It returns a text that is too
// long for a name unchanged, because normalizing is expensive.
func normalizeName(name string) string {
	if len(name) > maxTyped {
		return name
	}
	return NormalizeEmail(name)
}

// validEmail reports whether a normalized address is valid for a user. It accepts only ASCII, because letters of other
// scripts can look alike.
func validEmail(email string) bool {
	if len(email) < minEmail || len(email) > maxEmail || strings.ContainsFunc(email, not(isEmail)) {
		return false
	}
	local, domain, _ := strings.Cut(email, "@")
	return local != "" && domain != "" && strings.Count(email, "@") == 1 &&
		!strings.HasPrefix(domain, ".") && !strings.HasSuffix(domain, ".") && !strings.Contains(email, "..")
}

func isEmail(r rune) bool { return r > ' ' && r < 0x7f && !strings.ContainsRune(`"(),:;<>[\]`, r) }

// CreateUser adds an enabled user with a verified address and returns the sub. If the address is taken, the error has
// the code fault.Conflict; for invalid input, fault.Invalid.
func (p *Pool) CreateUser(ctx context.Context, user NewUser) (uuid.UUID, error) {
	email, name := NormalizeEmail(user.Email), strings.TrimSpace(user.Name)
	if err := checkPerson(email, name); err != nil {
		return uuid.Nil, err
	}
	for _, group := range user.Groups {
		if group == "" || len(group) > maxGroup || strings.ContainsFunc(group, not(unicode.IsPrint)) {
			return uuid.Nil, fault.InvalidField("groups", "グループ名が正しくありません。")
		}
	}
	if (user.TemporaryPassword == "") == (user.PermanentPassword == "") {
		return uuid.Nil, fault.InvalidField("password", "仮パスワードまたはパスワードのどちらか一方を指定してください。")
	}
	now := p.now()
	whose := User{Email: email, Name: name}
	password, err := p.newPassword(ctx, whose, user.TemporaryPassword+user.PermanentPassword,
		user.PermanentPassword != "", now)
	if err != nil {
		return uuid.Nil, err
	}
	sub := uuid.New() // Random, like Cognito's: a sub is not secret, but must reveal nothing.
	return sub, p.store.CreatePoolUser(ctx, User{
		Sub: sub, Email: email, EmailVerified: true, Name: name, Groups: user.Groups, Enabled: true, Version: 1,
		Status: password.Status, PasswordHash: password.Hash, TemporaryUntil: password.TemporaryUntil,
		CreatedAt: now, UpdatedAt: now,
	})
}

// checkPerson rejects a normalized address or a trimmed name that is not valid for a user.
func checkPerson(email, name string) error {
	if !validEmail(email) {
		return fault.InvalidField("email", "メールアドレスの形式が正しくありません。")
	}
	if !validName(name) {
		return fault.InvalidField("name", "名前は1〜%d文字で入力してください。", maxName)
	}
	return nil
}

// validName reports whether a trimmed name is valid for a user.
func validName(name string) bool {
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxName && !runes.Blank(name) &&
		!strings.ContainsFunc(name, runes.NotInName)
}

// UserByEmail returns the user with that address, or an error with the code fault.NotFound.
func (p *Pool) UserByEmail(ctx context.Context, email string) (User, error) {
	return p.store.PoolUserByEmail(ctx, NormalizeEmail(email))
}

// SetPassword sets a user's password, permanent or temporary, and ends all their sessions. If the policy rejects the
// password, the error has the code fault.Invalid; if the user does not exist, fault.NotFound.
func (p *Pool) SetPassword(ctx context.Context, sub uuid.UUID, password string, permanent bool) error {
	user, err := p.store.PoolUserBySub(ctx, sub)
	if err != nil {
		return err
	}
	now := p.now()
	set, err := p.newPassword(ctx, User{Email: user.Email, Name: user.Name}, password, permanent, now)
	if err != nil {
		return err
	}
	return p.store.SetPoolPassword(ctx, sub, set, now)
}

// checkNew rejects a new password that violates the policy or is the current one.
func (p *Pool) checkNew(ctx context.Context, password string, user User) error {
	lacks, err := checkNewPassword(password, user)
	if err == nil && lacks == "" && user.PasswordHash != "" {
		var same bool
		if same, _, err = p.hasher.verify(ctx, user.PasswordHash, password); same {
			lacks = notNew
		}
	}
	if err == nil && lacks != "" {
		err = invalidPassword(lacks)
	}
	return err
}

// newPassword checks and hashes a password set by an operator. A temporary one only has to satisfy the policy.
func (p *Pool) newPassword(ctx context.Context, user User, password string, permanent bool, now time.Time) (Password,
	error,
) {
	lacks := checkPolicy(normalizePassword(password))
	if permanent {
		var err error
		if lacks, err = checkNewPassword(password, user); err != nil {
			return Password{}, err
		}
	}
	switch lacks {
	case "":
	case tooCommon:
		return Password{}, fault.InvalidField("password", "よく使われるパスワードは設定できません。別のパスワードを指定してください。")
	case tooPersonal:
		return Password{}, fault.InvalidField("password", "メールアドレスや名前を含むパスワードは設定できません。別のパスワードを指定してください。")
	default:
		return Password{}, fault.InvalidField("password",
			"パスワードは%d文字以上で、英大文字・英小文字・数字・記号をそれぞれ1文字以上含めてください。", minPassword)
	}
	hash, err := p.hasher.hash(ctx, password)
	if errors.Is(err, errBusy) {
		return Password{}, fault.Wrap(err, fault.Unavailable, "ただいま混み合っています。少し時間をおいて、もう一度お試しください。")
	}
	if err != nil {
		return Password{}, err
	}
	if permanent {
		return Password{Hash: hash, Status: StatusConfirmed}, nil
	}
	until := now.Add(p.cfg.TemporaryLifetime)
	return Password{Hash: hash, Status: StatusForceChangePassword, TemporaryUntil: &until}, nil
}

// DisableUser prevents a user from signing in and ends all their sessions. If the user does not exist, the error has
// the code fault.NotFound.
func (p *Pool) DisableUser(ctx context.Context, sub uuid.UUID) error {
	return p.store.SetPoolUserEnabled(ctx, sub, false, p.now())
}

// EnableUser lets a user sign in again. If the user does not exist, the error has the code fault.NotFound.
func (p *Pool) EnableUser(ctx context.Context, sub uuid.UUID) error {
	return p.store.SetPoolUserEnabled(ctx, sub, true, p.now())
}

// DeleteUser removes a user and ends all their sessions. If the user does not exist, the error has the code
// fault.NotFound.
func (p *Pool) DeleteUser(ctx context.Context, sub uuid.UUID) error {
	return p.store.DeletePoolUser(ctx, sub)
}

// SignOutUser ends all sessions of a user. If the user or session does not exist, nothing is changed.
func (p *Pool) SignOutUser(ctx context.Context, sub uuid.UUID) error {
	return p.store.RevokeGrants(ctx, sub, Event{At: p.now()}) // The caller writes the audit log.
}

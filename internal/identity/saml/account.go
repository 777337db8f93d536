package saml

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

const (
	maxEmail = 254 // Bytes (RFC 5321, section 4.5.3.1, with the correction 1690).
	maxName  = 100 // Characters.
)

// person is the person in an assertion, as far as the identity provider is trusted to identify them.
type person struct {
	email string // As asserted.
	name  string
}

// person returns the person in an assertion, or a rejection. The address must be plain and of a domain that the
// organization has chosen and still owns.
func (a assertion) person(settings Settings) (person, error) {
	emails := []string{a.nameID}
	if settings.EmailAttribute != "" {
		emails = a.values(settings.EmailAttribute)
	}
	if len(emails) != 1 || emails[0] == "" {
		return person{}, reject("there is no one address",
			"メールアドレスを取得できません。メールアドレスの属性名と、IDプロバイダーの属性の設定を確認してください。")
	}
	email := emails[0]
	local, domain, ok := cutAddress(email)
	if !ok {
		return person{}, reject("the address is none", "メールアドレスの形式が正しくありません。属性名の設定を確認してください。")
	}
	domain = strings.ToLower(domain)
	if !slices.Contains(settings.EmailDomains, domain) || !slices.Contains(settings.MailDomains, domain) {
		return person{}, reject("the address is of another domain", "メールアドレスのドメインが、許可されたメールドメインに含まれていません。")
	}
	name := ""
	if settings.NameAttribute != "" {
		name = strings.Join(a.values(settings.NameAttribute), " ")
	}
	if name = tidyName(name); name == "" {
		name = tidyName(local)
	}
	return person{email: email, name: name}, nil
}

// cutAddress splits an address that consists of ASCII characters only, because letters of other scripts can look alike.
func cutAddress(email string) (local, domain string, ok bool) {
	local, domain, found := strings.Cut(email, "@")
	if !found || local == "" || len(email) > maxEmail {
		return "", "", false
	}
	bad := func(also string) func(rune) bool {
		return func(r rune) bool {
			alphanumeric := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
			return !alphanumeric && !strings.ContainsRune(also, r)
		}
	}
	if strings.ContainsFunc(local, bad("!#$%&'*+-/=?^_`{|}~.")) || strings.ContainsFunc(domain, bad("-.")) {
		return "", "", false
	}
	return local, domain, !strings.Contains("."+local+".", "..") && !strings.Contains("."+domain+".", "..")
}

// tidyName returns a name that is valid for a member, or "".
func tidyName(name string) string {
	// Bidirectional controls would reorder the following text, and at many identity providers people choose their own
	// names.
	odd := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
	if !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		return ""
	}
	return strings.TrimSpace(runes.First(strings.Join(strings.Fields(name), " "), maxName))
}

// errNeedsAccount means that the person is new and needs an account in the user pool first.
var errNeedsAccount = errors.New("saml: the person is new")

// decide returns the decision on a valid assertion, by the rules of docs/adr/0014. subject is the new account of an
// unknown person, or uuid.Nil before it exists.
func decide(organizationID uuid.UUID, who person, subject uuid.UUID, found Candidates) (Decision, error) {
	if found.Linked != nil {
		if found.Linked.State != identity.StateActive {
			return Decision{}, errInactive()
		}
		return Decision{Member: found.Linked.ID}, nil
	}
	member := found.ByEmail
	if member == nil {
		return provision(organizationID, who, subject, found.SeatFree)
	}
	if member.OrganizationID != organizationID {
		return Decision{}, errNotLinked()
	}
	// Such an account has no data that an attacker could take over.
	unused := member.AuthType == identity.AuthFederated && !member.SignedIn
	if member.Email != who.email && !unused {
		return Decision{}, errNotLinked()
	}
	if member.State != identity.StateActive {
		return Decision{}, errInactive()
	}
	if found.LinkedToAnother {
		return Decision{}, fault.Errorf(CodeLinked,
			"このメールアドレスのアカウントは、シングルサインオンの別の利用者と連携しています。連携の解除を管理者に依頼してください。")
	}
	if member.Role == identity.RoleGeneralUser {
		return Decision{Member: member.ID, Link: true}, nil
	}
	if member.AuthType != identity.AuthCognito {
		return Decision{}, fault.Errorf(CodeNoPassword,
			"管理者のアカウントとの連携には、パスワードによる確認が必要です。パスワードの招待を、ほかの管理者に依頼してください。")
	}
	return Decision{Member: member.ID, Link: true, Consent: true}, nil
}

// provision adds the person as a general user. Assertions never set a role.
func provision(organizationID uuid.UUID, who person, subject uuid.UUID, seatFree bool) (Decision, error) {
	if !seatFree {
		return Decision{}, fault.Errorf(CodeNoSeat, "空きシートがないため、ログインできません。管理者にお問い合わせください。")
	}
	if subject == uuid.Nil {
		return Decision{}, errNeedsAccount
	}
	user := &identity.NewUser{
		ID: uuidv7.New(), OrganizationID: organizationID, Subject: subject.String(),
		Email: strings.ToLower(who.email),
		Name:  who.name, Role: identity.RoleGeneralUser, AuthType: identity.AuthFederated,
	}
	return Decision{Member: user.ID, Link: true, Provision: user}, nil
}

func errInactive() error {
	return fault.Errorf(CodeInactive, "このアカウントは一時停止中か、削除されています。管理者にお問い合わせください。")
}

func errNotLinked() error {
	return fault.Errorf(CodeNotLinked,
		"このメールアドレスのアカウントにはシングルサインオンでログインできません。メールアドレスの表記が登録と一致しているか、管理者にご確認ください。")
}

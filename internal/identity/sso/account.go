package sso

import (
	"errors"
	"slices"
	"strconv"
	"strings"
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

// CheckPerson returns a person with a name that is valid for a member, or a rejection. The address must be plain and of a
// domain that the organization has chosen and still owns.
func CheckPerson(p Person, chosen, owned []string) (Person, error) {
	local, domain, ok := cutAddress(p.Email)
	if !ok {
		return Person{}, RejectPerson("the address is none", "メールアドレスの形式が正しくありません。属性名の設定を確認してください。")
	}
	domain = strings.ToLower(domain)
	if !slices.Contains(chosen, domain) || !slices.Contains(owned, domain) {
		return Person{}, RejectPerson("the address is of another domain", "メールアドレスのドメインが、許可されたメールドメインに含まれていません。")
	}
	if p.Name = tidyName(p.Name); p.Name == "" {
		p.Name = tidyName(local)
	}
	return p, nil
}

// RejectPerson returns the rejection of a person in a valid response.
func RejectPerson(reason, advice string) error { return &personRejection{Reject(reason, advice)} }

// ChooseDomains sets the domains to the given ones, in lower case and without duplicates, unless given is nil. They must
// be among the organization's mail domains. Only operators can set those, because an administrator could otherwise claim
// another organization's domain.
func ChooseDomains(domains *[]string, owned, given []string) error {
	if given == nil {
		return nil
	}
	*domains = make([]string, 0, len(given))
	for i, text := range given {
		domain := strings.ToLower(strings.TrimSpace(text))
		if !slices.Contains(owned, domain) {
			return fault.InvalidField("email_domains["+strconv.Itoa(i)+"]", "この組織のメールドメインから選択してください。")
		}
		if !slices.Contains(*domains, domain) {
			*domains = append(*domains, domain)
		}
	}
	return nil
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
	// At many identity providers people choose their own names.
	if !utf8.ValidString(name) || runes.Blank(name) || strings.ContainsFunc(name, runes.NotInName) {
		return ""
	}
	return strings.TrimSpace(runes.First(strings.Join(strings.Fields(name), " "), maxName))
}

// errNeedsAccount means that the person is new and needs an account in the user pool first.
var errNeedsAccount = errors.New("sso: the person is new")

// decide returns the decision on an authenticated person, by the rules of docs/adr/0014. subject is the new account of an
// unknown person, or uuid.Nil before it exists.
func decide(organizationID uuid.UUID, who Person, subject uuid.UUID, found Candidates) (Decision, error) {
	if found.Ended {
		return Decision{}, errCodeOver(nil)
	}
	if found.Linked != nil {
		if found.Linked.State != identity.StateActive {
			return Decision{}, errInactive()
		}
		return Decision{Member: found.Linked.ID}, nil
	}
	member := found.ByEmail
	if member == nil && found.Locked {
		return Decision{}, errInactive()
	}
	if member == nil {
		return provision(organizationID, who, subject, found.SeatFree)
	}
	if member.OrganizationID != organizationID {
		return Decision{}, errNotLinked()
	}
	// Such an account has no data that an attacker could take over.
	unused := member.AuthType == identity.AuthFederated && !member.SignedIn
	if member.Email != who.Email && !unused {
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

// provision adds the person as a general user. Identity providers never set a role.
func provision(organizationID uuid.UUID, who Person, subject uuid.UUID, seatFree bool) (Decision, error) {
	if !seatFree {
		return Decision{}, fault.Errorf(CodeNoSeat, "空きシートがないため、ログインできません。管理者にお問い合わせください。")
	}
	if subject == uuid.Nil {
		return Decision{}, errNeedsAccount
	}
	user := &identity.NewUser{
		ID: uuidv7.New(), OrganizationID: organizationID, Subject: subject.String(),
		Email: strings.ToLower(who.Email),
		Name:  who.Name, Role: identity.RoleGeneralUser, AuthType: identity.AuthFederated,
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

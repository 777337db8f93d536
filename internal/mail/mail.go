// Package mail sends mails to people: invitations and codes, in Japanese, as plain text with an HTML alternative.
//
// It owns the texts and the transport: SMTP or, if no server is configured, a folder and the console. Callers decide
// when a mail is sent and to whom. It imports fault and an SMTP library.
package mail

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/mail"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Config is the configuration of New.
type Config struct {
	// SMTPURL is the URL of the server: smtp://user:password@host:587, with STARTTLS unless ?tls=none, or
	// smtps://host:465, with implicit TLS. If it is empty, mails are stored in Folder and printed to Console.
	SMTPURL string

	From      string       // Sender, such as Tsumugi <no-reply@example.com>. Required with SMTPURL.
	Folder    string       // Folder for mails that are not sent. The first mail creates it.
	Console   io.Writer    // Receives the links and codes of mails that are not sent.
	PublicURL string       // URL of the app without a trailing slash; prefix of all links.
	Logger    *slog.Logger // Default: nothing is logged.

	SMTP SMTPConfig
}

// Invitation is a mail to an invited member who signs in with a password.
type Invitation struct {
	Email             string
	Name              string
	TemporaryPassword string
	ValidFor          time.Duration // Validity of the temporary password.
}

// ResetCode is a mail with a code for setting a new password.
type ResetCode struct {
	Email    string
	Name     string
	Code     string
	ValidFor time.Duration
}

// SSOInvitation is a mail to an invited member who signs in with the organization's identity provider.
type SSOInvitation struct {
	Email string
	Name  string
}

// Notice is a mail about a change to an account, so that the owner notices changes by others.
type Notice struct {
	Kind    NoticeKind
	Email   string
	Name    string
	At      time.Time
	Agent   string // "" if unknown.
	Address string // "" if unknown.
}

// NoticeKind is the event that a Notice reports.
type NoticeKind string

// The kinds of notices.
const (
	PasswordChanged  NoticeKind = "password_changed"
	NewDevice        NoticeKind = "new_device" // A sign-in on a new device.
	FactorAdded      NoticeKind = "factor_added"
	FactorRemoved    NoticeKind = "factor_removed"
	RecoveryCodeUsed NoticeKind = "recovery_code_used"
	PasskeyAdded     NoticeKind = "passkey_added"
	PasskeyRemoved   NoticeKind = "passkey_removed"
)

// CertificateWarning is a mail to an administrator whose organization's single sign-on ends soon.
type CertificateWarning struct {
	Email        string
	Name         string
	Organization string
	ExpiresAt    time.Time
}

// Message is an Invitation, SSOInvitation, ResetCode, Notice or CertificateWarning.
type Message interface {
	letter(m *Mailer) letter
}

// Sender sends mails; *Mailer implements it. It is safe for concurrent use. An error means that the message will not be
// delivered. It has the code fault.Invalid for an invalid address, else fault.Unavailable.
type Sender interface {
	Send(ctx context.Context, message Message) error
}

// Mailer sends mails. It is safe for concurrent use and needs no Close.
type Mailer struct {
	cfg     Config
	from    *mail.Address
	deliver func(ctx context.Context, letter letter, message *gomail.Msg) error

	sent, failed atomic.Int64
}

// Stats are numbers of mails since the start.
type Stats struct{ Sent, Failed int64 }

// Stats returns the numbers of mails.
func (m *Mailer) Stats() Stats { return Stats{m.sent.Load(), m.failed.Load()} }

// localSender is the sender of mails that are not sent.
const localSender = "Tsumugi <tsumugi@localhost>"

// New returns a Mailer. It does not connect to the server, which may be down until the first mail. An error describes
// an invalid setting and contains no secret.
func New(cfg Config) (*Mailer, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	if err := CheckFrom(cfg.From); err != nil {
		return nil, err
	}
	m := &Mailer{cfg: cfg}
	if cfg.SMTPURL == "" {
		cfg.From = cmp.Or(cfg.From, localSender)
		m.deliver = (&folder{dir: cfg.Folder, console: cfg.Console}).keep
	} else {
		relay, err := newRelay(cfg.SMTPURL, cfg.SMTP)
		if err != nil {
			return nil, err
		}
		if cfg.From == "" {
			return nil, errors.New("mail: the sender's address is missing")
		}
		m.deliver = relay.send
	}
	var err error
	m.from, err = mail.ParseAddress(cfg.From)
	return m, err
}

// CheckFrom returns an error if a sender's address is invalid. An empty address is valid.
func CheckFrom(from string) error {
	if from == "" {
		return nil
	}
	address, err := mail.ParseAddress(from)
	if err != nil || !plain(address.Address) {
		return errors.New("is no address, such as Tsumugi <no-reply@example.com>")
	}
	return nil
}

// Send implements Sender. It logs the kind of the message, but neither the recipient nor the content.
func (m *Mailer) Send(ctx context.Context, of Message) error {
	letter := of.letter(m)
	message, err := m.message(letter)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := m.deliver(ctx, letter, message); err != nil {
		m.failed.Add(1)
		return err
	}
	m.sent.Add(1)
	m.cfg.Logger.InfoContext(ctx, "mail sent", "kind", letter.kind, "took", time.Since(began))
	return nil
}

// message builds the message of a letter. Its values cannot add a header or a recipient, because message removes
// control characters and the library encodes the values (RFC 2047).
func (m *Mailer) message(letter letter) (*gomail.Msg, error) {
	to, err := mail.ParseAddress("<" + letter.Email + ">")
	if err != nil || to.Address != letter.Email || !plain(letter.Email) {
		return nil, fault.InvalidField("email", "メールアドレスの形式が正しくありません。")
	}
	text, html, err := letter.render(m.link("/", nil))
	if err != nil {
		return nil, err
	}
	to.Name = letter.Name
	// Servers do not change Base64, whatever their line limit is.
	message := gomail.NewMsg(gomail.WithEncoding(gomail.EncodingB64), gomail.WithNoDefaultUserAgent())
	message.FromMailAddress(m.from)
	message.ToMailAddress(to)
	message.Subject(letter.Subject)
	message.SetDate()
	message.SetMessageIDWithValue(messageID(m.from.Address))
	// Suppresses automatic replies (RFC 3834, and Exchange's own header).
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetGenHeader("X-Auto-Response-Suppress", "All")
	message.SetBodyString(gomail.TypeTextPlain, text)
	message.AddAlternativeString(gomail.TypeTextHTML, html)
	return message, nil
}

// link returns the URL of a page of the app.
func (m *Mailer) link(path string, query url.Values) string {
	address := m.cfg.PublicURL + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

// plain reports whether an address has only characters that every server accepts.
func plain(address string) bool {
	return !strings.ContainsFunc(address, func(r rune) bool {
		return r <= ' ' || r >= 0x7f ||
			strings.ContainsRune(`"(),:;<>[\]`, r)
	})
}

// clean turns untrusted text into one line of visible characters.
func clean(s string) string { return strings.Join(strings.Fields(visible(s)), " ") }

// visible removes all characters except visible ones and spaces.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		case unicode.Is(unicode.Cf, r): // Includes characters that hide text or change its direction.
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

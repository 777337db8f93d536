// Package mail writes to people: invitations and codes, in Japanese, as plain text with an HTML alternative.
//
// It owns the texts and how they travel: by SMTP, or, where no server is configured, into a folder and onto the
// console. It imports fault and a library for SMTP; who is written to, and when, is the business of those who call it.
package mail

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/mail"
	"net/url"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Config is what New takes.
type Config struct {
	// SMTPURL names the server: smtp://user:password@host:587, with STARTTLS unless ?tls=none, or smtps://host:465,
	// with TLS from the start. "": mails go into Folder and onto Console.
	SMTPURL string

	From      string       // Sender, as Tsumugi <no-reply@example.com>. Needed with SMTPURL.
	Folder    string       // Of mails that are not sent. Made when the first one is written.
	Console   io.Writer    // Where the links and codes of mails that are not sent are shown.
	PublicURL string       // Of the app, without a slash at the end: links begin with it.
	Logger    *slog.Logger // Default: nothing is logged.

	SMTP SMTPConfig
}

// Invitation asks somebody in who will sign in with a password.
type Invitation struct {
	Email             string
	Name              string
	TemporaryPassword string
	ValidFor          time.Duration // Of the temporary password.
}

// ResetCode lets somebody choose a new password.
type ResetCode struct {
	Email    string
	Name     string
	Code     string
	ValidFor time.Duration
}

// Notice tells somebody of what was done with their account, in case it was not them.
type Notice struct {
	Email   string
	Name    string
	At      time.Time
	Agent   string // "" where it is not known.
	Address string // "" where it is not known.
}

// Mailer sends mails. It is safe for concurrent use and has nothing to stop.
type Mailer struct {
	cfg     Config
	from    *mail.Address
	deliver func(ctx context.Context, letter letter, message *gomail.Msg) error
}

// localSender is the sender of mails that leave no machine.
const localSender = "Tsumugi <tsumugi@localhost>"

// New returns the mailer. It reaches no server: one that is away now may be there when there is something to send.
// Errors name what is wrong with the configuration and quote no secret.
func New(cfg Config) (*Mailer, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := CheckFrom(cfg.From); err != nil {
		return nil, err
	}
	m := &Mailer{cfg: cfg}
	if cfg.SMTPURL == "" {
		if cfg.From == "" {
			cfg.From = localSender
		}
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

// CheckFrom tells what is wrong with a sender's address. "" is none, and right.
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

// SendInvitation sends an invitation. What keeps it from being sent has the code fault.Unavailable, an address that is
// none fault.Invalid.
func (m *Mailer) SendInvitation(ctx context.Context, invitation Invitation) error {
	return m.send(ctx, "invitation", m.invitation(invitation))
}

// SendResetCode sends a code for a new password. The errors are those of SendInvitation.
func (m *Mailer) SendResetCode(ctx context.Context, code ResetCode) error {
	return m.send(ctx, "reset_code", m.resetCode(code))
}

// SendPasswordChanged tells of a new password. The errors are those of SendInvitation.
func (m *Mailer) SendPasswordChanged(ctx context.Context, notice Notice) error {
	return m.send(ctx, "password_changed", m.passwordChanged(notice))
}

// SendNewDevice tells of a sign-in on a device that was not used before. The errors are those of SendInvitation.
func (m *Mailer) SendNewDevice(ctx context.Context, notice Notice) error {
	return m.send(ctx, "new_device", m.newDevice(notice))
}

// SendSSOInvitation asks somebody in who signs in by the organization's identity provider. The errors are those of
// SendInvitation.
func (m *Mailer) SendSSOInvitation(ctx context.Context, email, name string) error {
	return m.send(ctx, "sso_invitation", m.ssoInvitation(email, name))
}

// send writes a letter and has it delivered. The log names its kind, never whom it is for or what it says.
func (m *Mailer) send(ctx context.Context, kind string, letter letter) error {
	message, err := m.message(letter)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := m.deliver(ctx, letter, message); err != nil {
		return err
	}
	m.cfg.Logger.InfoContext(ctx, "mail sent", "kind", kind, "took", time.Since(began))
	return nil
}

// message makes a letter what a server takes. Nothing in it can add a header or a recipient: what comes from outside is
// cleaned of control characters before, and encoded by the library (RFC 2047) after.
func (m *Mailer) message(letter letter) (*gomail.Msg, error) {
	to, err := mail.ParseAddress("<" + letter.Email + ">")
	if err != nil || to.Address != letter.Email || !plain(letter.Email) {
		return nil, fault.InvalidField("email", "メールアドレスの形式が正しくありません。")
	}
	text, html, err := letter.render()
	if err != nil {
		return nil, err
	}
	to.Name = letter.Name
	// Base64, because it passes every server and every line length as it is.
	message := gomail.NewMsg(gomail.WithEncoding(gomail.EncodingB64), gomail.WithNoDefaultUserAgent())
	message.FromMailAddress(m.from)
	message.ToMailAddress(to)
	message.Subject(letter.Subject)
	message.SetDate()
	message.SetMessageIDWithValue(messageID(m.from.Address))
	// No answers of absent people's programs (RFC 3834, and Exchange's own).
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetGenHeader("X-Auto-Response-Suppress", "All")
	message.SetBodyString(gomail.TypeTextPlain, text)
	message.AddAlternativeString(gomail.TypeTextHTML, html)
	return message, nil
}

// link returns an address within the app.
func (m *Mailer) link(path string, query url.Values) string {
	address := m.cfg.PublicURL + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address
}

// plain reports whether an address has only the characters that every server takes.
func plain(address string) bool {
	return !strings.ContainsFunc(address, func(r rune) bool {
		return r <= ' ' || r >= 0x7f ||
			strings.ContainsRune(`"(),:;<>[\]`, r)
	})
}

// clean makes what comes from outside one line of what can be seen.
func clean(s string) string { return strings.Join(strings.Fields(visible(s)), " ") }

// visible keeps what can be seen of a text, and its spaces.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		case unicode.Is(unicode.Cf, r): // Among them what turns or hides text.
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

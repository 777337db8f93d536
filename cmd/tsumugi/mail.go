package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/tsumugi-ai/tsumugi/internal/mail"
)

// mailing holds the mail settings.
type mailing struct {
	SMTPURL  string `name:"smtp-url" env:"SMTP_URL" placeholder:"URL" help:"SMTP server for invitations and codes, as smtp://user:password@host:587 (STARTTLS, unless ?tls=none) or smtps://user:password@host:465. Default: mails are stored in the data folder, links and codes are printed to the console."`
	MailFrom string `env:"TSUMUGI_MAIL_FROM" placeholder:"ADDRESS" help:"Sender of mails, such as \"Tsumugi <no-reply@example.com>\". Needed with --smtp-url."`
}

// checkMail validates the mail settings.
func (m *mailing) checkMail() error {
	if err := mail.CheckURL(m.SMTPURL); err != nil {
		return fmt.Errorf("--smtp-url (SMTP_URL) %w", err)
	}
	if err := mail.CheckFrom(m.MailFrom); err != nil {
		return fmt.Errorf("--mail-from (TSUMUGI_MAIL_FROM) %w", err)
	}
	if m.SMTPURL != "" && m.MailFrom == "" {
		return errors.New("--mail-from (TSUMUGI_MAIL_FROM) is missing: --smtp-url (SMTP_URL) needs a sender")
	}
	return nil
}

// mailFolder is the folder in the data folder for mails that are not sent.
const mailFolder = "mail"

// mailer returns the Mailer. It prints mails that are not sent to the console.
func (m *mailing) mailer(data, publicURL string, console io.Writer, log *slog.Logger) (*mail.Mailer, error) {
	return mail.New(mail.Config{
		SMTPURL: m.SMTPURL, From: m.MailFrom, Folder: filepath.Join(data, mailFolder), Console: console,
		PublicURL: publicURL, Logger: log,
	})
}

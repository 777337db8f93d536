package mail_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	. "github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/proxy/proxytest"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(m) }

const (
	public = "https://tsumugi.example"
	sender = "つむぎ <no-reply@tsumugi.example>"
)

// mailer returns a Mailer that sends to the server.
func mailer(t *testing.T, s *smtpServer, url string, log io.Writer) *Mailer {
	t.Helper()
	m := must.Get(New(Config{
		SMTPURL: strings.ReplaceAll(url, "HOST", s.address), From: sender, PublicURL: public,
		Logger: slog.New(slog.NewTextHandler(log, nil)),
		SMTP:   SMTPConfig{RootCAs: s.roots, Timeout: cmp.Or(s.config.timeout, 15*time.Second)},
	}))(t)
	return m
}

var invited = Invitation{
	Email: "taro.yamada+1@demo.example", Name: "山田 太郎", TemporaryPassword: "Aa1!<b>&xyz",
	ValidFor: 7 * 24 * time.Hour,
}

// parts parses a mail: its headers, its text and its HTML.
func parts(t testing.TB, data string) (header mail.Header, text, html string) {
	t.Helper()
	message, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("%s %v", kind, err)
	}
	reader := multipart.NewReader(message.Body, parameters["boundary"])
	for _, part := range []struct {
		kind string
		into *string
	}{{"text/plain", &text}, {"text/html", &html}} {
		p := must.Get(reader.NextPart())(t)
		kind, parameters, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
		if err != nil || kind != part.kind || !strings.EqualFold(parameters["charset"], "utf-8") ||
			p.Header.Get("Content-Transfer-Encoding") != "base64" {
			t.Fatalf("%s %v %v", kind, parameters, err)
		}
		decoded := must.Get(io.ReadAll(base64.NewDecoder(base64.StdEncoding, p)))(t)
		*part.into = string(decoded)
	}
	if _, err := reader.NextPart(); err != io.EOF { //nolint:errorlint // NextPart documents an unwrapped io.EOF.
		t.Fatalf("more than two parts: %v", err)
	}
	return message.Header, text, html
}

// lines checks headers by the rules of a strict server.
func lines(t testing.TB, data string) {
	t.Helper()
	header, _, _ := strings.Cut(data, "\n\n")
	for line := range strings.SplitSeq(header, "\n") {
		if line = strings.TrimSuffix(line, "\r"); strings.TrimSpace(line) == "" || len(line) > 998 ||
			strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }) {
			t.Errorf("header line %q", line)
		}
	}
}

func TestMailsArrive(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]struct {
		config serverConfig
		url    string
	}{
		"starttls": {
			serverConfig{startTLS: true, credentials: "user\x00p@ss:word"},
			"smtp://user:p%40ss%3Aword@HOST",
		},
		"tls": {
			serverConfig{implicitTLS: true, credentials: "user\x00secret"},
			"smtps://user:secret@HOST",
		},
		"plain":                 {serverConfig{}, "smtp://HOST?tls=none"},
		"password to this host": {serverConfig{credentials: "user\x00secret"}, "smtp://user:secret@HOST?tls=none"},
		"hangs up":              {serverConfig{rude: true}, "smtp://HOST?tls=none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, server.config)
			address := strings.ReplaceAll(server.url, "HOST", s.address)
			if err := Check(t.Context(), address, SMTPConfig{RootCAs: s.roots, Timeout: s.config.timeout}); err != nil || len(s.took) > 0 {
				t.Errorf("the check: %v, and %d mails", err, len(s.took))
			}
			var log bytes.Buffer
			m := mailer(t, s, server.url, &log)
			must.Succeed(t, m.Send(t.Context(), invited))
			if got := m.Stats(); got != (Stats{Sent: 1}) {
				t.Errorf("statistics %+v", got)
			}
			got := <-s.took
			if got.from != "no-reply@tsumugi.example" || got.to != invited.Email {
				t.Errorf("from %s to %s", got.from, got.to)
			}
			if got.encrypted != (server.config.startTLS || server.config.implicitTLS) ||
				got.signedIn != (server.config.credentials != "") {
				t.Errorf("encrypted %v, signed in %v", got.encrypted, got.signedIn)
			}
			if out := log.String(); !strings.Contains(out, "mail sent") || strings.Contains(out, "Aa1") ||
				strings.Contains(out, "taro") {
				t.Errorf("the log says %s", out)
			}
		})
	}
}

func TestLetters(t *testing.T) {
	t.Parallel()
	s := serve(t, serverConfig{})
	m := mailer(t, s, "smtp://HOST?tls=none", io.Discard)
	done := Notice{
		Kind:  PasswordChanged,
		Email: invited.Email, Name: invited.Name, At: time.Date(2026, 4, 1, 9, 5, 0, 0, time.UTC),
		Agent: "Chrome（Windows）", Address: "192.0.2.7",
	}
	device := done
	device.Kind = NewDevice
	for name, letter := range map[string]struct {
		message Message
		subject string
		link    string // Path of the only link into the app.
		query   url.Values
		says    []string
	}{
		"invitation": {
			invited, "【Tsumugi】ご招待のお知らせ", "/login",
			url.Values{"email": {invited.Email}},
			[]string{"山田 太郎 様", "組織のためのAIアシスタント", "仮パスワード", invited.TemporaryPassword, "7日間", "お心当たりがない場合"},
		},
		"reset": {
			ResetCode{Email: invited.Email, Name: invited.Name, Code: "012345", ValidFor: time.Hour},
			"【Tsumugi】パスワード再設定の確認コード", "/reset/password",
			url.Values{"email": {invited.Email}, "code": {"012345"}},
			[]string{"山田 太郎 様", "012345", "1時間", "お心当たりがない場合", "パスワードは変更されません"},
		},
		"single sign-on": {
			SSOInvitation{Email: invited.Email, Name: invited.Name},
			"【Tsumugi】ご招待のお知らせ",
			"/login",
			url.Values{"email": {invited.Email}},
			[]string{"山田 太郎 様", "シングルサインオン", "有効期限はありません", "お心当たりがない場合"},
		},
		"password changed": {
			done, "【Tsumugi】パスワードが変更されました",
			"/reset/password",
			url.Values{"email": {invited.Email}},
			[]string{"山田 太郎 様", "2026年4月1日 18:05（日本時間）", "Chrome（Windows）", "192.0.2.7", "お心当たりがない場合", "すぐにパスワードを再設定"},
		},
		"new device": {
			device, "【Tsumugi】新しい端末からのログインのお知らせ", "/home", nil,
			[]string{"山田 太郎 様", "2026年4月1日 18:05（日本時間）", "Chrome（Windows）", "192.0.2.7", "お心当たりがない場合"},
		},
		"certificate": {
			CertificateWarning{
				Email: invited.Email, Name: invited.Name, Organization: "紡績株式会社", ExpiresAt: done.At,
			},
			"【Tsumugi】シングルサインオンの証明書の期限が近づいています", "/admin/saml", nil,
			[]string{"山田 太郎 様", "紡績株式会社", "2026年4月1日 18:05（日本時間）", "ログインできなくなります"},
		},
	} {
		must.Succeed(t, m.Send(t.Context(), letter.message))
		data := (<-s.took).data
		lines(t, data)
		header, text, html := parts(t, data)
		subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
		if err != nil || subject != letter.subject {
			t.Errorf("%s: subject %q, %v", name, subject, err)
		}
		for key, want := range map[string]mail.Address{
			"To": {Name: "山田 太郎", Address: invited.Email}, "From": {Name: "つむぎ", Address: "no-reply@tsumugi.example"},
		} {
			if list, err := header.AddressList(key); err != nil || len(list) != 1 || *list[0] != want {
				t.Errorf("%s: %s is %v, %v", name, key, list, err)
			}
		}
		if id := header.Get("Message-Id"); !strings.HasSuffix(id, "@tsumugi.example>") {
			t.Errorf("%s: message id %s", name, id)
		}
		for form, body := range map[string]string{
			"text": text,
			"html": strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(html),
		} {
			for _, part := range letter.says {
				if !strings.Contains(body, part) {
					t.Errorf("%s, %s lacks %q", name, form, part)
				}
			}
			if strings.ContainsAny(text, "!！") != strings.Contains(text, invited.TemporaryPassword) {
				t.Errorf("%s, %s: an exclamation mark", name, form)
			}
			found := false
			for _, match := range regexp.MustCompile(regexp.QuoteMeta(public)+`/[^\s"<]+`).FindAllString(body, -1) {
				u, err := url.Parse(match)
				found = found || (err == nil && u.Path == letter.link && u.Query().Encode() == letter.query.Encode())
			}
			if !found {
				t.Errorf("%s, %s has no link to %s?%v", name, form, letter.link, letter.query)
			}
		}
		if strings.Contains(html, "<b>") {
			t.Errorf("%s: what comes from outside is markup", name)
		}
		if strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\n") {
			t.Errorf("%s: line ends that are half ones", name)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	away := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_ = away.Close()
	for name, server := range map[string]struct {
		config serverConfig
		url    string
		says   string
	}{
		"refused recipient": {
			serverConfig{refused: map[string]string{invited.Email: "550 5.1.1 <" + invited.Email + "> is nobody"}},
			"smtp://HOST?tls=none", "宛先",
		},
		"recipient for now": {
			serverConfig{refused: map[string]string{invited.Email: "451 4.7.1 later"}},
			"smtp://HOST?tls=none", "少し時間をおいて",
		},
		"wrong password": {
			serverConfig{startTLS: true, credentials: "user\x00right"},
			"smtp://user:hidden-word@HOST", "少し時間をおいて",
		},
		"no starttls": {
			serverConfig{credentials: "user\x00hidden-word"},
			"smtp://user:hidden-word@HOST",
			"少し時間をおいて",
		},
		"away":              {serverConfig{}, "smtp://" + away.Addr().String(), "少し時間をおいて"},
		"other certificate": {serverConfig{startTLS: true}, "smtp://localhost:PORT", "少し時間をおいて"},
		"tls where none is": {serverConfig{}, "smtps://HOST", "少し時間をおいて"},
		"in the clear to tls": { // Each side waits for the other one.
			serverConfig{implicitTLS: true, timeout: 300 * time.Millisecond}, "smtp://HOST?tls=none", "少し時間をおいて",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, server.config)
			_, port, _ := net.SplitHostPort(s.address)
			var log bytes.Buffer
			m := mailer(t, s, strings.ReplaceAll(server.url, "PORT", port), &log)
			err := m.Send(t.Context(), invited)
			if got := m.Stats(); got != (Stats{Failed: 1}) {
				t.Errorf("statistics %+v", got)
			}
			if fault.CodeOf(err) != fault.Unavailable || !strings.Contains(fault.DetailOf(err), server.says) {
				t.Errorf("got %v", err)
			}
			if out := log.String() + err.Error(); strings.Contains(out, "hidden-word") ||
				strings.Contains(out, invited.TemporaryPassword) || strings.Contains(out, invited.Email) {
				t.Errorf("a secret, or who was written to, is told: %s", out)
			}
			if len(s.took) != 0 {
				t.Error("a mail was sent")
			}
			if len(server.config.refused) > 0 {
				return
			}
			address := strings.NewReplacer("PORT", port, "HOST", s.address).Replace(server.url)
			if err := Check(t.Context(), address, SMTPConfig{RootCAs: s.roots, Timeout: s.config.timeout}); err == nil ||
				strings.Contains(err.Error(), "hidden-word") {
				t.Errorf("the check: %v", err)
			}
		})
	}
}

// TestSlowServersTimeOut uses servers that stall at each step. The timeout covers all steps together.
func TestSlowServersTimeOut(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"greeting", "EHLO", "STARTTLS", "AUTH", "MAIL", "RCPT", "DATA"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := serve(t, serverConfig{silentAt: step, startTLS: true, credentials: "user\x00secret"})
			m, err := New(Config{
				SMTPURL: "smtp://user:secret@" + s.address, From: sender, PublicURL: public,
				SMTP: SMTPConfig{RootCAs: s.roots, Timeout: 300 * time.Millisecond},
			})
			must.Succeed(t, err)
			began := time.Now()
			if err := m.Send(t.Context(), invited); fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestCanceledCallers cancels calls while a server stalls. No connection stays open.
func TestCanceledCallers(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"greeting", "EHLO", "RCPT"} {
		s := serve(t, serverConfig{silentAt: step})
		m, err := New(Config{
			SMTPURL: "smtp://" + s.address + "?tls=none", From: sender, PublicURL: public,
			SMTP: SMTPConfig{Timeout: time.Hour},
		})
		must.Succeed(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { left <- m.Send(ctx, invited) }()
		<-s.silent
		cancel()
		if err := <-left; fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("%s: %v", step, err)
		}
	}
}

func TestWrongConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		"http://host", "smtp:host", "smtp://", "smtp://host:0", "smtp://host:99999", "smtp://host:x",
		"smtp://host/path", "smtp://host?tls=maybe",
		"smtps://host?tls=none", "smtp://host?timeout=1", "smtp://user:hidden-word@host?tls=none",
		"smtp://user:hidden-word@ho st", "smtp://user:hidden%ZZword@host", "smtp://host#x",
	} {
		err := CheckURL(wrong)
		if err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", wrong, err)
		}
		if _, err := New(Config{SMTPURL: wrong, From: sender}); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
	for _, right := range []string{
		"", "smtp://host", "smtp://host:2525?tls=none", "smtps://u:p@host",
		"smtp://u:p@[::1]:25?tls=none", "smtp://host?tls=starttls",
	} {
		if err := CheckURL(right); err != nil {
			t.Errorf("%s: %v", right, err)
		}
	}
	for _, wrong := range []string{"nobody", "a@b, c@d", "x <a@b\r\nBcc: c@d>", "日本@例え.jp", "<>"} {
		if err := CheckFrom(wrong); err == nil {
			t.Errorf("sender %q is taken", wrong)
		}
	}
	if _, err := New(Config{SMTPURL: "smtp://host"}); err == nil {
		t.Error("a server without a sender is accepted")
	}
}

// TestMailThroughAProxy verifies that the proxy receives the name of the server, and that TLS verifies the same name.
func TestMailThroughAProxy(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"smtp", "smtps"} {
		s := serve(t, serverConfig{
			startTLS: scheme == "smtp", implicitTLS: scheme == "smtps", credentials: "user\x00secret",
		})
		p := proxytest.New(t, map[string]string{"mail.example:2525": s.address})
		cfg := SMTPConfig{
			RootCAs: s.roots, Proxy: func(*url.URL) (*url.URL, error) { return p.URL("proxy", "pass"), nil },
		}
		if err := Check(t.Context(), scheme+"://user:secret@mail.example:2525", cfg); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
		if n := len(p.Requests()); n != 1 {
			t.Errorf("%s: the proxy received %d requests", scheme, n)
		}
		err := Check(t.Context(), scheme+"://user:secret@other.example:2525", cfg)
		if err == nil || !strings.Contains(err.Error(), "403") || strings.Contains(err.Error(), "pass") {
			t.Errorf("%s: a tunnel that the proxy refuses: %v", scheme, err)
		}
	}
}

package mail

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/proxy"
)

// SMTPConfig tunes sending by SMTP. Zero values mean the defaults.
type SMTPConfig struct {
	Timeout time.Duration  // Limit for the whole session. Default 10 s, because a person may be waiting.
	RootCAs *x509.CertPool // Trusted certificates. Default: the machine's.
	Proxy   proxy.Func     // Proxy for the server. Default: proxy.FromEnvironment.
}

// sendTimeout is the default of SMTPConfig.Timeout.
const sendTimeout = 10 * time.Second

// Ports of mail submission (RFC 8314, section 3.3).
const (
	portStartTLS = 587
	portTLS      = 465
)

// relay is the SMTP server that delivers mails.
type relay struct {
	host           string
	port           int
	user, password string
	implicitTLS    bool // TLS from the first byte.
	startTLS       bool // TLS after a plaintext greeting. If neither is set, the session is not encrypted.
	cfg            SMTPConfig
}

// CheckURL returns an error if the URL of an SMTP server is invalid. An empty URL is valid. The error does not contain
// the URL, which may contain a password.
func CheckURL(smtpURL string) error {
	if smtpURL == "" {
		return nil
	}
	_, err := newRelay(smtpURL, SMTPConfig{})
	return err
}

func newRelay(smtpURL string, cfg SMTPConfig) (*relay, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, sendTimeout)
	if cfg.Proxy == nil {
		cfg.Proxy = proxy.FromEnvironment()
	}
	u, err := url.Parse(smtpURL)
	if err != nil || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" ||
		strings.ContainsAny(u.Hostname(), " \r\n\t") {
		return nil, errors.New("must be a URL such as smtp://user:password@host:587 or smtps://host")
	}
	r := &relay{host: u.Hostname(), user: u.User.Username(), cfg: cfg}
	r.password, _ = u.User.Password()
	query, err := url.ParseQuery(u.RawQuery)
	security := query.Get("tls")
	query.Del("tls")
	switch {
	case err != nil || len(query) > 0:
		return nil, errors.New("takes no parameter but tls")
	case u.Scheme == "smtps" && security == "":
		r.implicitTLS, r.port = true, portTLS
	case u.Scheme == "smtp" && (security == "" || security == "starttls"):
		r.startTLS, r.port = true, portStartTLS
	case u.Scheme == "smtp" && security == "none":
		r.port = portStartTLS
	case u.Scheme == "smtp":
		return nil, errors.New("takes tls=starttls (the default) or tls=none")
	default:
		return nil, errors.New("must begin with smtp://, or with smtps:// and then without the parameter tls")
	}
	if port := u.Port(); port != "" {
		if r.port, err = strconv.Atoi(port); err != nil || r.port < 1 || r.port > 65535 {
			return nil, errors.New("has a port that is none")
		}
	}
	if r.user != "" && !r.implicitTLS && !r.startTLS && !loopback(r.host) {
		return nil, errors.New("would send a password in the clear: tls=none goes without one, except on this machine")
	}
	return r, nil
}

// loopback reports whether a host is one of the names of this machine to which the library sends a password without
// TLS.
func loopback(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

// send delivers a message. It returns within the timeout even if the server stalls.
func (r *relay) send(ctx context.Context, letter letter, message *gomail.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	err := r.transmit(ctx, message)
	if err == nil || message.IsDelivered() { // Closing the session may fail after the server has accepted the mail.
		return nil
	}
	var refused *gomail.SendError
	nobody := errors.As(err, &refused) && refused.Reason == gomail.ErrSMTPRcptTo && !refused.IsTemp()
	// Errors of the library and of most servers contain the address, which must not be logged.
	err = errors.New(strings.ReplaceAll(err.Error(), letter.Email, "…"))
	if nobody {
		return fault.Wrap(err, fault.Unavailable, "メールサーバーが宛先のメールアドレスを受け付けませんでした。アドレスをご確認ください。")
	}
	return fault.Wrap(errors.Join(err, ctx.Err()), fault.Unavailable, "メールを送信できませんでした。少し時間をおいて、もう一度お試しください。")
}

// Check connects to an SMTP server, starts TLS and signs in as for a mail, without sending one. Its error may contain
// texts of the server.
func Check(ctx context.Context, smtpURL string, cfg SMTPConfig) error {
	r, err := newRelay(smtpURL, cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	err = r.session(ctx, func(client *gomail.Client) error {
		if err := client.DialWithContext(ctx); err != nil {
			return err
		}
		return client.Close()
	})
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	return nil
}

// transmit connects, sends and closes.
func (r *relay) transmit(ctx context.Context, message *gomail.Msg) error {
	return r.session(ctx, func(client *gomail.Client) error { return client.DialAndSendWithContext(ctx, message) })
}

// session calls use with a client of the server and then closes the connection. It dials the connection itself, because
// the library extends the deadline with each step and leaves the connection open after some failures.
func (r *relay) session(ctx context.Context, use func(*gomail.Client) error) error {
	tcp, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tcp.Close() }()
	defer context.AfterFunc(ctx, func() { _ = tcp.Close() })() // Closes the TLS connection on top as well.
	conn := tcp
	security := &tls.Config{ServerName: r.host, RootCAs: r.cfg.RootCAs, MinVersion: tls.VersionTLS12}
	policy := gomail.NoTLS
	switch {
	case r.startTLS:
		policy = gomail.TLSMandatory
	case r.implicitTLS:
		encrypted := tls.Client(tcp, security)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			return err
		}
		conn, policy = encrypted, gomail.TLSOpportunistic // With this policy, the library detects the existing encryption.
	}
	options := []gomail.Option{
		gomail.WithPort(r.port), gomail.WithTimeout(r.cfg.Timeout), gomail.WithTLSPolicy(policy),
		gomail.WithTLSConfig(security),
		gomail.WithDialContextFunc(func(context.Context, string, string) (net.Conn, error) { return conn, nil }),
		gomail.WithoutNoop(), gomail.WithoutRset(),
	}
	if r.user != "" {
		// Without TLS, the library sends a password to this machine only.
		options = append(options, gomail.WithUsername(r.user), gomail.WithPassword(r.password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthSCRAMSHA256,
				gomail.SMTPAuthCramMD5))
	}
	client, err := gomail.NewClient(r.host, options...)
	if err != nil {
		return err
	}
	return use(client)
}

// dial connects to the server, directly or through a proxy. The proxy is that for https, whose connections are tunnels
// as well.
func (r *relay) dial(ctx context.Context) (net.Conn, error) {
	address := net.JoinHostPort(r.host, strconv.Itoa(r.port))
	via, err := r.cfg.Proxy(&url.URL{Scheme: "https", Host: address})
	if err != nil {
		return nil, err
	}
	if via == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	return proxy.Dial(ctx, via, address)
}

// messageID returns a message id in the sender's domain that contains no information about this machine.
func messageID(sender string) string {
	_, domain, _ := strings.Cut(sender, "@")
	return rand.Text() + "@" + domain
}

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/siem"
)

// auditing holds the settings of sending the audit log to a SIEM.
type auditing struct {
	AuditOTLPURL     string `name:"audit-otlp-url" env:"TSUMUGI_AUDIT_OTLP_URL" placeholder:"URL" help:"OpenTelemetry collector that receives the audit log, by OTLP over HTTP, such as https://collector.example:4318. Default: none."`
	AuditOTLPHeaders string `name:"audit-otlp-headers" env:"TSUMUGI_AUDIT_OTLP_HEADERS" placeholder:"NAME=VALUE,…" help:"Headers of these requests, such as authorization=Bearer%20KEY, with commas between and values in the encoding of URLs."`
	AuditSyslogURL   string `env:"TSUMUGI_AUDIT_SYSLOG_URL" placeholder:"URL" help:"Syslog server that receives the audit log, by RFC 5424 over TLS, as tls://host:6514. Default: none."`
	AuditCertFile    string `env:"TSUMUGI_AUDIT_CERT_FILE" type:"path" placeholder:"FILE" help:"PEM file with the client certificate for these receivers, and the intermediate ones. It is read for each connection. Default: none."`
	AuditKeyFile     string `env:"TSUMUGI_AUDIT_KEY_FILE" type:"path" placeholder:"FILE" help:"PEM file with the private key of the client certificate, not encrypted."`
}

// certificate returns the client certificate of the sinks, or nil without one.
func (a *auditing) certificate() *siem.ClientCertificate {
	if a.AuditCertFile == "" {
		return nil
	}
	return &siem.ClientCertificate{CertificateFile: a.AuditCertFile, KeyFile: a.AuditKeyFile}
}

// sinks returns the configured sinks. An error names the setting and contains no secret.
func (a *auditing) sinks(origin siem.Origin, log *slog.Logger) (sinks []siem.Sink, err error) {
	if a.AuditOTLPURL != "" {
		otlp, err := siem.NewOTLP(siem.OTLPConfig{
			URL: a.AuditOTLPURL, Headers: a.AuditOTLPHeaders, Origin: origin, Certificate: a.certificate(),
		}, log)
		if err != nil {
			return nil, fmt.Errorf("--audit-otlp-url, --audit-otlp-headers (TSUMUGI_AUDIT_OTLP_URL, "+
				"TSUMUGI_AUDIT_OTLP_HEADERS): the %w", err)
		}
		sinks = append(sinks, otlp)
	}
	if a.AuditSyslogURL != "" {
		syslog, err := siem.NewSyslog(siem.SyslogConfig{
			URL: a.AuditSyslogURL, Origin: origin, Certificate: a.certificate(),
		})
		if err != nil {
			return nil, fmt.Errorf("--audit-syslog-url (TSUMUGI_AUDIT_SYSLOG_URL): the %w", err)
		}
		sinks = append(sinks, syslog)
	}
	return sinks, nil
}

// checkAuditing checks the settings.
func (a *auditing) checkAuditing() error {
	if a.AuditOTLPURL == "" && a.AuditOTLPHeaders != "" {
		return fmt.Errorf("--audit-otlp-headers (TSUMUGI_AUDIT_OTLP_HEADERS): " +
			"--audit-otlp-url (TSUMUGI_AUDIT_OTLP_URL) is missing")
	}
	if _, err := a.sinks(siem.Origin{}, nil); err != nil {
		return err
	}
	return a.checkCertificate()
}

// checkCertificate checks the client certificate, but not whether it has expired: its receivers, which may accept it or
// need none, must not prevent a start.
func (a *auditing) checkCertificate() error {
	encrypted := strings.HasPrefix(a.AuditOTLPURL, "https:") || strings.HasPrefix(a.AuditSyslogURL, "tls:")
	switch certificate := a.certificate(); {
	case certificate == nil && a.AuditKeyFile == "":
		return nil
	case certificate == nil || a.AuditKeyFile == "":
		return errors.New("--audit-cert-file, --audit-key-file (TSUMUGI_AUDIT_CERT_FILE, TSUMUGI_AUDIT_KEY_FILE): " +
			"one of them is missing")
	case !encrypted:
		return errors.New("--audit-cert-file (TSUMUGI_AUDIT_CERT_FILE): --audit-otlp-url with https:// or " +
			"--audit-syslog-url with tls:// is missing")
	default:
		if _, err := certificate.Read(); err != nil {
			return fmt.Errorf("--audit-cert-file, --audit-key-file (TSUMUGI_AUDIT_CERT_FILE, TSUMUGI_AUDIT_KEY_FILE): the %w",
				err)
		}
		return nil
	}
}

// auditSinks are the sinks of the audit log, by name.
var auditSinks = map[string]struct{ name, settings string }{
	"otlp":   {"OTLP", "TSUMUGI_AUDIT_OTLP_URL, TSUMUGI_AUDIT_OTLP_HEADERS, TSUMUGI_AUDIT_CERT_FILE"},
	"syslog": {"syslog", "TSUMUGI_AUDIT_SYSLOG_URL, TSUMUGI_AUDIT_CERT_FILE"},
}

// auditChecks returns a check for each configured sink of the audit log.
func (e *examination) auditChecks(name doctor.Text) (checks []doctor.Check) {
	sinks, err := e.sinks(siem.Origin{}, e.log)
	if err != nil || len(sinks) == 0 { // An error is one of config.Validate as well.
		return []doctor.Check{{ID: "audit", Name: name, Run: always(doctor.NotConfigured())}}
	}
	if certificate := e.certificate(); certificate != nil {
		checks = append(checks, doctor.Check{
			ID: "audit", Name: name, Subject: filepath.Base(certificate.CertificateFile),
			Run: func(context.Context) doctor.Result { return clientCertificateResult(certificate, time.Now()) },
		})
	}
	for _, sink := range sinks {
		described := auditSinks[sink.Name()]
		checks = append(checks, doctor.Check{
			ID: "audit", Name: name, Subject: described.name, Run: func(ctx context.Context) doctor.Result {
				defer sink.Close()
				if err := sink.Check(ctx); err != nil {
					return doctor.Found("接続できません：%s", "cannot be reached: %s", err.Error()).Fail(
						described.settings+"と、受信側の稼働状況、証明書、途中のネットワークを確認してください。",
						"Check "+described.settings+", the receiver, its certificate, and the network.")
				}
				return doctor.Found("接続できました。", "connected")
			},
		})
	}
	return checks
}

// clientCertificateResult returns the state of the client certificate at a time. Its fingerprint is that of openssl x509
// -fingerprint -sha256.
func clientCertificateResult(certificate *siem.ClientCertificate, now time.Time) doctor.Result {
	const ja = "新しい証明書と秘密鍵を、TSUMUGI_AUDIT_CERT_FILEとTSUMUGI_AUDIT_KEY_FILEのファイルに書き込んでください。再起動は不要です。"
	const en = "Write a new certificate and its key to the files of TSUMUGI_AUDIT_CERT_FILE and TSUMUGI_AUDIT_KEY_FILE. " +
		"A restart is not necessary."
	read, err := certificate.Read()
	if err != nil {
		return doctor.Found("使用できません：%s", "cannot be used: %s", err.Error()).Fail(ja, en)
	}
	fingerprint := sha256.Sum256(read.Leaf.Raw)
	r := doctor.Found("クライアント証明書 %s（SHA-256 %s）の有効期限は%s",
		"the client certificate %s (SHA-256 %s) is valid until %s",
		read.Leaf.Subject.String(), strings.ToUpper(hex.EncodeToString(fingerprint[:])),
		read.Leaf.NotAfter.UTC().Format(time.DateOnly))
	switch end := read.Leaf.NotAfter; {
	case end.Before(now):
		return r.Fail("期限切れのため、監査ログを送れません。"+ja, "It has expired, so that receivers refuse the audit log. "+en)
	case end.Before(now.Add(certificateNotice)):
		return r.Warn(ja, en)
	}
	return r
}

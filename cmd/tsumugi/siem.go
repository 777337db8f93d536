package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/siem"
)

// auditing holds the settings of sending the audit log to a SIEM.
type auditing struct {
	AuditOTLPURL     string `name:"audit-otlp-url" env:"TSUMUGI_AUDIT_OTLP_URL" placeholder:"URL" help:"OpenTelemetry collector that receives the audit log, by OTLP over HTTP, such as https://collector.example:4318. Default: none."`
	AuditOTLPHeaders string `name:"audit-otlp-headers" env:"TSUMUGI_AUDIT_OTLP_HEADERS" placeholder:"NAME=VALUE,…" help:"Headers of these requests, such as authorization=Bearer%20KEY, with commas between and values in the encoding of URLs."`
	AuditSyslogURL   string `env:"TSUMUGI_AUDIT_SYSLOG_URL" placeholder:"URL" help:"Syslog server that receives the audit log, by RFC 5424 over TLS, as tls://host:6514. Default: none."`
}

// sinks returns the configured sinks. An error names the setting and contains no secret.
func (a *auditing) sinks(origin siem.Origin, log *slog.Logger) (sinks []siem.Sink, err error) {
	if a.AuditOTLPURL != "" {
		otlp, err := siem.NewOTLP(siem.OTLPConfig{
			URL: a.AuditOTLPURL, Headers: a.AuditOTLPHeaders, Origin: origin,
		}, log)
		if err != nil {
			return nil, fmt.Errorf("--audit-otlp-url, --audit-otlp-headers (TSUMUGI_AUDIT_OTLP_URL, "+
				"TSUMUGI_AUDIT_OTLP_HEADERS): the %w", err)
		}
		sinks = append(sinks, otlp)
	}
	if a.AuditSyslogURL != "" {
		syslog, err := siem.NewSyslog(siem.SyslogConfig{URL: a.AuditSyslogURL, Origin: origin})
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
	_, err := a.sinks(siem.Origin{}, nil)
	return err
}

// auditSinks are the sinks of the audit log, by name.
var auditSinks = map[string]struct{ name, settings string }{
	"otlp":   {"OTLP", "TSUMUGI_AUDIT_OTLP_URL, TSUMUGI_AUDIT_OTLP_HEADERS"},
	"syslog": {"syslog", "TSUMUGI_AUDIT_SYSLOG_URL"},
}

// auditChecks returns a check for each configured sink of the audit log.
func (e *examination) auditChecks(name doctor.Text) (checks []doctor.Check) {
	sinks, err := e.sinks(siem.Origin{}, e.log)
	if err != nil || len(sinks) == 0 { // An error is one of config.Validate as well.
		return []doctor.Check{{ID: "audit", Name: name, Run: always(doctor.NotConfigured())}}
	}
	for _, sink := range sinks {
		described := auditSinks[sink.Name()]
		checks = append(checks, doctor.Check{
			ID: "audit", Name: name, Subject: described.name, Run: func(ctx context.Context) doctor.Result {
				defer sink.Close()
				if err := sink.Check(ctx); err != nil {
					return doctor.Found("接続できません: %s", "cannot be reached: %s", err.Error()).Fail(
						described.settings+"と、受信側の稼働状況、証明書、途中のネットワークを確認してください。",
						"Check "+described.settings+", the receiver, its certificate, and the network.")
				}
				return doctor.Found("接続できました。", "connected")
			},
		})
	}
	return checks
}

package main

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/receivers"
)

// received adds the next events of a receiver to events, without repetitions, until some with the actions want were
// added in this order.
func received(
	t *testing.T, r *receivers.Receiver, events []receivers.Event, want ...string,
) []receivers.Event {
	t.Helper()
	for len(want) > 0 {
		e, open := <-r.Events
		if !open {
			t.Fatalf("the receiver ended before %v", want)
		}
		if slices.ContainsFunc(events, func(other receivers.Event) bool { return other.ID == e.ID }) {
			continue
		}
		if e.ID == "" || e.OCSF.Metadata.UID != e.ID {
			t.Errorf("%+v", e)
		}
		events = append(events, e)
		if e.OCSF.Metadata.EventCode == want[0] {
			want = want[1:]
		}
	}
	return events
}

func idsOf(events []receivers.Event) (ids []string) {
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

// TestAuditLogReachesReceivers sends the events of calls to the OpenTelemetry collector and rsyslog. It kills the
// server and starts another one, which sends to syslog-ng as well. All of them require a client certificate.
func TestAuditLogReachesReceivers(t *testing.T) {
	t.Parallel()
	files := receivers.Certify(t)
	collector := receivers.Collector(t, files)
	rsyslog, syslogNG := receivers.Rsyslog(t, files), receivers.SyslogNG(t, files)
	dsn := storetest.DSN(t)
	serve := func(syslog *receivers.Receiver) *process {
		return start(t, t.TempDir(), "DATABASE_URL="+dsn, "TSUMUGI_CA_FILE="+files.Certificate,
			"TSUMUGI_AUDIT_CERT_FILE="+files.Certificate, "TSUMUGI_AUDIT_KEY_FILE="+files.Key,
			"TSUMUGI_AUDIT_OTLP_URL=https://"+collector.Address, "TSUMUGI_AUDIT_SYSLOG_URL=tls://"+syslog.Address)
	}
	first := serve(rsyslog)
	token := first.signIn(t, "admin@demo.example")
	const name = `営業 "第一" ] \ 🧵`
	if status := first.json(t, "POST", "/v1/group", token,
		map[string]any{"request_id": uuid.NewString(), "name": name}, nil); status != http.StatusCreated {
		t.Fatalf("got %d", status)
	}
	if status := first.json(t, "PUT", "/v1/guidance/instructions", token,
		map[string]any{"instructions": strings.Repeat("簡潔に\n", 1000)}, nil); status != http.StatusOK {
		t.Fatalf("got %d", status)
	}
	actions := []string{"session.begin", "group.create", "instructions.edit"}
	byOTLP, byRsyslog := received(t, collector, nil, actions...), received(t, rsyslog, nil, actions...)
	if !slices.Equal(idsOf(byOTLP), idsOf(byRsyslog)) {
		t.Errorf("the collector received %+v, rsyslog %+v", byOTLP, byRsyslog)
	}
	_ = first.end(t, syscall.SIGKILL)

	second := serve(syslogNG)
	if status := second.json(t, "POST", "/v1/group", second.signIn(t, "admin@demo.example"),
		map[string]any{"request_id": uuid.NewString(), "name": "総務"}, nil); status != http.StatusCreated {
		t.Fatalf("got %d", status)
	}
	more := []string{"session.begin", "group.create"}
	again := received(t, syslogNG, nil, slices.Concat(actions, more)...)
	byOTLP = received(t, collector, byOTLP, more...)
	if !slices.Equal(idsOf(again), idsOf(byOTLP)) {
		t.Errorf("syslog-ng received %v, the collector %v", again, byOTLP)
	}
	for _, events := range [][]receivers.Event{byRsyslog, again, byOTLP} {
		i := slices.IndexFunc(events, func(e receivers.Event) bool { return e.OCSF.Metadata.EventCode == "group.create" })
		e := events[i]
		if e.OCSF.Group.Name != name || e.OCSF.ClassUID != 3006 || e.OCSF.Metadata.TenantUID == "" ||
			e.OCSF.Unmapped.OrganizationName == "" || e.Action != "" && (e.Action != "group.create" || e.Target != name) {
			t.Errorf("%+v", e)
		}
	}
}

// TestDoctorReportsTheClientCertificate: doctor shows the client certificate for receivers and warns before its end, but
// does not show its key.
func TestDoctorReportsTheClientCertificate(t *testing.T) {
	t.Parallel()
	files := receivers.Certify(t) // Valid for a day.
	d := on(t).diagnose("TSUMUGI_AUDIT_OTLP_URL=https://127.0.0.1:1",
		"TSUMUGI_AUDIT_CERT_FILE="+files.Certificate, "TSUMUGI_AUDIT_KEY_FILE="+files.Key)
	found := d.of("audit")
	if len(found) != 2 || found[0].State != doctor.Warning || found[0].Subject != "certificate.pem" ||
		!strings.Contains(found[0].Found, "CN=receiver (SHA-256 ") || !strings.Contains(found[0].Advice, "TSUMUGI_AUDIT_KEY_FILE") {
		t.Errorf("%+v", found)
	}
}

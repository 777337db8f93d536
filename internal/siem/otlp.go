package siem

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// OTLPConfig configures an OTLP sink.
type OTLPConfig struct {
	URL     string // A URL without a path gets /v1/logs.
	Headers string // name=value,… with values in the encoding of URLs, as OTEL_EXPORTER_OTLP_HEADERS.
	Origin  Origin
	Timeout time.Duration // Of a request. Default 30 s.

	Certificate *ClientCertificate // Nil for none.
	RootCAs     *x509.CertPool     // Trusted certificates. Default: those of the process.
	Client      *http.Client       // Default: one with the fields above and the proxies of the environment.
}

const (
	maxRequest      = 1 << 20 // Bytes of records in a request, unless one record is larger.
	maxResponse     = 64 << 10
	maxReceiverText = 300 // Characters of a receiver's text in an error.
)

// OTLP is a receiver of OTLP logs over HTTP, which acknowledges each request.
type OTLP struct {
	cfg     OTLPConfig
	headers http.Header
	log     *slog.Logger
	refused atomic.Int64

	requested atomic.Bool // The last request opened a connection whose receiver requested a client certificate.
}

// NewOTLP returns an OTLP sink, or an error that describes an invalid setting and contains no secret.
func NewOTLP(cfg OTLPConfig, log *slog.Logger) (*OTLP, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("URL must begin with http:// or https://, such as https://collector.example:4318")
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1/logs"
	}
	cfg.URL = u.String()
	o := &OTLP{cfg: cfg, log: log, headers: make(http.Header)}
	for pair := range strings.SplitSeq(cfg.Headers, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		value, err := url.PathUnescape(value)
		if ok && name != "" && err == nil {
			o.headers.Set(name, value)
		} else if pair != "" {
			return nil, errors.New("headers must have the form name=value,name=value")
		}
	}
	o.cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	if cfg.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = clientTLS(cfg.RootCAs, cfg.Certificate, func() { o.requested.Store(true) })
		o.cfg.Client = &http.Client{Transport: transport, CheckRedirect: noRedirect}
	}
	return o, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func (o *OTLP) Name() string { return "otlp" }

func (o *OTLP) Refused() int64 { return o.refused.Load() }

// Check implements Sink. It sends an empty request.
func (o *OTLP) Check(ctx context.Context) error { return o.post(ctx, nil) }

func (o *OTLP) Close() { o.cfg.Client.CloseIdleConnections() }

func (o *OTLP) Send(ctx context.Context, events []Event) (confirmed int64, err error) {
	now := time.Now()
	var records []*logspb.LogRecord
	size := 0
	for i, e := range events {
		record := o.record(e, now)
		records, size = append(records, record), size+proto.Size(record)
		if size < maxRequest && i < len(events)-1 {
			continue
		}
		if err := o.deliver(ctx, records); err != nil {
			return confirmed, err
		}
		confirmed, records, size = e.Position, nil, 0
	}
	return confirmed, nil
}

// errRefused is the error of a request that the receiver will not accept when it is repeated.
var errRefused = errors.New("refused")

// busyError is a response with the header Retry-After.
type busyError struct {
	status string
	after  time.Duration
}

func (e *busyError) Error() string { return "status " + e.status }

// deliver sends records. If the receiver refuses them, deliver divides them until only the refused ones are left out.
// A receiver that refuses even an empty request is not the expected one, and gets the records again later.
func (o *OTLP) deliver(ctx context.Context, records []*logspb.LogRecord) error {
	err := o.post(ctx, records)
	if !errors.Is(err, errRefused) {
		return err
	}
	if half := len(records) / 2; half > 0 {
		if err := o.deliver(ctx, records[:half]); err != nil {
			return err
		}
		return o.deliver(ctx, records[half:])
	}
	if err := o.post(ctx, nil); err != nil {
		return err
	}
	// The receiver may have refused everything until now.
	if err = o.post(ctx, records); !errors.Is(err, errRefused) {
		return err
	}
	o.refused.Add(1)
	o.log.ErrorContext(ctx, "siem: the receiver refused an event, which is not sent again",
		"sink", o.Name(), "event", uid(records[0]), "err", err)
	return nil
}

// post sends records in one request.
func (o *OTLP) post(ctx context.Context, records []*logspb.LogRecord) error {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.Timeout)
	defer cancel()
	body, err := proto.Marshal(o.request(records))
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = o.headers.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	o.requested.Store(false)
	response, err := o.cfg.Client.Do(request)
	if err != nil {
		if failure, ok := errors.AsType[*url.Error](err); ok {
			err = failure.Err // Without the URL, which may contain a password.
		}
		return withAdvice(err, o.requested.Load())
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return err
	}
	switch response.StatusCode {
	case http.StatusOK:
		if strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
			return errors.New("the response is a web page, not that of a receiver")
		}
		o.notePartialSuccess(ctx, text, records)
		return nil
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return fmt.Errorf("%w with status %s: %q", errRefused, response.Status,
			runes.OneLine(string(text), maxReceiverText))
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return &busyError{response.Status, time.Duration(seconds) * time.Second}
	default:
		return fmt.Errorf("status %s: %q", response.Status, runes.OneLine(string(text), maxReceiverText))
	}
}

// notePartialSuccess logs and counts the records that the receiver has rejected from an accepted request. They must not
// be sent again (https://opentelemetry.io/docs/specs/otlp/#partial-success-1).
func (o *OTLP) notePartialSuccess(ctx context.Context, body []byte, records []*logspb.LogRecord) {
	var response collectorpb.ExportLogsServiceResponse
	if err := proto.Unmarshal(body, &response); err != nil || len(records) == 0 {
		return
	}
	partial := response.GetPartialSuccess()
	if n := partial.GetRejectedLogRecords(); n > 0 {
		o.refused.Add(n)
		o.log.ErrorContext(ctx, "siem: the receiver refused events, which are not sent again",
			"sink", o.Name(), "events", n, "first", uid(records[0]), "last", uid(records[len(records)-1]),
			"err", runes.OneLine(partial.GetErrorMessage(), maxReceiverText))
	}
}

// request returns the request with records. Without records, it is empty.
func (o *OTLP) request(records []*logspb.LogRecord) *collectorpb.ExportLogsServiceRequest {
	if len(records) == 0 {
		return &collectorpb.ExportLogsServiceRequest{}
	}
	return &collectorpb.ExportLogsServiceRequest{ResourceLogs: []*logspb.ResourceLogs{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
			attribute("service.name", "tsumugi"), attribute("service.version", o.cfg.Origin.Version),
			attribute("server.address", o.cfg.Origin.Host),
		}},
		ScopeLogs: []*logspb.ScopeLogs{{
			Scope: &commonpb.InstrumentationScope{Name: "tsumugi.audit"}, LogRecords: records,
		}},
	}}}
}

// uidAttribute is OpenTelemetry's attribute for the unique id of a record. Receivers can remove repetitions by it.
const uidAttribute = "log.record.uid"

// severities are the severities of records by those of OCSF.
var severities = map[int]logspb.SeverityNumber{
	1: logspb.SeverityNumber_SEVERITY_NUMBER_INFO, 2: logspb.SeverityNumber_SEVERITY_NUMBER_INFO2,
	3: logspb.SeverityNumber_SEVERITY_NUMBER_WARN,
}

// record returns the record of an event. Its body is the event in OCSF's form.
func (o *OTLP) record(e Event, observed time.Time) *logspb.LogRecord {
	id, name := severity(e.Action)
	return &logspb.LogRecord{
		TimeUnixNano: uint64(e.At.UnixNano()), ObservedTimeUnixNano: uint64(observed.UnixNano()),
		SeverityNumber: severities[id], SeverityText: name, EventName: "tsumugi.audit",
		Body: anyValue(o.cfg.Origin.event(e)),
		Attributes: []*commonpb.KeyValue{
			attribute(uidAttribute, e.uid()), attribute("tsumugi.action", string(e.Action)),
			attribute("tsumugi.organization.id", e.organizationID()),
		},
	}
}

// uid returns the id of a record.
func uid(record *logspb.LogRecord) string {
	return record.GetAttributes()[0].GetValue().GetStringValue()
}

func attribute(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: anyValue(value)}
}

// anyValue converts the values that objects of OCSF contain.
func anyValue(value any) *commonpb.AnyValue {
	switch v := value.(type) {
	case string:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: v}}
	case int:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: int64(v)}}
	case int64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: v}}
	case []any:
		list := &commonpb.ArrayValue{}
		for _, item := range v {
			list.Values = append(list.Values, anyValue(item))
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: list}}
	case object:
		list := &commonpb.KeyValueList{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list.Values = append(list.Values, &commonpb.KeyValue{Key: key, Value: anyValue(v[key])})
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: list}}
	}
	panic(fmt.Sprintf("siem: a value of type %T", value))
}

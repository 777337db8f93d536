package slack_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
)

const secret = "8f742231b10e8888abcd99yyyzzz85a5"

// signed returns the headers of a request that was signed at the current time plus from.
func signed(secret, version string, body []byte, from time.Duration) http.Header {
	at := strconv.FormatInt(time.Now().Add(from).Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + at + ":"))
	mac.Write(body)
	return http.Header{
		"X-Slack-Request-Timestamp": {at},
		"X-Slack-Signature":         {version + "=" + hex.EncodeToString(mac.Sum(nil))},
	}
}

func TestR71_Signature(t *testing.T) {
	t.Parallel()
	body := []byte(`{"type":"url_verification","challenge":"c"}`)
	without := func(name string) http.Header {
		h := signed(secret, "v0", body, 0)
		h.Del(name)
		return h
	}
	with := func(name, value string) http.Header {
		h := signed(secret, "v0", body, 0)
		h.Set(name, value)
		return h
	}
	earlier := strconv.FormatInt(time.Now().Unix()-9, 10)
	good := signed(secret, "v0", body, 0)
	for name, c := range map[string]struct {
		header http.Header
		body   []byte
		secret string
		ok     bool
	}{
		"good":                  {good, body, secret, true},
		"299 s ago":             {signed(secret, "v0", body, -299*time.Second), body, secret, true},
		"in 299 s":              {signed(secret, "v0", body, 299*time.Second), body, secret, true},
		"302 s ago":             {signed(secret, "v0", body, -302*time.Second), body, secret, false},
		"in 302 s":              {signed(secret, "v0", body, 302*time.Second), body, secret, false},
		"altered":               {good, append([]byte(" "), body...), secret, false},
		"empty body":            {good, nil, secret, false},
		"other secret":          {signed("other", "v0", body, 0), body, secret, false},
		"no secret":             {signed("", "v0", body, 0), body, "", false},
		"other version":         {signed(secret, "v1", body, 0), body, secret, false},
		"no version":            {with("X-Slack-Signature", good.Get("X-Slack-Signature")[3:]), body, secret, false},
		"no signature":          {without("X-Slack-Signature"), body, secret, false},
		"no time":               {without("X-Slack-Request-Timestamp"), body, secret, false},
		"a time that is none":   {with("X-Slack-Request-Timestamp", "soon"), body, secret, false},
		"another time":          {with("X-Slack-Request-Timestamp", earlier), body, secret, false},
		"half a signature":      {with("X-Slack-Signature", good.Get("X-Slack-Signature")[:20]), body, secret, false},
		"a signature, no hex":   {with("X-Slack-Signature", "v0=zz"), body, secret, false},
		"nothing in the header": {http.Header{}, body, secret, false},
	} {
		err := slack.Verify(c.secret, c.header, c.body)
		if (err == nil) != c.ok || err != nil && fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzR71_Signature(f *testing.F) {
	f.Add("v0=00", "1700000000", []byte("{}"))
	f.Add("v0="+hex.EncodeToString(make([]byte, 32)), strconv.FormatInt(time.Now().Unix(), 10), []byte(""))
	f.Fuzz(func(t *testing.T, signature, at string, body []byte) {
		h := http.Header{"X-Slack-Signature": {signature}, "X-Slack-Request-Timestamp": {at}}
		if slack.Verify(secret, h, body) == nil {
			t.Errorf("%q at %q passes", signature, at)
		}
	})
}

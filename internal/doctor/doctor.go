// Package doctor runs checks of the dependencies and settings of an installation.
//
// It owns the form of results, their order and time limits, and removes secrets from their texts. cmd/tsumugi has the
// checks. The package imports fault and runes.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// Language is a language of results.
type Language string

// The languages of results.
const (
	Japanese Language = "ja"
	English  Language = "en"
)

// Text is a text in both languages.
type Text struct{ JA, EN string }

// In returns the text in a language.
func (t Text) In(l Language) string {
	if l == Japanese {
		return t.JA
	}
	return t.EN
}

// State is the state of a dependency or setting.
type State string

// The states, from good to bad.
const (
	OK      State = "ok"
	Warning State = "warning"
	Failure State = "failure"
)

// Result is the result of a check.
type Result struct {
	State  State
	Found  Text
	Advice Text // A remedy. Empty if the state is OK.
}

// Found returns an OK result with a text in Japanese and English, both formatted with the same arguments.
func Found(ja, en string, args ...any) Result {
	return Result{State: OK, Found: format(ja, en, args)}
}

// format formats both texts, or returns them unchanged without arguments.
func format(ja, en string, args []any) Text {
	if len(args) == 0 {
		return Text{ja, en}
	}
	return Text{fmt.Sprintf(ja, args...), fmt.Sprintf(en, args...)}
}

// NotConfigured returns the result for a dependency that is not configured.
func NotConfigured() Result { return Found("未設定", "not configured") }

// Warn returns r with additional advice, as a warning unless it is a failure already.
func (r Result) Warn(ja, en string, args ...any) Result {
	if r.State == OK {
		r.State = Warning
	}
	advice := format(ja, en, args)
	r.Advice = Text{strings.TrimSpace(r.Advice.JA + " " + advice.JA), strings.TrimSpace(r.Advice.EN + " " + advice.EN)}
	return r
}

// Fail returns r with additional advice, as a failure.
func (r Result) Fail(ja, en string, args ...any) Result {
	r.State = Failure
	return r.Warn(ja, en, args...)
}

// Cause returns the technical cause of an error. Of a fault, it is the code and the wrapped error, without the text for
// users.
func Cause(err error) string {
	failure, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	if cause := failure.Unwrap(); cause != nil {
		return string(failure.Code) + ": " + Cause(cause)
	}
	return string(failure.Code)
}

// grace is the additional wait for a check after its time limit.
const grace = 500 * time.Millisecond

// Check is a check of one dependency or setting.
type Check struct {
	ID      string // For programs.
	Name    Text
	Subject string        // The name of the checked one if there are several, such as a model. Untrusted.
	Limit   time.Duration // Time limit. Default Options.Limit.
	Run     func(ctx context.Context) Result
}

// Report is the result of a check in one language.
type Report struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Subject string `json:"subject,omitempty"`
	State   State  `json:"state"`
	Found   string `json:"found"`
	Advice  string `json:"advice,omitempty"`
}

// Options are the options of Run.
type Options struct {
	Language Language
	Limit    time.Duration // Default time limit of a check.
	Secrets  []string      // Secrets that the reports must not contain.
}

// maxText is the maximum length of a reported text, in characters.
const maxText = 300

// Run runs the checks concurrently and returns their reports in the order of the checks. It returns soon after the
// longest time limit, even if a check continues. The reported texts are short, on one line and without secrets.
func Run(ctx context.Context, checks []Check, o Options) []Report {
	clean := cleaner(o.Secrets)
	reports := make([]Report, len(checks))
	var running sync.WaitGroup
	for i, check := range checks {
		running.Go(func() {
			r := check.result(ctx, cmp.Or(check.Limit, o.Limit))
			reports[i] = Report{
				ID: check.ID, Name: check.Name.In(o.Language), Subject: clean(check.Subject), State: r.State,
				Found: clean(r.Found.In(o.Language)), Advice: clean(r.Advice.In(o.Language)),
			}
		})
	}
	running.Wait()
	return reports
}

// result runs the check within a time limit.
func (c *Check) result(ctx context.Context, limit time.Duration) Result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan Result, 1)
	go func() { done <- c.Run(ctx) }() // A check that blocks, as on a broken disk, is left running.
	select {
	case r := <-done:
		return r
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r
	case <-time.After(grace):
		return Found("%v以内に応答がありません。", "no response within %v", limit).Fail(
			"接続先の稼働状況と、途中のネットワークを確認してください。", "Check that it runs, and the network between.")
	}
}

// minSecret is the minimum length of a removed secret. Replacing shorter texts would make results illegible.
const minSecret = 4

// cleaner returns a function that shortens an untrusted text and removes control characters and secrets, also in their
// forms in URLs.
func cleaner(secrets []string) func(string) string {
	var forms []string
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			forms = append(forms, secret, url.QueryEscape(secret), url.PathEscape(secret))
		}
	}
	// The longest first, because one may be the beginning of another.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, "…")
	}
	replacer := strings.NewReplacer(pairs...)
	return func(text string) string { return runes.OneLine(replacer.Replace(text), maxText) }
}

// Command loadgen puts load on a running server whose model is test/fakes/model, and checks that no text is lost or
// repeated:
//
//	fakemodel --listen 127.0.0.1:9911 &
//	OPENAI_BASE_URL=http://127.0.0.1:9911/v1 TSUMUGI_DEMO_PASSWORD=Tsumugi-Demo-1 \
//		TSUMUGI_LIMITS=off bin/tsumugi serve &
//	loadgen --url http://127.0.0.1:8080 --password Tsumugi-Demo-1 deliver --streams 10000
//
// Every client uses clients/go. It reconnects after the time that the server requests, and resumes at its cursor. Its
// text must equal the stored one byte for byte, and must arrive without gaps and repetitions. The exit status is 1 if a
// text differs, or if the server did not behave as the scenario requires. docs/benchmarks.md describes the scenarios.
// Command loadgen is not part of the product. It imports clients/go, bench/wire and internal/llm/llmtest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

// options are the flags. A scenario accepts the flags in its usage text.
type options struct {
	url, email, password string
	pid                  int
	metrics              string
	json                 string

	streams  int
	answers  int
	rate     float64
	duration time.Duration
	chats    int
}

// scenario is a kind of load.
type scenario struct {
	name  string
	about string
	flags func(f *flag.FlagSet, o *options)
	run   func(ctx context.Context, l *load) error
}

func scenarios() []scenario {
	streams := func(f *flag.FlagSet, o *options, n int) { f.IntVar(&o.streams, "streams", n, "clients who watch") }
	answers := func(f *flag.FlagSet, o *options, n int) {
		f.IntVar(&o.answers, "answers", n, "answers that they watch, by turns")
	}
	rate := func(f *flag.FlagSet, o *options, r float64) {
		f.Float64Var(&o.rate, "rate", r, "tokens a second of an answer")
	}
	duration := func(f *flag.FlagSet, o *options, d time.Duration) {
		f.DurationVar(&o.duration, "duration", d, "how long it is measured")
	}
	return []scenario{
		{
			"idle", "clients watch answers on which next to nothing happens: memory and CPU of the server (R76)",
			func(f *flag.FlagSet, o *options) {
				streams(f, o, 10_000)
				answers(f, o, 10)
				duration(f, o, 30*time.Second)
			}, idle,
		},
		{
			"deliver", "tokens come to many clients at a steady rate: the time that each takes (R77)",
			func(f *flag.FlagSet, o *options) {
				streams(f, o, 10_000)
				answers(f, o, 100)
				rate(f, o, 3)
				duration(f, o, 30*time.Second)
			}, deliver,
		},
		{
			"drop", "all connections break at once, and come back: how long it takes until all have all (R31)",
			func(f *flag.FlagSet, o *options) {
				streams(f, o, 2000)
				answers(f, o, 20)
				rate(f, o, 20)
				duration(f, o, 20*time.Second)
			}, drop,
		},
		{"mixed", "people ask, watch twice, lose connections, stop, list and delete: memory and goroutines stay as " +
			"they are (R78)", func(f *flag.FlagSet, o *options) {
			f.IntVar(&o.chats, "chats", 50, "how many chat at once")
			rate(f, o, 50)
			duration(f, o, time.Hour)
		}, mixed},
		{
			"cap", "more clients than the server takes: those beyond are told to come back, at different times (R31)",
			func(f *flag.FlagSet, o *options) {
				streams(f, o, 100)
			}, capped,
		},
	}
}

// run parses the arguments and runs a scenario.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	var o options
	flags := flag.NewFlagSet("loadgen", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&o.url, "url", "http://127.0.0.1:8080", "the server, by plain HTTP")
	flags.StringVar(&o.email, "email", "user@demo.example", "who asks")
	flags.StringVar(&o.password, "password", "", "that person's password")
	flags.IntVar(&o.pid, "pid", 0,
		"the server's process, to read its memory and CPU from /proc; else they come from its metrics")
	flags.StringVar(&o.metrics, "metrics", "", "where the server's metrics are, if not at /metrics of the URL")
	flags.StringVar(&o.json, "json", "", "write the results to this file")
	flags.Usage = func() {
		_, _ = fmt.Fprint(progress, "usage: loadgen [flags] scenario [flags of the scenario]\n\n")
		for _, s := range scenarios() {
			_, _ = fmt.Fprintf(progress, "  %-8s %s\n", s.name, s.about)
		}
		_, _ = fmt.Fprintln(progress)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, s := range scenarios() {
		if s.name != flags.Arg(0) {
			continue
		}
		own := flag.NewFlagSet("loadgen "+s.name, flag.ContinueOnError)
		own.SetOutput(progress)
		s.flags(own, &o)
		if err := own.Parse(flags.Args()[1:]); err != nil {
			return err
		}
		if own.NArg() > 0 {
			return fmt.Errorf("unexpected argument %q", own.Arg(0))
		}
		return start(ctx, s, o, out, progress)
	}
	flags.Usage()
	if flags.NArg() == 0 {
		return errors.New("name a scenario")
	}
	return fmt.Errorf("no scenario is called %q", flags.Arg(0))
}

// start signs in and runs a scenario.
func start(ctx context.Context, s scenario, o options, out, progress io.Writer) error {
	if files := wire.RaiseFileLimit(); files > 0 && o.streams+100 > files {
		return fmt.Errorf("%d streams need more than the %d open files that this process may have", o.streams, files)
	}
	if o.streams < 0 || o.answers < 0 || o.rate < 0 || o.duration < 0 || o.chats < 0 {
		return errors.New("a number is negative")
	}
	address, err := wire.Address(o.url)
	if err != nil {
		return err
	}
	url, caller := "http://"+address, wire.Caller()
	defer caller.CloseIdleConnections()
	client := &tsumugi.Client{URL: url, Token: tsumugi.Password(url, o.email, o.password, caller), HTTP: caller}
	l := newLoad(o, client, progress)
	if l.skill, err = client.ChatSkill(ctx); err != nil {
		return err
	}
	stop := l.showProgress(ctx)
	err = s.run(ctx, l)
	stop()
	l.count()
	l.report.Scenario, l.report.URL = s.name, url
	l.report.write(out)
	if o.json != "" {
		err = errors.Join(err, l.report.save(o.json))
	}
	return errors.Join(err, l.report.failure())
}

// Command bench measures Tsumugi against the goals of docs/benchmarks.md, and against peers in the same run. It starts
// every server as a separate process on 127.0.0.1 and generates load in this process. It reads the server's CPU time
// and memory from /proc, so it runs on Linux only. `just bench` builds the programs and runs it.
//
// It is not part of the product. It imports package stream and the peers, which it measures.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/bench/wire"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// section is a part of a run.
type section struct {
	name string
	run  func(ctx context.Context, b *bench) error
}

// sections returns the parts of a run in order. Measurements of a single person come first, while the machine is idle.
// See docs/benchmarks.md.
func sections() []section {
	return []section{
		{"one", measureOne},
		{"tools", measureTools},
		{"start", measureStart},
		{"browser", measureBrowser},
		{"panel", measurePanel},
		{"chat", measureChat},
		{"burst", measureBurst},
		{"paced", measurePaced},
		{"idle", measureIdle},
		{"stalled", measureStalled},
		{"resume", measureResume},
		{"nats", measureNATS},
		{"takeover", measureTakeover},
		{"signin", measureSignIn},
		{"search", measureSearch},
		{"retrieve", measureRetrieve},
		{"project", measureProject},
		{"documents", measureDocuments},
		{"slack", measureSlack},
		{"backup", measureBackup},
	}
}

// bench is one run.
type bench struct {
	tsumugi   string // Path of a program, as is fakemodel.
	fakemodel string
	aisdk     string // Folder of the peer on Node.js, with its packages.
	scripts   string // Folder of the browser's parts.
	rounds    int
	quick     bool
	dir       string // Temporary folder, removed at the end of the run.
	cache     string // Folder of compiled PDFium.
	progress  io.Writer
	began     time.Time
	report    report
}

// say prints the progress of the run.
func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, "%5.0f s  "+format+"\n", append([]any{time.Since(b.began).Seconds()}, args...)...)
}

// run parses the arguments and measures. The argument "peer" is for child processes that the command starts itself.
func run(ctx context.Context, args []string, in io.Reader, out, progress io.Writer) error {
	if len(args) == 2 && args[0] == "peer" {
		var s spec
		if err := json.Unmarshal([]byte(args[1]), &s); err != nil {
			return err
		}
		return runPeer(ctx, s, in, out)
	}
	wire.RaiseFileLimit()
	all := make([]string, 0, len(sections()))
	for _, s := range sections() {
		all = append(all, s.name)
	}
	b := &bench{progress: progress}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&b.tsumugi, "tsumugi", "bin/tsumugi", "the server's program")
	flags.StringVar(&b.fakemodel, "fakemodel", ".cache/bench/fakemodel", "the model's program")
	flags.StringVar(&b.aisdk, "aisdk", ".cache/bench/aisdk", "the folder of the peer on Node, with its packages")
	flags.StringVar(&b.scripts, "browser-scripts", "web/bench", "the folder of the browser's parts")
	flags.IntVar(&b.rounds, "rounds", 3, "how often everything but the browser is measured")
	flags.BoolVar(&b.quick, "quick", false, "take two minutes, once through, to see that it works")
	only := flags.String("only", strings.Join(all, ","), "what to measure")
	file := flags.String("json", "", "write the results, with those of every round, to this file")
	docs := flags.String("docs", "",
		"write the tables into the page of this name with .md, and plots into the folder of this name")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	wanted := strings.Split(*only, ",")
	for _, name := range wanted {
		if !slices.Contains(all, name) {
			return fmt.Errorf("--only: no section is called %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	if b.quick {
		b.rounds = 1
	}
	if b.rounds < 1 {
		return errors.New("--rounds must be 1 or more")
	}
	err := b.measure(ctx, wanted)
	b.report.write(out) // After a failure, prints the results before it.
	if *file != "" {
		err = errors.Join(err, b.report.save(*file))
	}
	if *docs != "" && err == nil {
		err = b.report.publish(*docs)
	}
	return err
}

// compilePDFium compiles PDFium for all servers of the run. Otherwise the first one would do it during a measurement,
// as after an installation.
func (b *bench) compilePDFium(ctx context.Context) error {
	b.cache = filepath.Join(b.dir, "compiled")
	if err := os.Mkdir(b.cache, 0o755); err != nil { //nolint:gosec // It contains no secrets.
		return err
	}
	folder, err := os.Open(b.cache)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	b.say("Compiling PDFium")
	//nolint:gosec // The program is the measured one.
	compile := exec.CommandContext(ctx, b.tsumugi, "extract", `{"task":"compile","cpu":3600}`)
	compile.ExtraFiles = []*os.File{folder}
	if out, err := compile.CombinedOutput(); err != nil { // Earlier versions cannot.
		b.say("PDFium is compiled by each server: %v: %s", err, out)
	}
	return nil
}

func (b *bench) measure(ctx context.Context, wanted []string) error {
	dir, err := os.MkdirTemp("", "tsumugi-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// A database started by root runs as another user, who must be able to reach its folder.
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // It contains no secrets.
		return err
	}
	b.dir, b.began = dir, time.Now()
	if err := b.compilePDFium(ctx); err != nil {
		return err
	}
	b.report = report{Machine: thisMachine(), Began: now(), Rounds: b.rounds, Quick: b.quick}
	var failed []error
	for _, s := range sections() {
		if !slices.Contains(wanted, s.name) || ctx.Err() != nil {
			continue
		}
		if err := s.run(ctx, b); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	b.say("Done in %s", time.Since(b.began).Round(time.Second))
	return errors.Join(append(failed, ctx.Err())...)
}

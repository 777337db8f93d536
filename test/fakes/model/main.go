// Command fakemodel serves an OpenAI-compatible model that follows directives in the question, for browser tests,
// benchmarks and trials without a provider.
//
//	fakemodel --listen 127.0.0.1:9911 --tokens-per-second 50
//	OPENAI_BASE_URL=http://127.0.0.1:9911/v1 OPENAI_API_KEY=test OPENAI_MODEL=tsumugi-test tsumugi serve
//
// A question may carry a directive such as
//
//	@script {"chars": 6000, "tokens_per_second": 200}
//	@script {"numbered": 300, "tokens_per_second": 50}
//	@script {"fail": "error", "fail_after": 120}
//	@script {"stall_after": 50}
//	@script {"status": 429, "retry_after": 1, "times": 2, "key": "once"}
//
// whose fields are described at llmtest.Directive. The answer to a question without a directive is 600 characters of
// Markdown. Requests for a title are answered without delay. fakemodel is not part of the product. It imports packages
// fakes and llmtest and the standard library.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/fakes"
)

func main() { fakes.Main("fakemodel", run) }

// headerTimeout is also the maximum idle time of a connection. It is long, because clients keep idle connections.
const headerTimeout = 5 * time.Minute

// run serves until ctx is cancelled. Its output is the base URL.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("fakemodel", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9911", "address to serve on; port 0 takes a free one")
	rate := flags.Float64("tokens-per-second", 50,
		"pace of an answer whose directive names none; 0 is as fast as possible")
	if err := fakes.Parse(flags, args); err != nil {
		return err
	}
	if *rate < 0 {
		return errors.New("--tokens-per-second is negative")
	}
	var pace time.Duration
	if *rate > 0 {
		pace = time.Duration(float64(time.Second) / *rate)
	}
	return fakes.Serve(ctx, *listen, headerTimeout, stdout, func(url string) (http.Handler, string, error) {
		return llmtest.NewHandler(pace), url + "/v1\n", nil
	})
}

// Command fakeslack serves a fake Slack workspace for trials and browser tests without Slack.
//
//	fakeslack --listen 127.0.0.1:9913 --app http://localhost:8080
//
// It prints its address for a browser, followed by the settings that connect a Tsumugi server with it. The people are
// those of package slack's Demo; --email changes the mail address of one of them to that of a member of the server. The
// command is not part of the product. It imports packages fakes and slack and the standard library.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/test/fakes"
	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
)

// headerTimeout bounds the idle time of a connection. It is long because clients keep idle connections.
const headerTimeout = 5 * time.Minute

func main() { fakes.Main("fakeslack", run) }

// run serves until ctx ends. The first line of its output contains the address.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	config := slack.Demo()
	flags := flag.NewFlagSet("fakeslack", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9913", "address to listen on; port 0 selects a free port")
	server := flags.String("app", "", "`address` of the server that receives the events, such as http://localhost:8080")
	flags.BoolVar(&config.Apps[0].SocketMode, "socket-mode", false, "deliver events by WebSocket instead of HTTP")
	flags.BoolVar(&config.Tiers, "tiers", true, "refuse calls beyond Slack's rate tiers")
	flags.Func("email", "`name=address` of one of the people; may be repeated", func(text string) error {
		return address(config.Teams[0].People, text)
	})
	if err := fakes.Parse(flags, args); err != nil {
		return err
	}
	if *server != "" {
		config.Apps[0].Connect(*server)
	}
	workspace := slack.New(config)
	defer workspace.Close()
	return fakes.Serve(ctx, *listen, headerTimeout, stdout, func(url string) (http.Handler, string, error) {
		workspace.SetURL(url)
		return workspace, greeting(url, config.Apps[0]), nil
	})
}

// address changes the mail address of a person.
func address(people []slack.Person, text string) error {
	name, mail, ok := strings.Cut(text, "=")
	for i := range people {
		if ok && people[i].Name == name && mail != "" {
			people[i].Email = mail
			return nil
		}
	}
	return fmt.Errorf("%q is not name=address of one of the people", text)
}

func greeting(url string, app slack.App) string {
	text := fmt.Sprintf("%s\n  SLACK_API_URL=%s/api/\n  SLACK_SIGNING_SECRET=%s\n  SLACK_BOT_TOKEN=%s\n",
		url, url, app.SigningSecret, slack.DemoToken)
	if app.SocketMode {
		text += "  SLACK_APP_TOKEN=" + app.AppToken + "\n"
	}
	return text
}

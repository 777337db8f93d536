// Command fakeslack serves a Slack workspace in small, for trials and browser tests without Slack.
//
//	fakeslack --listen 127.0.0.1:9913 --app http://localhost:8080
//
// It prints its address, which a browser can open, and below it the settings that connect a server with it. The people
// are those of package slack's Demo; --email gives one of them another address, so that it belongs to a member of the
// server. It is not part of the product; it imports packages fakes and slack and the standard library.
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

// headerTimeout is how long a connection may be idle: clients keep some in reserve.
const headerTimeout = 5 * time.Minute

func main() { fakes.Main("fakeslack", run) }

// run serves until ctx ends. Its output begins with the address.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	config := slack.Demo()
	flags := flag.NewFlagSet("fakeslack", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:9913", "address to serve on; port 0 takes a free one")
	server := flags.String("app", "", "`address` of the server that gets the events, such as http://localhost:8080")
	flags.BoolVar(&config.Apps[0].SocketMode, "socket-mode", false, "deliver by WebSocket, to no address")
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

// address gives a person another mail address.
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

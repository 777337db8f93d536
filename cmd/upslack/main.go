// Command upslack runs a server that is connected to a fake Slack workspace, which it also serves. Developers mention
// the assistant on a page of the workspace and watch it answer, without Slack.
//
//	upslack --listen 127.0.0.1:8080 --slack 127.0.0.1:9913
//
// The two demo users of the server are also people of the workspace, with the same mail addresses. The server links
// them at their first question. upslack is not part of the product. It imports packages test/cluster, test/fakes/slack
// and clients/go.
package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
	"github.com/tsumugi-ai/tsumugi/test/cluster"
	"github.com/tsumugi-ai/tsumugi/test/fakes/slack"
)

const (
	connectTimeout = time.Minute      // Until the server is connected to the workspace.
	stopTimeout    = 45 * time.Second // For stopping the server; answers in progress get 30 s.
	headerTimeout  = 5 * time.Minute  // Also the maximum idle time of a connection to the workspace.

	admin, user = "admin@demo.example", "user@demo.example" // The demo users.
	password    = "Slack-demo-1"                            //nolint:gosec // The demo users' password is public.
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends this process and its child at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:], os.Environ(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "upslack:", err)
		os.Exit(1)
	}
}

// command holds the command-line flags.
type command struct {
	Listen  string `default:"127.0.0.1:8080" help:"Address and port of the server."`
	Slack   string `default:"127.0.0.1:9913" help:"Address and port of the workspace; port 0 selects a free port."`
	Data    string `default:"./data/slack" type:"path" help:"Folder for the server's data. Do not use it for other servers, because the password of its demo users is public."`
	Socket  bool   `name:"socket-mode" help:"Deliver events by WebSocket (Socket Mode), for a server behind a firewall."`
	Program string `default:"bin/tsumugi" type:"path" help:"The built server."`
}

// run runs the server and the workspace until ctx is cancelled.
func run(ctx context.Context, args, environ []string, stdout io.Writer) error {
	var cmd command
	helped := false
	parser, err := kong.New(&cmd, kong.Name("upslack"), kong.Writers(stdout, stdout),
		kong.Exit(func(int) { helped = true }),
		kong.Description("A Tsumugi server that is connected to a fake Slack workspace. Other settings "+
			"of the server are taken from the environment; tsumugi serve --help lists them."))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); helped || err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", cmd.Slack)
	if err != nil {
		return err
	}
	workspace := slack.New(cmd.workspace())
	workspace.SetURL("http://" + listener.Addr().String())
	server := &http.Server{Handler: workspace, ReadHeaderTimeout: headerTimeout}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) }) // Returns http.ErrServerClosed after Close.
	defer func() {
		workspace.Close()
		_ = server.Close() // No state has to be saved.
		serving.Wait()
	}()
	return cmd.serve(ctx, workspace, environ, stdout)
}

// workspace returns the demo workspace, with the demo users of the server as its first two people.
func (cmd *command) workspace() slack.Config {
	config := slack.Demo()
	config.Tiers = true
	config.App.SocketMode = cmd.Socket
	config.App.Server = "http://" + cmd.Listen
	people := config.People
	people[0].RealName, people[0].Email = "管理 花子", admin
	people[1].RealName, people[1].Email = "山田 太郎", user
	return config
}

// serve runs the server until ctx is cancelled.
func (cmd *command) serve(ctx context.Context, workspace *slack.Workspace, environ []string, out io.Writer) error {
	say := func(text string) { _, _ = fmt.Fprintln(out, "  "+text) } // An error cannot be reported anywhere else.
	say("起動しています …")
	key, err := secretKey(cmd.Data)
	if err != nil {
		return err
	}
	app := slack.Demo().App
	environ = append(environ, "TSUMUGI_SECRET_KEY="+key, "TSUMUGI_DEMO_PASSWORD="+password,
		"SLACK_API_URL="+workspace.URL()+"/api/", "SLACK_BOT_TOKEN="+slack.DemoToken,
		"SLACK_SIGNING_SECRET="+app.SigningSecret, "SLACK_CLIENT_ID="+app.ClientID,
		"SLACK_CLIENT_SECRET="+app.ClientSecret)
	if cmd.Socket {
		environ = append(environ, "SLACK_APP_TOKEN="+app.AppToken)
	}
	log := filepath.Join(cmd.Data, "tsumugi.log")
	process, err := cluster.Launch(ctx, cluster.ProcessConfig{
		Program: cmd.Program, Listen: cmd.Listen, Data: cmd.Data, Log: log, Environ: environ,
	})
	if err != nil {
		return err
	}
	err = link(ctx, "http://"+cmd.Listen)
	if err == nil {
		say("試験場         " + workspace.URL() + "  チャンネル「営業」で @Tsumugi に質問できます")
		say("つむぎ         http://" + cmd.Listen + "  " + admin + " と " + user + "、パスワード " + password)
		say("ログ           " + log)
		select {
		case <-ctx.Done():
		case <-process.Exited():
			return errors.New("the server has ended: see " + log)
		}
		say("終了しています …（書きかけの回答を最大 30 秒待ちます）")
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return errors.Join(err, process.Stop(stopping))
}

// secretKey returns the key that encrypts secrets in the server's database. The first start generates it.
func secretKey(data string) (string, error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return "", err
	}
	name := filepath.Join(data, "secret.key")
	text, err := os.ReadFile(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return strings.TrimSpace(string(text)), err
	}
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // Never fails.
	key := base64.StdEncoding.EncodeToString(raw)
	return key, os.WriteFile(name, []byte(key+"\n"), 0o600)
}

// link waits until the server is connected to its workspace, and enables linking of people by their mail addresses.
func link(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	client := tsumugi.Client{URL: server, HTTP: plain, Token: tsumugi.Password(server, admin, password, plain)}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var config struct {
			Workspace *struct{} `json:"workspace"`
		}
		if err := client.Call(ctx, http.MethodGet, "/v1/slack-config", nil, &config); err != nil {
			return fmt.Errorf("asking for the workspace: %w", err)
		}
		if config.Workspace != nil {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the server does not find its workspace: %w", ctx.Err())
		}
	}
	policy := map[string]any{"auto_link": true, "shared_channels": false, "channels": []string{}}
	if err := client.Call(ctx, http.MethodPut, "/v1/slack-config", map[string]any{"policy": policy}, nil); err != nil {
		return err
	}
	// A member's first sign-in confirms the mail address.
	for _, email := range []string{admin, user} {
		client := tsumugi.Client{URL: server, HTTP: plain, Token: tsumugi.Password(server, email, password, plain)}
		if err := client.Call(ctx, http.MethodGet, "/v1/me", nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// Command tsumugi is the server: API, app, user pool, model client and, if no database is configured, an embedded one.
//
// It is the only package that imports both the domains and their implementations: it reads the configuration and
// wires them together.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once, without a graceful stop.
	context.AfterFunc(ctx, stop)
	if err := runWithInput(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "tsumugi:", err)
		os.Exit(1)
	}
}

// commands are the commands of the program.
type commands struct {
	CAFile string `name:"ca-file" env:"TSUMUGI_CA_FILE" type:"path" placeholder:"FILE" help:"PEM file with certificate authorities that every TLS connection accepts in addition to those of the system."`

	Serve        serveCommand        `cmd:"" help:"Start the server: the app, the API and everything they need."`
	Ready        readyCommand        `cmd:"" help:"Check that the server at TSUMUGI_LISTEN is ready, as a container's health check."`
	Migrate      migrateCommand      `cmd:"" help:"Bring the schema of the database at DATABASE_URL up to date, and stop."`
	Backup       backupCommand       `cmd:"" help:"Copy the database and the files into a folder or a bucket, while servers run."`
	Restore      restoreCommand      `cmd:"" help:"Restore a backup into an empty database and an empty folder or bucket, or rehearse that."`
	Org          organizationCommand `cmd:"" help:"Organizations."`
	Contract     contractCommand     `cmd:"" help:"Contracts of organizations."`
	User         userCommand         `cmd:"" help:"Members of organizations."`
	Notification notificationCommand `cmd:"" help:"Notices to members."`
	Skill        skillCommand        `cmd:"" help:"Skills of organizations."`
	Keys         keysCommand         `cmd:"" help:"Keys that sign tokens."`
	Secret       secretCommand       `cmd:"" help:"The key that encrypts secrets in the database."`
	Slack        slackCommand        `cmd:"" help:"Organizations' Slack workspaces."`
	Doctor       doctorCommand       `cmd:"" help:"Check everything that is configured, and print what to do about each problem."`
	Audit        auditCommand        `cmd:"" help:"Show the audit log: who did what to whom, when and from where."`
	Extract      extractCommand      `cmd:"" hidden:"" help:"Extract the text of an uploaded file, as a child process of the server."`
	Version      versionCommand      `cmd:"" help:"Print the version, the commit, the version of the schema and that of Go."`
}

// output is the writer for a command's result. Logs are written to logOutput.
type output struct{ io.Writer }

// input is the reader from which a command reads secrets that must not be on its command line.
type input struct{ io.Reader }

// exit is the parser's request to end the program with a status.
type exit int

// runWithInput runs one command. It reads environment variables from environ only.
func runWithInput(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	var cli commands
	parser, err := kong.New(&cli,
		kong.Name("tsumugi"),
		kong.Description(
			"Tsumugi (紡) is an AI assistant workspace for organizations. Every setting is a flag and an environment "+
				"variable.",
		),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(exit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 110, ValueFormatter: kong.DefaultHelpValueFormatter}),
		kong.Resolvers(environment(environ)),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&input{stdin}, &output{stdout}, &logOutput{stderr}, variables(environ)),
	)
	if err != nil {
		return err
	}
	defer func() {
		switch v := recover().(type) {
		case nil:
		case exit:
			if v != 0 {
				err = fmt.Errorf("exit status %d", int(v))
			}
		default:
			panic(v)
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if err := checkEnvironment(parser.Model, environ); err != nil {
		return err
	}
	command, err := parser.Parse(args)
	if err != nil {
		return err
	}
	if err := trust(cli.CAFile); err != nil {
		return err
	}
	return command.Run()
}

// prefix begins the names of this program's own environment variables.
const prefix = "TSUMUGI_"

// variables are the environment of the program.
type variables []string

func (v variables) lookup(name string) (string, bool) { return lookup(v, name) }

// environment resolves flags from environ.
func environment(environ []string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, name := range flag.Envs {
			if value, found := lookup(environ, name); found && value != "" {
				return value, nil
			}
		}
		return nil, nil
	})
}

func lookup(environ []string, name string) (string, bool) {
	for _, entry := range slices.Backward(environ) {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value, true
		}
	}
	return "", false
}

var errUnknownSetting = errors.New("unknown setting")

// checkEnvironment returns an error for a variable with the prefix that matches no flag, because it is probably
// misspelt.
func checkEnvironment(model *kong.Application, environ []string) error {
	known := make(map[string]bool)
	for _, command := range model.Leaves(false) {
		for _, flags := range command.AllFlags(false) {
			for _, flag := range flags {
				for _, name := range flag.Envs {
					known[name] = true
				}
			}
		}
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, prefix+"TEST_") && !known[name] {
			return fmt.Errorf("%w %s; tsumugi serve --help lists them all", errUnknownSetting, name)
		}
	}
	return nil
}

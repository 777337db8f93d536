// Command zitadel runs the example server of zitadel/oidc, an OpenID provider, for tests and demonstrations.
//
// Its arguments are the address to listen on, the redirect URI of the only client, and the mail addresses of the people
// who can sign in. The client has the id "tsumugi" and the secret "secret"; each person's name is their mail address and
// their password is "password". It prints the issuer. It is a separate Go module, so that the provider's libraries are
// not in the server's go.mod.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "zitadel:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("the arguments are an address, a redirect URI and mail addresses, not %q", args)
	}
	users, err := people(args[2:])
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	issuer := "http://" + listener.Addr().String()
	storage.RegisterClients(storage.WebClient("tsumugi", "secret", args[1]))
	server := &http.Server{
		Handler:           exampleop.SetupServer(issuer, storage.NewStorage(users), slog.New(slog.DiscardHandler), false),
		ReadHeaderTimeout: 10 * time.Second,
	}
	fmt.Println("issuer", issuer)
	return server.Serve(listener)
}

// people returns the people who can sign in. The package storage reads them from a file only.
func people(addresses []string) (storage.UserStore, error) {
	users := make(map[string]storage.User)
	for i, address := range addresses {
		id := fmt.Sprintf("person-%d", i)
		users[id] = storage.User{
			ID: id, Username: address, Password: "password", FirstName: "Person", LastName: fmt.Sprint(i), Email: address,
			EmailVerified: true,
		}
	}
	text, err := json.Marshal(users)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "zitadel-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "users.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	return storage.StoreFromFile(file)
}

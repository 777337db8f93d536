package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/store"
)

// account is a user created by this start, with the password that is shown once.
type account struct {
	email, name, password string
	role                  identity.Role
}

// makeDemo creates the demo organization with its two users, unless users exist. With password "" it generates
// passwords.
func makeDemo(ctx context.Context, db *store.DB, users *pool.Pool, password string) ([]account, error) {
	count, err := db.CountUsers(ctx)
	if err != nil || count > 0 {
		return nil, err
	}
	organization := org.Organization{
		ID: uuidv7.New(), Name: "デモ株式会社", AuthType: string(identity.AuthCognito),
		MailDomains: []string{"demo.example"},
	}
	accounts := []account{
		{email: "admin@demo.example", name: "管理 花子", role: identity.RoleOrganizationSuperAdmin},
		{email: "user@demo.example", name: "山田 太郎", role: identity.RoleGeneralUser},
	}
	members := make([]identity.NewUser, len(accounts))
	for i := range accounts {
		a := &accounts[i]
		if a.password = password; password == "" {
			a.password = pool.GeneratePassword()
		}
		subject, err := poolUser(ctx, users, *a)
		if err != nil {
			return nil, fmt.Errorf("--demo-password (TSUMUGI_DEMO_PASSWORD): %w", err)
		}
		members[i] = identity.NewUser{
			ID: uuidv7.New(), OrganizationID: organization.ID, Subject: subject.String(), Email: a.email, Name: a.name,
			Role:     a.role,
			AuthType: identity.AuthCognito,
		}
	}
	// The database transaction comes last, so that the next start repeats an interrupted creation completely.
	if err := db.CreateOrganizationWithMembers(ctx, organization, members); err != nil {
		return nil, err
	}
	return accounts, db.PublishNotification(ctx, org.Notification{
		ID: uuidv7.New(), OrganizationID: &organization.ID, Level: org.LevelInfo, Title: "Tsumugiへようこそ",
		Body: "入力欄に質問を書くか、スキルを選んで始めてください。回答は、作成中もリアルタイムで表示されます。ページを離れても作成は続きます。戻ったときに続きを読めます。",
	})
}

// poolUser creates the account in the user pool and returns its subject. An interrupted start may have created it
// already.
func poolUser(ctx context.Context, users *pool.Pool, a account) (uuid.UUID, error) {
	subject, err := users.CreateUser(ctx, pool.NewUser{Email: a.email, Name: a.name, PermanentPassword: a.password})
	if fault.CodeOf(err) != fault.Conflict {
		return subject, err
	}
	existing, err := users.UserByEmail(ctx, a.email)
	if err != nil {
		return uuid.Nil, err
	}
	return existing.Sub, users.SetPassword(ctx, existing.Sub, a.password, true)
}

// printWelcome prints the address and, once, the first sign-in.
func printWelcome(out io.Writer, address string, made []account) error {
	var b strings.Builder
	b.WriteString("\n  Tsumugi (紡)  " + address + "\n\n")
	if len(made) > 0 {
		b.WriteString("  最初のログイン（パスワードはここにだけ表示されます）\n")
		for _, a := range made {
			fmt.Fprintf(&b, "    %-20s %s\n", a.email, a.password)
		}
		b.WriteString("\n")
	}
	b.WriteString("  終了するには Ctrl-C を押してください。\n\n")
	_, err := io.WriteString(out, b.String())
	return err
}

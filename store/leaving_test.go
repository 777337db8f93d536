package store_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestEveryTableIsExportedOrLeftOut fails when a migration adds a table, so that its author decides whether it belongs to
// an export. It also fails when the guides lack a field.
func TestEveryTableIsExportedOrLeftOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := must.Get(f.sql.Query(t.Context(), `
		SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
		  AND relname <> 'schema_version'`))(t)
	tables := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
	listed, others := store.ExportTables()
	for name, reason := range others {
		if reason == "" {
			t.Errorf("the reason for leaving out %s is missing", name)
		}
		listed = append(listed, name)
	}
	slices.Sort(listed)
	slices.Sort(tables)
	if !slices.Equal(listed, tables) {
		t.Errorf("store/export.go has the tables\n%v\nand the database\n%v", listed, tables)
	}
	for _, name := range []string{"README.en.md", "README.ja.md"} {
		guide := must.Get(os.ReadFile("../internal/backup/export/" + name))(t)
		for kind, sql := range store.ExportQueries() {
			if !strings.Contains(string(guide), kind+".jsonl") {
				t.Errorf("%s lacks %s.jsonl", name, kind)
			}
			rows := must.Get(f.sql.Query(t.Context(), sql, f.a))(t)
			for _, field := range rows.FieldDescriptions() {
				if !strings.Contains(string(guide), "`"+field.Name+"`") {
					t.Errorf("%s lacks the field %s of %s", name, field.Name, kind)
				}
			}
			rows.Close()
			must.Succeed(t, rows.Err())
		}
	}
}

// TestDeletionContinuesAfterACrash: two servers each delete a part of an organization. The certificate is stored
// after the accounts and the files are deleted.
func TestDeletionContinuesAfterACrash(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 60 { // More than a batch.
		f.thread(t, f.ann)
	}
	f.thread(t, f.mallory)
	f.exec(t, `INSERT INTO data_sources (id, organization_id, user_id, filename, media_type, size, sha256)
		VALUES (gen_random_uuid(), $1, $2, 'a.txt', 'text/plain', 1, sha256('a'))`, f.a, f.ann.UserID)
	var signed org.Deletion
	certify := func(d org.Deletion) (string, error) {
		signed = d
		return "{}", nil
	}
	if more, err := f.DeleteBatch(t.Context(), f.a); more || err != nil {
		t.Fatalf("without a request: %v, %v", more, err)
	}
	must.Get(f.RequestDeletion(t.Context(), f.a, org.DeletionGrace, org.Operator("root")))(t)
	if due, err := f.DueDeletions(t.Context()); err != nil || len(due) > 0 {
		t.Fatalf("due before its time: %v, %v", due, err)
	}
	if more, err := f.DeleteBatch(t.Context(), f.a); more || err != nil {
		t.Fatalf("before its time: %v, %v", more, err)
	}
	must.Get(f.RequestDeletion(t.Context(), f.a, 0, org.Operator("root")))(t)
	if more, err := f.DeleteBatch(t.Context(), f.a); !more || err != nil {
		t.Fatalf("the first batch: %v, %v", more, err)
	}
	left := value[int](t, f, `SELECT count(*) FROM threads WHERE organization_id = $1`, f.a)
	if left == 0 || left == 60 {
		t.Fatalf("%d threads after the first batch", left)
	}
	wantCode(t, f.CancelDeletion(t.Context(), f.a, org.Operator("root")), fault.Conflict)

	other := open(t, f.dsn)
	if due, err := other.DueDeletions(t.Context()); err != nil || !slices.Equal(due, []uuid.UUID{f.a}) {
		t.Fatalf("due %v, %v", due, err)
	}
	for more := true; more; {
		more = must.Get(other.DeleteBatch(t.Context(), f.a))(t)
	}
	if done, err := other.FinishDeletion(t.Context(), f.a, certify); done || err != nil {
		t.Errorf("finished with accounts and a file: %v, %v", done, err)
	}
	changes := must.Get(other.ClaimAccountChanges(t.Context(), nil, 0, 10))(t)
	for _, c := range changes {
		if c.Member != nil {
			t.Errorf("got %+v", c)
		}
		must.Get(other.FinishAccountChange(t.Context(), c))(t)
	}
	if done, err := other.FinishDeletion(t.Context(), f.a, certify); done || err != nil {
		t.Errorf("finished with a file: %v, %v", done, err)
	}
	orphans := must.Get(other.ListOrphans(t.Context(), uuid.Nil))(t)
	must.Succeed(t, other.DeleteOrphan(t.Context(), orphans[0]))
	if done, err := other.FinishDeletion(t.Context(), f.a, certify); !done || err != nil {
		t.Errorf("not finished: %v, %v", done, err)
	}
	if len(changes) != 2 || len(orphans) != 1 || signed.Counts["threads"] != 60 || signed.Counts["members"] != 2 ||
		signed.Counts["files"] != 1 || signed.DeletesAt != nil || signed.StartedAt == nil {
		t.Errorf("%d accounts, %d files, %+v", len(changes), len(orphans), signed)
	}
	if due, err := other.DueDeletions(t.Context()); err != nil || len(due) > 0 {
		t.Errorf("still due: %v, %v", due, err)
	}
	if n := value[int](t, f, `SELECT count(*) FROM threads WHERE organization_id = $1`, f.b); n != 1 {
		t.Errorf("the other organization has %d threads", n)
	}
}

// TestLockedOrganizationKeepsItsThreads: while an organization is locked, its retention setting deletes nothing, because
// its members cannot read the notices. Afterwards, they are notified again first.
func TestLockedOrganizationKeepsItsThreads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.thread(t, f.ann)
	f.exec(t, `UPDATE organizations SET retention_days = 30, retention_since = now() - interval '90 days' WHERE id = $1`, f.a)
	f.exec(t, `UPDATE threads SET touched_at = now() - interval '80 days'`)
	f.exec(t, `UPDATE threads SET told_at = now() - interval '20 days'`)
	must.Get(f.RequestDeletion(t.Context(), f.a, org.DeletionGrace, org.Operator("root")))(t)
	for range 2 {
		if deleted, err := f.DeleteDue(t.Context(), 10); err != nil || len(deleted) > 0 {
			t.Errorf("deleted %v, %v", deleted, err)
		}
		_ = f.CancelDeletion(t.Context(), f.a, org.Operator("root"))
	}
}

// TestR91_SigningKeyIsSealed: servers share one key, which the database contains in a sealed form.
func TestR91_SigningKeyIsSealed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old, next := secret.NewKey(), secret.NewKey()
	first := must.Get(f.WithSecrets(keys(t, old)).SigningKey(t.Context()))(t)
	if text := dump(t, f); strings.Contains(text, "PRIVATE KEY") || strings.Count(text, "sealed.v1.") != 1 {
		t.Errorf("the dump is %s", text)
	}
	if _, sealed, err := f.WithSecrets(keys(t, next, old)).RotateSecrets(t.Context(),
		org.Operator("root")); err != nil || sealed != 1 {
		t.Errorf("%d were sealed again, %v", sealed, err)
	}
	second, err := f.WithSecrets(keys(t, next)).SigningKey(t.Context())
	if err != nil || !bytes.Equal(first.Public(), second.Public()) || len(first.Public()) == 0 {
		t.Errorf("another key: %v", err)
	}
	if _, err := f.SigningKey(t.Context()); err == nil {
		t.Error("the key was read without the key that seals it")
	}
}

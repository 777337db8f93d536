package store_test

import (
	"bytes"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tsumugi-ai/tsumugi/store"
)

func TestIDsAreSentAsTheirBytes(t *testing.T) {
	t.Parallel()
	types := pgtype.NewMap()
	store.EncodeUUIDs(types)
	id := uuid.Must(uuid.NewV7())
	for range 2 { // The plan is created once and reused.
		got, err := types.Encode(pgtype.UUIDOID, pgtype.BinaryFormatCode, id, nil)
		if err != nil || !bytes.Equal(got, id[:]) {
			t.Errorf("got %x, %v; want %x", got, err, id[:])
		}
	}
	got, err := types.Encode(pgtype.UUIDArrayOID, pgtype.TextFormatCode, []uuid.UUID{id}, nil)
	if err != nil || string(got) != "{"+id.String()+"}" {
		t.Errorf("a list: got %s, %v", got, err)
	}
	if got, err := types.Encode(pgtype.UUIDOID, pgtype.BinaryFormatCode, (*uuid.UUID)(nil), nil); got != nil ||
		err != nil {
		t.Errorf("no id: got %x, %v", got, err)
	}
}

func BenchmarkEncodeID(b *testing.B) {
	types := pgtype.NewMap()
	store.EncodeUUIDs(types)
	var id any = uuid.Must(uuid.NewV7())
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := types.Encode(pgtype.UUIDOID, pgtype.BinaryFormatCode, id, buf); err != nil {
			b.Fatal(err)
		}
	}
}

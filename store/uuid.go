package store

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// newID returns a UUIDv7, which sorts by time.
func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

// encodeUUIDs teaches a connection to send ids as their 16 bytes. Without it the driver takes each of them to its text,
// fails to encode that, and parses it: with six ids a query that was a tenth of what a question cost this process.
func encodeUUIDs(types *pgtype.Map) {
	types.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{wrapUUID}, types.TryWrapEncodePlanFuncs...)
}

func wrapUUID(value any) (plan pgtype.WrappedEncodePlanNextSetter, nextValue any, ok bool) {
	id, ok := value.(uuid.UUID)
	if !ok {
		return nil, nil, false
	}
	return &uuidPlan{}, toPGUUID(id), true
}

// uuidPlan passes an id on in the form that the driver knows.
type uuidPlan struct {
	next pgtype.EncodePlan
}

// SetNext implements pgtype.WrappedEncodePlanNextSetter.
func (p *uuidPlan) SetNext(next pgtype.EncodePlan) { p.next = next }

// Encode implements pgtype.EncodePlan.
func (p *uuidPlan) Encode(value any, buf []byte) ([]byte, error) {
	return p.next.Encode(toPGUUID(value.(uuid.UUID)), buf) //nolint:forcetypeassert // The plan is made for this type only.
}

func toPGUUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

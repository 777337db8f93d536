package store

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// encodeUUIDs makes a connection send ids as their 16 bytes. By default the driver formats each id as text, fails to
// encode the text, and parses it again. With six ids in a query, that took a tenth of this process's time for a
// question.
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

// uuidPlan converts an id to a pgtype.UUID, which the driver encodes directly.
type uuidPlan struct {
	next pgtype.EncodePlan
}

// SetNext implements pgtype.WrappedEncodePlanNextSetter.
func (p *uuidPlan) SetNext(next pgtype.EncodePlan) { p.next = next }

// Encode implements pgtype.EncodePlan.
func (p *uuidPlan) Encode(value any, buf []byte) ([]byte, error) {
	//nolint:forcetypeassert // The plan is made for this type only.
	return p.next.Encode(toPGUUID(value.(uuid.UUID)), buf)
}

func toPGUUID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

package store

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// lostLeases returns the ids in the rows of a renewal.
func lostLeases(rows pgx.Rows, err error) ([]uuid.UUID, error) {
	if err != nil {
		return nil, translate(err)
	}
	lost, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	return lost, translate(err)
}

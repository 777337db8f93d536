// Package timeout contains the time limits that several domains share. It imports the standard library only.
package timeout

import "time"

// Store is the time limit of a call of the database that a person waits for, so that a stalled database is detected.
const Store = 5 * time.Second

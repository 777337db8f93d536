// Package must ends a test that cannot continue after an error. It is for tests only.
package must

import "testing"

// Succeed ends the test if err is not nil.
func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

package pool

import (
	"bytes"
	"compress/gzip"
	_ "embed" // Embeds the list.
	"io"
	"slices"
	"strings"
	"sync"
)

//go:embed common/passwords.txt.gz
var commonList []byte

// commonPasswords returns the most common passwords, sorted. They are decompressed on first use.
var commonPasswords = sync.OnceValues(func() ([]string, error) {
	reader, err := gzip.NewReader(bytes.NewReader(commonList))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(reader)
	return strings.Split(string(text), "\n"), err
})

// isCommon reports whether a password is one of the most common, ignoring case. A symbol at the beginning or the end is
// ignored too, because the policy requires one: Password1! is as common as password1.
func isCommon(password string) (bool, error) {
	list, err := commonPasswords()
	if err != nil {
		return false, err
	}
	password = strings.ToLower(password)
	for _, form := range []string{password, strings.Trim(password, symbols+" ")} {
		if _, found := slices.BinarySearch(list, form); found {
			return true, nil
		}
	}
	return false, nil
}

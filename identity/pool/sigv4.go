package pool

import "crypto/rand"

// Credentials are an access key, as AWS calls what requests are signed with.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
}

// NewCredentials returns random credentials, for a process that calls its own pool.
func NewCredentials() Credentials {
	return Credentials{AccessKeyID: "TSMG" + rand.Text()[:16], SecretAccessKey: rand.Text() + rand.Text()}
}

// Package directory is how the server manages people at the identity provider: with the AWS SDK, at Amazon Cognito or at
// the embedded user pool, which speaks the same protocol.
//
// It owns no data. It imports fault and the AWS SDK.
package directory

import (
	"context"
	"errors"
	"net/http"
)

// Credentials are an access key that administrative calls are signed with.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
}

// Config is what New takes.
type Config struct {
	UserPoolID  string            // ap-northeast-1_AbCdEf123.
	Region      string            // Default: what the pool's id begins with.
	Endpoint    string            // URL of the pool. Default: AWS's.
	Transport   http.RoundTripper // Default: over the network. InProcess gives one that stays in the process.
	Credentials Credentials       // Default: what the AWS SDK finds, in the environment, its files or from the machine's role.
}

// Directory manages people at the identity provider. It is safe for concurrent use. Subjects are what the provider calls
// people: the claim sub.
//
// Errors have these codes: fault.Conflict where the address is taken, or the person's state does not allow it;
// fault.NotFound for nobody; fault.Invalid for an address or name that the provider does not take; fault.Unavailable, with
// a time after which to try again, where the provider cannot be reached, limits calls, or cannot deliver mail. Others are
// for the log: missing permissions, a pool that does not exist.
type Directory struct{}

// New returns a Directory. It calls nobody yet.
func New(cfg Config) (*Directory, error) {
	if cfg.UserPoolID == "" {
		return nil, errors.New("directory: there is no user pool id")
	}
	return &Directory{}, nil
}

var errLater = errors.New("directory: not yet")

// Invite adds a person, whom the provider sends a temporary password, and returns the subject. Somebody who was invited
// before and never signed in is sent another one.
func (d *Directory) Invite(context.Context, string, string) (subject string, err error) {
	return "", errLater
}

// Resend sends somebody who never signed in another temporary password.
func (d *Directory) Resend(context.Context, string) error { return errLater }

// Rename changes what a person is called.
func (d *Directory) Rename(context.Context, string, string) error { return errLater }

// Disable keeps a person from signing in and ends their sessions.
func (d *Directory) Disable(context.Context, string) error { return errLater }

// Enable lets a person sign in again.
func (d *Directory) Enable(context.Context, string) error { return errLater }

// Delete removes a person and ends their sessions.
func (d *Directory) Delete(context.Context, string) error { return errLater }

// InProcess returns a transport that hands requests to a handler in this process.
func InProcess(http.Handler) http.RoundTripper { return nil }

// Package directory is how the server manages people at the identity provider: with the AWS SDK, at Amazon Cognito or
// at the embedded user pool, which speaks the same protocol.
//
// It owns no data. It imports fault and the AWS SDK.
package directory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	cognito "github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider/types"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// patience limits a call with all its attempts: somebody waits for it.
const patience = 15 * time.Second

// Credentials are an access key that administrative calls are signed with.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
}

// Config is what New takes.
type Config struct {
	UserPoolID string            // ap-northeast-1_AbCdEf123.
	Region     string            // Default: what the pool's id begins with.
	Endpoint   string            // URL of the pool. Default: AWS's.
	Transport  http.RoundTripper // Default: over the network. InProcess gives one that stays in the process.
	// Default: what the AWS SDK finds, in the environment, its files or from the machine's role.
	Credentials Credentials
}

// Directory manages people at the identity provider. It is safe for concurrent use. Subjects are what the provider
// calls people: the claim sub.
//
// Errors have these codes: fault.Conflict where the address is taken, or the person's state does not allow it;
// fault.NotFound for nobody; fault.Invalid for an address or name that the provider does not take; fault.Unavailable,
// with a time after which to try again, where the provider cannot be reached, limits calls, or cannot deliver mail;
// fault.Canceled where the caller gave up. Others are for the log: missing permissions, a pool that does not exist.
type Directory struct {
	client *cognito.Client
	poolID *string
}

// New returns a Directory. It calls nobody yet; without credentials it reads what the AWS SDK is configured with.
func New(cfg Config) (*Directory, error) {
	region, _, ok := strings.Cut(cfg.UserPoolID, "_")
	if !ok || region == "" {
		return nil, errors.New("directory: the user pool id is not of the form ap-northeast-1_AbCdEf123")
	}
	if cfg.Region == "" {
		cfg.Region = region
	}
	settings := aws.Config{Region: cfg.Region}
	if cfg.Credentials != (Credentials{}) {
		settings.Credentials = credentials.NewStaticCredentialsProvider(cfg.Credentials.AccessKeyID,
			cfg.Credentials.SecretAccessKey, "")
	} else {
		var err error
		if settings, err = config.LoadDefaultConfig(context.Background(), config.WithRegion(cfg.Region)); err != nil {
			return nil, fmt.Errorf("directory: the AWS configuration: %w", err)
		}
	}
	return &Directory{poolID: aws.String(cfg.UserPoolID), client: cognito.NewFromConfig(settings,
		func(o *cognito.Options) {
			if cfg.Endpoint != "" {
				o.BaseEndpoint = aws.String(cfg.Endpoint)
			}
			if cfg.Transport != nil {
				o.HTTPClient = &http.Client{Transport: cfg.Transport}
			}
		})}, nil
}

// Invite adds a person, whom the provider sends a temporary password, and returns the subject. Somebody who was invited
// before and never signed in is sent another one: an earlier call may have got through without its answer.
func (d *Directory) Invite(ctx context.Context, email, name string) (subject string, err error) {
	err = d.do(ctx, func(ctx context.Context) error {
		subject, err = d.create(ctx, email, name, "")
		if _, taken := errors.AsType[*types.UsernameExistsException](err); !taken {
			return err
		}
		again, lookup := d.invited(ctx, email)
		if lookup != nil {
			return lookup
		}
		if again {
			subject, err = d.create(ctx, email, name, types.MessageActionTypeResend)
		}
		return err
	})
	return subject, err
}

// invited reports whether somebody has an account and never signed in.
func (d *Directory) invited(ctx context.Context, email string) (bool, error) {
	out, err := d.client.AdminGetUser(ctx, &cognito.AdminGetUserInput{UserPoolId: d.poolID, Username: &email})
	return err == nil && out.Enabled && out.UserStatus == types.UserStatusTypeForceChangePassword, err
}

// create calls AdminCreateUser and returns the subject.
func (d *Directory) create(ctx context.Context, email, name string, action types.MessageActionType) (string, error) {
	in := &cognito.AdminCreateUserInput{
		UserPoolId: d.poolID, Username: &email, MessageAction: action,
		DesiredDeliveryMediums: []types.DeliveryMediumType{types.DeliveryMediumTypeEmail},
	}
	if action == "" { // Without a verified address nobody could have another password.
		in.UserAttributes = []types.AttributeType{
			{Name: aws.String("email"), Value: &email},
			{Name: aws.String("email_verified"), Value: aws.String("true")},
			{Name: aws.String("name"), Value: &name},
		}
	}
	out, err := d.client.AdminCreateUser(ctx, in)
	if err != nil {
		return "", err
	}
	if out.User != nil {
		for _, a := range out.User.Attributes {
			if aws.ToString(a.Name) == "sub" && aws.ToString(a.Value) != "" {
				return *a.Value, nil
			}
		}
	}
	return "", errors.New("the provider named no subject")
}

// Resend sends somebody who never signed in another temporary password; the one before ends.
func (d *Directory) Resend(ctx context.Context, email string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.create(ctx, email, "", types.MessageActionTypeResend)
		return err
	})
}

// Rename changes what a person is called.
func (d *Directory) Rename(ctx context.Context, subject, name string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.client.AdminUpdateUserAttributes(ctx, &cognito.AdminUpdateUserAttributesInput{
			UserPoolId: d.poolID, Username: &subject,
			UserAttributes: []types.AttributeType{{Name: aws.String("name"), Value: &name}},
		})
		return err
	})
}

// Disable keeps a person from signing in and ends their sessions.
func (d *Directory) Disable(ctx context.Context, subject string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.client.AdminDisableUser(ctx, &cognito.AdminDisableUserInput{
			UserPoolId: d.poolID,
			Username:   &subject,
		})
		if err != nil {
			return err
		}
		_, err = d.client.AdminUserGlobalSignOut(ctx, &cognito.AdminUserGlobalSignOutInput{
			UserPoolId: d.poolID,
			Username:   &subject,
		})
		return err
	})
}

// Enable lets a person sign in again.
func (d *Directory) Enable(ctx context.Context, subject string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.client.AdminEnableUser(ctx, &cognito.AdminEnableUserInput{UserPoolId: d.poolID, Username: &subject})
		return err
	})
}

// Delete removes a person and ends their sessions.
func (d *Directory) Delete(ctx context.Context, subject string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.client.AdminDeleteUser(ctx, &cognito.AdminDeleteUserInput{UserPoolId: d.poolID, Username: &subject})
		return err
	})
}

// do runs a call, or several, within the time that somebody waits for, and returns the fault that its error is.
func (d *Directory) do(ctx context.Context, call func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := call(limited)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return fault.Wrap(err, fault.Canceled, "処理は取り消されました。")
	}
	return translate(err)
}

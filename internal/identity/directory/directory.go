// Package directory manages users at the identity provider through the AWS SDK: at Amazon Cognito, or at the embedded
// user pool, which speaks the same protocol.
//
// It stores no data. It imports fault and the AWS SDK.
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

// callTimeout limits a call including its retries, because an administrator waits for the response.
const callTimeout = 15 * time.Second

// Credentials are the access key that signs administrative calls.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
}

// Config configures a Directory.
type Config struct {
	UserPoolID string            // Such as ap-northeast-1_AbCdEf123.
	Region     string            // Default: the prefix of UserPoolID.
	Endpoint   string            // Endpoint URL. Default: AWS's.
	Transport  http.RoundTripper // Default: the network. See InProcess.
	// Default: the credential chain of the AWS SDK (environment, files, the machine's role).
	Credentials Credentials
}

// Directory manages users at the identity provider. It is safe for concurrent use. A subject is the provider's
// identifier of a user: the claim sub.
//
// Errors have these codes: fault.Conflict if the address is taken or the user's state does not allow the call;
// fault.NotFound if the user does not exist; fault.Invalid if the provider rejects the address or the name;
// fault.Unavailable, with a retry delay, if the provider cannot be reached, limits calls, or cannot deliver mail;
// fault.Canceled if the caller gave up. Other errors are misconfigurations for the log: missing permissions, a pool
// that does not exist.
type Directory struct {
	client *cognito.Client
	poolID *string
}

// New returns a Directory. It makes no calls; without credentials it loads the default configuration of the AWS SDK.
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

// Invite adds a user, to whom the provider sends a temporary password, and returns the subject. A user who was invited
// before and has never signed in is sent a new one, because the response to an earlier call may have been lost.
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

// invited reports whether a user exists and has never signed in.
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
	if action == "" { // Password recovery needs a verified address.
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

// Resend sends a new temporary password to a user who has never signed in. The old one becomes invalid.
func (d *Directory) Resend(ctx context.Context, email string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.create(ctx, email, "", types.MessageActionTypeResend)
		return err
	})
}

// Rename sets a user's name.
func (d *Directory) Rename(ctx context.Context, subject, name string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.client.AdminUpdateUserAttributes(ctx, &cognito.AdminUpdateUserAttributesInput{
			UserPoolId: d.poolID, Username: &subject,
			UserAttributes: []types.AttributeType{{Name: aws.String("name"), Value: &name}},
		})
		return err
	})
}

// Disable prevents a user from signing in and ends their sessions.
func (d *Directory) Disable(ctx context.Context, subject string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.client.AdminDisableUser(ctx, &cognito.AdminDisableUserInput{
			UserPoolId: d.poolID,
			Username:   &subject,
		})
		if err != nil {
			return err
		}
		return d.signOut(ctx, subject)
	})
}

// signOut ends all sessions of a user.
func (d *Directory) signOut(ctx context.Context, subject string) error {
	_, err := d.client.AdminUserGlobalSignOut(ctx, &cognito.AdminUserGlobalSignOutInput{
		UserPoolId: d.poolID,
		Username:   &subject,
	})
	return err
}

// ResetFactor removes the authenticator app of a user, in the embedded user pool together with its recovery codes, and
// ends their sessions, because the lost factor may just have begun one.
func (d *Directory) ResetFactor(ctx context.Context, subject string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.client.AdminSetUserMFAPreference(ctx, &cognito.AdminSetUserMFAPreferenceInput{
			UserPoolId: d.poolID, Username: &subject, SoftwareTokenMfaSettings: &types.SoftwareTokenMfaSettingsType{},
		})
		if err != nil {
			return err
		}
		return d.signOut(ctx, subject)
	})
}

// Enable lets a user sign in again.
func (d *Directory) Enable(ctx context.Context, subject string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.client.AdminEnableUser(ctx, &cognito.AdminEnableUserInput{UserPoolId: d.poolID, Username: &subject})
		return err
	})
}

// Delete removes a user and ends their sessions.
func (d *Directory) Delete(ctx context.Context, subject string) error {
	return d.do(ctx, func(ctx context.Context) error {
		_, err := d.client.AdminDeleteUser(ctx, &cognito.AdminDeleteUserInput{UserPoolId: d.poolID, Username: &subject})
		return err
	})
}

// do runs call within the time limit and translates its error to a fault.
func (d *Directory) do(ctx context.Context, call func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := call(limited)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return fault.Wrap(err, fault.Canceled, "処理は取り消されました。")
	}
	return translate(err)
}

package pool

import (
	"context"
	"errors"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
)

// Names of the challenges of the second factor, their parameters and their responses. Names with
// the prefix TSUMUGI_ are additions to Cognito's protocol.
const (
	challengeTOTP  = "SOFTWARE_TOKEN_MFA"
	challengeSetup = "MFA_SETUP"

	paramUserID   = "USER_ID_FOR_SRP"
	paramCanSetup = "MFAS_CAN_SETUP"
	paramTOTPCode = "SOFTWARE_TOKEN_MFA_CODE"
	// With a challenge: "true", because the pool has recovery codes.
	paramRecovery     = "TSUMUGI_RECOVERY"
	paramRecoveryCode = "TSUMUGI_RECOVERY_CODE"
)

// setupLifetime is the lifetime of a challenge to set up a second factor. People may have to install an app first.
const setupLifetime = 15 * time.Minute

// finishSignIn signs in a user whose password was verified, or sets the challenge for the second factor. With askFactor, it
// sets the challenge on a trusted device as well.
func (p *Pool) finishSignIn(ctx context.Context, user User, askFactor bool) (any, error) {
	factor, err := p.store.PoolFactor(timeout.Call(ctx), user.Sub)
	if err != nil {
		return nil, err
	}
	switch {
	case factor.Enabled:
		since, err := p.trustedSince(ctx, user)
		if err != nil {
			return nil, err
		}
		if since != nil && !askFactor {
			return signedIn(p.signIn(ctx, user, newSession{
				client: p.cfg.ClientID, factor: factorTrusted, authenticatedAt: since,
			}))
		}
		return p.challenge(ctx, user, challengeTOTP, p.cfg.ChallengeLifetime, map[string]string{
			paramUserID: user.Sub.String(), paramRecovery: "true",
		})
	case factor.Required && p.hasFactor(factor):
		return p.passkeyChallenge(ctx, user, map[string]string{
			paramUserID: user.Sub.String(), paramRecovery: "true",
		})
	case factor.Required:
		factors := `["` + challengeTOTP + `"]`
		if p.relyingParty != nil {
			factors = `["` + challengeTOTP + `","` + challengeWebAuthn + `"]`
		}
		return p.challenge(ctx, user, challengeSetup, setupLifetime, map[string]string{
			paramUserID: user.Sub.String(), paramCanSetup: factors, paramRecovery: "true",
		})
	}
	return signedIn(p.signIn(ctx, user, newSession{client: p.cfg.ClientID}))
}

// challenge sets a challenge for a user who has been authenticated so far.
func (p *Pool) challenge(
	ctx context.Context, user User, name string, lifetime time.Duration, params map[string]string,
) (any, error) {
	session, err := p.newChallenge(ctx, user, name, lifetime)
	if err != nil {
		return nil, err
	}
	return authAnswer{ChallengeName: name, Session: session, ChallengeParameters: params}, nil
}

// newChallenge stores a challenge and returns its session.
func (p *Pool) newChallenge(ctx context.Context, user User, name string, lifetime time.Duration) (string, error) {
	session, _ := opaque.New()
	return session, p.saveChallenge(ctx, session, user, name, lifetime)
}

// saveChallenge stores a challenge under a session. The zero User means any user.
func (p *Pool) saveChallenge(ctx context.Context, session string, user User, name string, lifetime time.Duration) error {
	now := p.now()
	err := p.store.CreateChallenge(timeout.Call(ctx), Challenge{
		Hash: opaque.Hash(session), Name: name, Sub: user.Sub, ClientID: p.cfg.ClientID, Version: user.Version,
		ExpiresAt: now.Add(lifetime),
	}, now)
	if fault.CodeOf(err) == fault.Conflict { // The user was disabled, or their password changed, after the check.
		return incorrectPassword()
	}
	return err
}

// answerFactor answers the challenge SOFTWARE_TOKEN_MFA with a code of the app or a recovery code, or WEB_AUTHN with a
// recovery code. A wrong code does not consume the session.
func (p *Pool) answerFactor(ctx context.Context, name, session string, params map[string]string) (any, error) {
	if params[paramUsername] == "" {
		return nil, missingParameter(paramUsername)
	}
	code, recovery := params[paramTOTPCode], params[paramRecoveryCode]
	if code == "" && recovery == "" {
		return nil, missingParameter(paramTOTPCode)
	}
	hash := opaque.Hash(session)
	user, err := p.checkChallenge(ctx, hash, name, params[paramUsername])
	if err != nil {
		return nil, err
	}
	proof, err := p.proveFactor(ctx, *user, code, recovery)
	if err != nil {
		return nil, err
	}
	err = refusedIf(p.store.UseFactor(timeout.Call(ctx), hash, proof, p.now()), fault.NotFound, usedCode())
	// The session was used, or became invalid, after the check.
	if err := refusedIf(err, fault.Conflict, invalidSession()); err != nil {
		return nil, err
	}
	factor := factorTOTP
	if proof.RecoveryHash != nil {
		factor = factorRecoveryCode
		p.notify(ctx, *user, mail.RecoveryCodeUsed)
	}
	result, err := p.signIn(ctx, *user, newSession{client: p.cfg.ClientID, factor: factor})
	if err == nil && factor == factorTOTP && params[paramTrust] == "true" {
		p.trustDevice(ctx, *user)
	}
	return signedIn(result, err)
}

// proveFactor verifies a code of a user's app or, if recovery is not "", a recovery code. Wrong ones are counted like
// wrong passwords.
func (p *Pool) proveFactor(ctx context.Context, user User, code, recovery string) (proof FactorProof, err error) {
	right, err := p.try(ctx, &user, factorKeys(ctx, user), ActionSignInFailed, "factor", func() (right bool, err error) {
		if recovery != "" {
			proof.RecoveryHash = hashRecoveryCode(recovery)
			return p.store.HasRecoveryCode(timeout.Call(ctx), user.Sub, proof.RecoveryHash)
		}
		factor, err := p.store.PoolFactor(timeout.Call(ctx), user.Sub)
		if err != nil {
			return false, err
		}
		proof.Step, right = totpStep(factor.Secret, code, p.now())
		return right, nil
	})
	switch {
	case errors.Is(err, errLocked):
		return FactorProof{}, notAuthorized("Attempts exceeded")
	case err != nil:
		return FactorProof{}, err
	case !right:
		return FactorProof{}, &refusal{kind: "CodeMismatchException", message: "Invalid code received for user"}
	}
	return proof, nil
}

func usedCode() *refusal {
	return &refusal{kind: "ExpiredCodeException", message: "Your software token has already been used once."}
}

// hasFactor reports whether a user has a second factor that the pool accepts.
func (p *Pool) hasFactor(factor Factor) bool {
	return factor.Enabled || factor.Passkeys > 0 && p.relyingParty != nil
}

// finishSetup answers the challenge MFA_SETUP after VerifySoftwareToken has verified the app's first code, or
// CompleteWebAuthnRegistration has stored a passkey, and signs in.
func (p *Pool) finishSetup(ctx context.Context, session string, params map[string]string) (any, error) {
	if params[paramUsername] == "" {
		return nil, missingParameter(paramUsername)
	}
	hash := opaque.Hash(session)
	user, err := p.checkChallenge(ctx, hash, challengeSetup, params[paramUsername])
	if err != nil {
		return nil, err
	}
	factor, err := p.store.PoolFactor(timeout.Call(ctx), user.Sub)
	if err != nil {
		return nil, err
	}
	if !p.hasFactor(factor) {
		return nil, noSoftwareToken()
	}
	// The setup has consumed the proof.
	err = p.store.UseFactor(timeout.Call(ctx), hash, FactorProof{}, p.now())
	// The session was used, or became invalid, after the check.
	if err := refusedIf(err, fault.Conflict, invalidSession()); err != nil {
		return nil, err
	}
	begun := newSession{client: p.cfg.ClientID, factor: factorTOTP}
	if !factor.Enabled {
		begun.factor = factorPasskey
	}
	return signedIn(p.signIn(ctx, *user, begun))
}

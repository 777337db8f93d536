package api

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"net/http"
	"net/url"

	"github.com/pquerna/otp"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

const (
	factorIssuer = "Tsumugi" // The name that authenticator apps show.
	qrCodeSize   = 400       // In pixels.
)

// drawFactorCode draws the QR code of an authenticator app's secret. It does not authenticate, because the secret may
// have to be set up before the sign-in, and because the answer contains nothing that the caller does not know.
func (s *Server) drawFactorCode(w http.ResponseWriter, r *http.Request) error {
	var req QRCodeRequest
	if err := decode(w, r, &req); err != nil {
		return err
	}
	address := url.URL{
		Scheme: "otpauth", Host: "totp", Path: "/" + factorIssuer + ":" + req.Email,
		RawQuery: url.Values{"secret": {req.Secret}, "issuer": {factorIssuer}}.Encode(),
	}
	key, err := otp.NewKeyFromURL(address.String())
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "QRコードを作成できません。")
	}
	code, err := key.Image(qrCodeSize, qrCodeSize)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "QRコードを作成できません。")
	}
	var image bytes.Buffer
	if err := png.Encode(&image, code); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, http.StatusOK, QRCode{
		URI: key.URL(), Image: "data:image/png;base64," + base64.StdEncoding.EncodeToString(image.Bytes()),
	})
}

func (s *Server) getFactorPolicy(c *call) (any, error) {
	policy, err := s.Org.FactorPolicy(c.ctx(), c.actor)
	return FactorPolicy{Policy: FactorPolicyName(policy), Enforced: s.cfg.embeddedPool()}, err
}

func (s *Server) putFactorPolicy(c *call, req FactorPolicyPutRequest) (any, error) {
	return FactorPolicy{Policy: req.Policy, Enforced: s.cfg.embeddedPool()},
		s.Org.SetFactorPolicy(c.ctx(), c.actor, org.FactorPolicy(req.Policy))
}

func (s *Server) resetMemberFactor(c *call) (any, error) {
	reset, err := s.Org.ResetMemberFactor(c.ctx(), c.actor, c.pathID)
	return FactorReset{Reset: reset}, err
}

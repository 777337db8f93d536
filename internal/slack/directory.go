package slack

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	slackgo "github.com/slack-go/slack"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/channel/workspace"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

var _ workspace.Directory = (*Adapter)(nil)

func (a *Adapter) Identify(ctx context.Context, c channel.Credentials) (workspace.Workspace, error) {
	client := a.client(channel.Installation{Credentials: c})
	test, err := client.AuthTestContext(ctx)
	if err != nil {
		return workspace.Workspace{}, refused("auth.test", err,
			"ボットトークンがSlackで受け付けられません。OAuth & Permissionsの画面で確認してください。")
	}
	if test.BotID == "" {
		return workspace.Workspace{}, fault.Errorf(fault.Invalid,
			"これはボットトークンではありません。「xoxb-」で始まるBot User OAuth Tokenを入力してください。")
	}
	w := workspace.Workspace{
		TeamID: test.TeamID, EnterpriseID: test.EnterpriseID, BotUserID: test.UserID, Name: test.Team,
	}
	if w.TeamID == w.EnterpriseID {
		w.TeamID = "" // For an enterprise-wide token, Slack returns the enterprise as the team.
	}
	if bot, err := client.GetBotInfoContext(ctx, slackgo.GetBotInfoParameters{Bot: test.BotID}); err == nil {
		w.AppID = bot.AppID
	}
	return w, nil
}

// refused translates an error of the setup. If Slack rejects a value, the error is an Invalid fault with the text what,
// because the user can correct the value.
func refused(method string, err error, what string) error {
	code := refusal(err)
	if code != "" && !slices.Contains([]string{"ratelimited", "internal_error", "service_unavailable"}, code) {
		return fault.Wrap(result(method, err), fault.Invalid, "%s（%s）", what, code)
	}
	return fault.Wrap(result(method, err), fault.Unavailable,
		"Slackに接続できません。サーバーからSlackへの通信を確認して、もう一度お試しください。")
}

func (a *Adapter) Profile(ctx context.Context, in channel.Installation, person string) (workspace.Profile, error) {
	user, err := a.client(in).GetUserInfoContext(ctx, person)
	if err != nil {
		return workspace.Profile{}, refused("users.info", err, "Slackでこの人を確認できません。")
	}
	p := workspace.Profile{
		Name: shownName(user), Email: user.Profile.Email,
		Confirmed: user.IsEmailConfirmed, EnterpriseID: user.Enterprise.EnterpriseID,
		Guest: user.IsRestricted || user.IsUltraRestricted || user.IsInvitedUser,
		Bot:   user.IsBot || user.IsAppUser || user.IsWorkflowBot || user.ID == "USLACKBOT", Deleted: user.Deleted,
		External: user.IsStranger,
	}
	p.Teams = append(p.Teams, user.Enterprise.Teams...)
	if user.TeamID != "" && !slices.Contains(p.Teams, user.TeamID) {
		p.Teams = append(p.Teams, user.TeamID)
	}
	return p, nil
}

func (a *Adapter) Check(ctx context.Context, in channel.Installation) []workspace.Check {
	var scopes http.Header
	client := slackgo.New(in.Credentials.BotToken, slackgo.OptionAPIURL(a.config.APIURL),
		slackgo.OptionHTTPClient(a.http), slackgo.OptionOnResponseHeaders(func(_ string, h http.Header) { scopes = h }))
	test, err := client.AuthTestContext(ctx)
	if err != nil {
		return []workspace.Check{failed("token", refused("auth.test", err, "ボットトークンが受け付けられません。"))}
	}
	checks := []workspace.Check{{Name: "token", OK: true, Detail: test.User + "として接続できました。"}}
	team := workspace.Check{Name: "workspace", OK: true, Detail: test.Team}
	if in.TeamID != "" && test.TeamID != in.TeamID {
		team = workspace.Check{Name: "workspace", Detail: "登録されているワークスペースと違います：" + test.Team}
	}
	checks = append(checks, team, checkScopes(scopes.Get("X-OAuth-Scopes")))
	signing := workspace.Check{Name: "signing_secret", OK: true, Detail: "登録されています。"}
	if in.Credentials.SigningSecret == "" && in.Credentials.AppToken == "" {
		signing = workspace.Check{
			Name:   "signing_secret",
			Detail: "Signing Secretが登録されていません。Basic Informationの画面で確認して、登録してください。",
		}
	}
	checks = append(checks, signing)
	if in.Credentials.AppToken == "" {
		return checks
	}
	if _, _, err := a.client(in).StartSocketModeContext(ctx); err != nil {
		return append(checks, failed("socket", refused("apps.connections.open", err,
			"Socket Modeで接続できません。App-Level Tokenの権限（connections:write）とSocket Modeの設定を確認してください。")))
	}
	return append(checks, workspace.Check{Name: "socket", OK: true, Detail: "Socket Modeで接続できました。"})
}

func failed(name string, err error) workspace.Check {
	return workspace.Check{Name: name, Detail: fault.DetailOf(err)}
}

// checkScopes compares the scopes of the token with those of the manifest.
func checkScopes(granted string) workspace.Check {
	if granted == "" {
		return workspace.Check{Name: "scopes", OK: true, Detail: "権限の一覧は取得できませんでした。"}
	}
	var missing []string
	for _, scope := range botScopes {
		if !slices.Contains(strings.FieldsFunc(granted, func(r rune) bool { return r == ',' || r == ' ' }), scope) {
			missing = append(missing, scope)
		}
	}
	if len(missing) > 0 {
		return workspace.Check{
			Name: "scopes",
			Detail: "権限が足りません：" + strings.Join(missing, "、") +
				"。マニフェストを更新し、アプリをワークスペースに再インストールしてください。",
		}
	}
	return workspace.Check{Name: "scopes", OK: true, Detail: "必要な権限がそろっています。"}
}

// site returns a URL of Slack outside of the Web API.
func (a *Adapter) site(path string, query url.Values) string {
	u := url.URL{Scheme: a.api.Scheme, Host: a.api.Host, Path: path, RawQuery: query.Encode()}
	return u.String()
}

func (a *Adapter) InstallURL(c channel.Credentials, redirect, state string) string {
	return a.site("/oauth/v2/authorize", url.Values{
		"client_id": {c.ClientID}, "scope": {strings.Join(botScopes, ",")}, "redirect_uri": {redirect},
		"state": {state},
	})
}

func (a *Adapter) Install(ctx context.Context, c channel.Credentials, redirect, code string) (string, error) {
	got, err := slackgo.GetOAuthV2ResponseContext(ctx, a.http, c.ClientID, c.ClientSecret, code, redirect,
		slackgo.OAuthOptionAPIURL(a.config.APIURL))
	switch {
	case err != nil:
		return "", refused("oauth.v2.access", err, "Slackへのインストールを完了できません。最初からやり直してください。")
	case got.TokenType != "bot" || got.AccessToken == "":
		return "", fault.Errorf(fault.Invalid, "Slackからボットトークンが発行されませんでした。アプリのマニフェストを確認してください。")
	case got.RefreshToken != "":
		return "", fault.Errorf(fault.Invalid,
			"アプリでトークンのローテーションが有効になっています。無効なアプリを、マニフェストから作り直してください。")
	}
	return got.AccessToken, nil
}

func (a *Adapter) SignInURL(in channel.Installation, redirect, state, nonce string) string {
	query := url.Values{
		"response_type": {"code"}, "scope": {"openid"}, "client_id": {in.Credentials.ClientID},
		"redirect_uri": {redirect}, "state": {state}, "nonce": {nonce},
	}
	if in.TeamID != "" {
		query.Set("team", in.TeamID)
	}
	return a.site("/openid/connect/authorize", query)
}

// idClaims are the claims of an id token of Slack.
type idClaims struct {
	jwt.RegisteredClaims

	Nonce        string `json:"nonce"`
	UserID       string `json:"https://slack.com/user_id"`
	TeamID       string `json:"https://slack.com/team_id"`
	EnterpriseID string `json:"https://slack.com/enterprise_id"`
}

// signInLeeway is the maximum difference between Slack's clock and the server's.
const signInLeeway = time.Minute

// SignIn implements workspace.Directory. It identifies the person by the id token, and not by the access token, because
// the id token is signed for this app and this attempt.
func (a *Adapter) SignIn(
	ctx context.Context, in channel.Installation, redirect, code, nonce string,
) (workspace.Identity, error) {
	got, err := slackgo.GetOpenIDConnectTokenContext(ctx, a.http, in.Credentials.ClientID, in.Credentials.ClientSecret,
		code, redirect, slackgo.OAuthOptionAPIURL(a.config.APIURL))
	if err != nil {
		return workspace.Identity{}, refused("openid.connect.token", err, "Slackでの本人確認を完了できません。最初からやり直してください。")
	}
	var c idClaims
	_, err = jwt.ParseWithClaims(got.IdToken, &c, a.keys.Keyfunc(ctx), jwt.WithValidMethods([]string{"RS256"}),
		jwt.WithIssuer(a.api.Scheme+"://"+a.api.Host), jwt.WithAudience(in.Credentials.ClientID),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(signInLeeway))
	if err == nil && (c.Nonce == "" || c.Nonce != nonce || c.UserID == "" || c.TeamID == "") {
		err = errors.New("slack: the id token is of another attempt")
	}
	if err != nil {
		if fault.CodeOf(err) == fault.Unavailable {
			return workspace.Identity{}, err
		}
		return workspace.Identity{}, fault.Wrap(err, fault.Invalid, "Slackでの本人確認を完了できません。最初からやり直してください。")
	}
	return workspace.Identity{TeamID: c.TeamID, EnterpriseID: c.EnterpriseID, Person: c.UserID}, nil
}

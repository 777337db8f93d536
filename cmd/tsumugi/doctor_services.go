package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/oidc"
	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
	"github.com/tsumugi-ai/tsumugi/internal/identity/sso"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	"github.com/tsumugi-ai/tsumugi/stream/bridge"
)

func (e *examination) checkNATS(ctx context.Context) doctor.Result {
	if e.NATSURL == "" {
		return doctor.NotConfigured()
	}
	if err := bridge.Check(ctx, e.NATSURL); err != nil {
		return doctor.Found("JetStreamに接続できません：%s", "JetStream cannot be reached: %s", doctor.Cause(err)).Fail(
			"NATS_URLと認証情報、NATSの稼働状況、JetStreamの設定を確認してください。",
			"Check NATS_URL and its credentials, that NATS is running, and that JetStream is enabled.")
	}
	return doctor.Found("JetStreamに接続できました。", "connected to JetStream")
}

// modelChecks returns a check for each configured model.
func (e *examination) modelChecks(name doctor.Text) []doctor.Check {
	check := doctor.Check{ID: "model", Name: name, Limit: modelFactor * e.limit}
	switch {
	case e.modelsErr != nil:
		check.Run = always(doctor.Found("設定が正しくありません：%s", "the configuration is invalid: %s",
			doctor.Cause(e.modelsErr)).Fail("TSUMUGI_MODELSのファイルを修正してください。", "Correct the file of TSUMUGI_MODELS."))
		return []doctor.Check{check}
	case !e.modelConnected():
		check.Run = always(doctor.Found("未設定（オフラインエンジンが回答します）", "not configured; the offline engine answers"))
		return []doctor.Check{check}
	}
	var all []doctor.Check
	for _, p := range e.models.Providers {
		for _, route := range p.Routes {
			check.Subject = route.ID
			check.Run = func(ctx context.Context) doctor.Result { return e.checkModel(ctx, p.Config, route) }
			all = append(all, check)
		}
	}
	return all
}

// checkModel asks a model, without retries and fallbacks, and cancels the answer at its first token.
func (e *examination) checkModel(ctx context.Context, provider llm.Config, route llm.Route) doctor.Result {
	provider.MaxRetries, route.Fallback = -1, ""
	router, err := llm.NewRouter(llm.Catalog{
		Providers: []llm.Provider{{Config: provider, Routes: []llm.Route{route}}}, Default: route.ID,
	}, e.log)
	if err == nil {
		defer router.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		began, took := time.Now(), time.Duration(0)
		first := func(string) {
			if took == 0 {
				took = time.Since(began)
				cancel()
			}
		}
		_, err = router.Stream(ctx, llm.Request{
			Messages: []llm.Message{{Role: llm.RoleUser, Content: "Reply with OK."}}, Reasoning: first,
		}, first)
		if took > 0 {
			return doctor.Found("%vで最初のトークンを受信しました。", "the first token came after %v", took.Round(time.Millisecond))
		}
	}
	if err == nil {
		return doctor.Found("回答が空でした。", "the answer is empty").Warn("モデル名を確認してください。", "Check the name of the model.")
	}
	return doctor.Found("応答がありません：%s", "does not answer: %s", doctor.Cause(err)).Fail(modelAdvice(err))
}

// modelAdvice returns the advice for an error of a model, in Japanese and English.
func modelAdvice(err error) (ja, en string) {
	switch fault.CodeOf(err) {
	case llm.CodeAuth:
		return "APIキーを確認してください。", "Check the API key."
	case llm.CodeNotFound:
		return "モデル名とベースURLを確認してください。", "Check the name of the model and the base URL."
	case llm.CodeQuota, llm.CodeRateLimited:
		return "提供元の利用枠と請求の設定を確認してください。", "Check the quota and the billing at the provider."
	}
	return "ベースURL、提供元の稼働状況、ネットワークとプロキシを確認してください。",
		"Check the base URL, that the provider is running, the network and the proxy."
}

func (e *examination) checkEmbedding(ctx context.Context) doctor.Result {
	embedding, err := e.embedding(e.log)
	if err == nil && embedding.Embed == nil {
		return doctor.NotConfigured()
	}
	var vectors [][]float32
	if err == nil {
		vectors, err = embedding.Embed(ctx, []string{"紡"})
	}
	if err != nil {
		return doctor.Found("ベクトルを取得できません：%s", "returns no vector: %s", doctor.Cause(err)).Fail(modelAdvice(err))
	}
	return doctor.Found("%d次元のベクトルを受信しました。", "returned a vector of %d numbers", len(vectors[0]))
}

func (e *examination) checkWebSearch(ctx context.Context) doctor.Result {
	service, err := e.openSearch(nil)
	if err == nil && service == nil {
		return doctor.NotConfigured()
	}
	results := 0
	if err == nil {
		defer service.Close()
		found, searchErr := service.Search(ctx, "Tsumugi")
		results, err = len(found), searchErr
	}
	if err != nil {
		return doctor.Found("検索できません：%s", "cannot search: %s", doctor.Cause(err)).Fail(
			"TSUMUGI_SEARCH_URLとTSUMUGI_SEARCH_KEY、SearXNGの場合はsearch.formatsのjsonを確認してください。",
			"Check TSUMUGI_SEARCH_URL and TSUMUGI_SEARCH_KEY and, for SearXNG, the format json in search.formats.")
	}
	return doctor.Found("検索できました（%d件）。", "searched, %d results", results)
}

func (e *examination) checkMailServer(ctx context.Context) doctor.Result {
	if e.SMTPURL == "" {
		return doctor.Found("未設定（メールは送信されず、データフォルダーに保存されます）",
			"not configured; mails are stored in the data folder")
	}
	if err := mail.Check(ctx, e.SMTPURL, mail.SMTPConfig{}); err != nil {
		return doctor.Found("メールサーバーに接続できません：%s", "the mail server refuses the session: %s", doctor.Cause(err)).Fail(
			"SMTP_URLのホスト、ポート、ユーザー、パスワードと、サーバーの証明書を確認してください。",
			"Check the host, port, user and password in SMTP_URL, and the certificate of the server.")
	}
	return doctor.Found("メールサーバーに接続できました（メールは送信していません）。", "connected to the mail server; no mail was sent")
}

// workspaces returns a check for each connected workspace. It includes the workspace of the settings even before a
// server has stored it.
func (e *examination) workspaces(ctx context.Context) (checks []doctor.Check, err error) {
	installations, err := e.db.ListInstallations(ctx, slack.Name)
	if err != nil {
		return nil, err
	}
	if own := e.credentials(); own != (channel.Credentials{}) {
		installations = slices.DeleteFunc(installations, func(in channel.Installation) bool {
			return in.Source == channel.SourceEnvironment
		})
		installations = append(installations, channel.Installation{Credentials: own, TeamName: "SLACK_BOT_TOKEN"})
	}
	for _, in := range installations {
		checks = append(checks, doctor.Check{Subject: in.TeamName, Run: func(ctx context.Context) doctor.Result {
			return e.checkWorkspace(ctx, in)
		}})
	}
	return checks, nil
}

func (e *examination) checkWorkspace(ctx context.Context, in channel.Installation) doctor.Result {
	if in.Credentials.BotToken == "" {
		return doctor.Found("ボットトークンがありません。", "has no bot token that can be read").Warn(
			"/admin/slackで設定を完了してください。暗号化の鍵の項目も確認してください。",
			"Complete the setup at /admin/slack, and see the secret key above.")
	}
	adapter, err := slack.New(slack.Config{APIURL: e.SlackAPIURL}, e.log)
	if err != nil {
		return doctor.Found("SLACK_API_URLが正しくありません：%s", "SLACK_API_URL is invalid: %s", doctor.Cause(err)).Fail(
			"SLACK_API_URLを修正してください。", "Correct SLACK_API_URL.")
	}
	defer adapter.Close()
	var names, details []string
	for _, check := range adapter.Check(ctx, in) {
		if !check.OK {
			names, details = append(names, check.Name), append(details, check.Detail)
		}
	}
	if len(names) == 0 {
		return doctor.Found("接続できました。", "connected")
	}
	return doctor.Found("確認できない項目があります：%s", "failed: %s", strings.Join(names, ", ")).Fail(strings.Join(details, " "),
		"Check the tokens and scopes of the Slack app, and the network; tsumugi slack test shows details.")
}

// certificateNotice is the remaining lifetime below which a certificate is reported.
const certificateNotice = 30 * 24 * time.Hour

// identityProviders returns a check for each organization with single sign-on.
func (e *examination) identityProviders(ctx context.Context) (checks []doctor.Check, err error) {
	organizations, err := e.db.ListOrganizations(ctx)
	for _, o := range organizations {
		if identity.AuthType(o.AuthType) == identity.AuthFederated {
			checks = append(checks, doctor.Check{Subject: o.Name, Run: func(ctx context.Context) doctor.Result {
				return e.checkSSO(ctx, o.ID)
			}})
		}
	}
	return checks, err
}

// checkSSO checks the certificates of an organization's identity provider, and the metadata if they have an address. With
// OpenID Connect, it reads the provider's keys.
func (e *examination) checkSSO(ctx context.Context, organization uuid.UUID) doctor.Result {
	byOIDC, err := e.db.OIDCSettings(ctx, organization)
	if err != nil {
		return unread(err)
	}
	if byOIDC.Enabled {
		return e.checkOIDC(ctx, byOIDC)
	}
	settings, err := e.db.SAMLSettings(ctx, organization)
	if err != nil {
		return unread(err)
	}
	r := certificateResult(saml.CertificateEnd(settings.Certificates), time.Now())
	shared := sso.New(sso.Config{PublicURL: e.PublicURL}, e.db, nil)
	if err := saml.New(e.providerClient(), e.db, shared).CheckMetadata(ctx, settings); err != nil {
		return r.Warn("IDプロバイダーのメタデータを更新できません。"+fault.DetailOf(err),
			"Check the network and the address of the metadata at /admin/saml: "+doctor.Cause(err))
	}
	return r
}

func (e *examination) checkOIDC(ctx context.Context, settings oidc.Settings) doctor.Result {
	if err := oidc.New(e.providerClient(), e.db, nil).Reachable(ctx, settings); err != nil {
		return doctor.Found("IDプロバイダー「%s」を使用できません。", "the identity provider %s cannot be used", settings.Issuer).Fail(
			fault.DetailOf(err), "Check the network and the issuer at /admin/saml/oidc: "+err.Error())
	}
	return doctor.Found("IDプロバイダー「%s」に接続できました。", "connected to the identity provider %s", settings.Issuer)
}

func certificateResult(end, now time.Time) doctor.Result {
	r := doctor.Found("IDプロバイダーの証明書の有効期限は%s", "the identity provider's certificate is valid until %s",
		end.UTC().Format(time.DateOnly))
	const ja = "IDプロバイダーの新しいメタデータを、管理者画面のシングルサインオンで登録してください。"
	const en = "Register the new metadata of the identity provider at /admin/saml."
	switch {
	case end.Before(now):
		return r.Fail("期限切れのため、ログインできません。"+ja, "It has expired, so that nobody can sign in. "+en)
	case end.Before(now.Add(certificateNotice)):
		return r.Warn(ja, en)
	}
	return r
}

func (e *examination) checkUserPool(ctx context.Context) doctor.Result {
	if e.CognitoUserPoolID == "" {
		return doctor.NotConfigured()
	}
	if err := e.remoteKeys(e.log).Check(ctx); err != nil {
		return doctor.Found("公開鍵を取得できません：%s", "its public keys cannot be read: %s", doctor.Cause(err)).Fail(
			"COGNITO_USER_POOL_ID、COGNITO_REGION、COGNITO_ENDPOINTとネットワークを確認してください。",
			"Check COGNITO_USER_POOL_ID, COGNITO_REGION, COGNITO_ENDPOINT and the network.")
	}
	return doctor.Found("公開鍵を取得できました。", "its public keys can be read")
}

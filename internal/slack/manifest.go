package slack

import (
	"encoding/json"

	slackgo "github.com/slack-go/slack"
)

// botScopes are the permissions of the assistant in a workspace. files:read is for the files of a question,
// users:read.email for linking by mail address, and the history scopes for earlier messages of a thread.
var botScopes = []string{
	"app_mentions:read", "assistant:write", "channels:history", "channels:read", "chat:write", "commands", "files:read",
	"files:write", "groups:history", "groups:read", "im:history", "im:read", "im:write", "mpim:history", "mpim:read",
	"users:read", "users:read.email",
}

// botEvents are the subscribed events.
var botEvents = []string{
	"agent_session_stopped", "app_home_opened", "app_mention", "app_uninstalled", "message.channels", "message.groups",
	"message.im", "message.mpim", "tokens_revoked",
}

// Paths of a server for Slack's requests, and for browsers that Slack redirects.
const (
	PathEvent           = "/external/slack/v1/event"
	PathInteraction     = "/external/slack/v1/interaction"
	PathCommand         = "/external/slack/v1/command"
	PathInstallCallback = "/external/slack/v1/oauth/callback"
	PathSignInCallback  = "/external/slack/v1/link/callback"
)

// Manifest returns the app's manifest for a server, which an administrator pastes at https://api.slack.com/apps. appURL
// is the server's URL without a trailing slash. With socket, the app uses Socket Mode, for servers that Slack cannot
// reach.
func Manifest(appURL string, socket bool) ([]byte, error) {
	m := slackgo.Manifest{
		Display: slackgo.Display{
			Name: "Tsumugi", Description: "組織のAIアシスタント", BackgroundColor: "#1f3a5f",
			LongDescription: longDescription,
		},
		Features: slackgo.Features{
			AppHome:   slackgo.AppHome{HomeTabEnabled: true, MessagesTabEnabled: true},
			BotUser:   slackgo.BotUser{DisplayName: "Tsumugi", AlwaysOnline: true},
			AgentView: &slackgo.AgentView{AgentDescription: "文書作成、要約、翻訳、ファイルについての質問などを手伝うアシスタントです。"},
			Shortcuts: []slackgo.Shortcut{{
				Name: "要約", CallbackID: callbackBrief, Description: "このスレッドを要約します", Type: "message",
			}},
			SlashCommands: []slackgo.ManifestSlashCommand{{
				Command: command, Description: "Tsumugiに質問します",
				UsageHint: "[スキル名：] 質問 ／ help ／ link ／ unlink ／ project",
			}},
		},
		OAuthConfig: slackgo.OAuthConfig{
			RedirectUrls: []string{appURL + PathInstallCallback, appURL + PathSignInCallback},
			Scopes:       slackgo.OAuthScopes{Bot: botScopes, User: []string{"openid"}},
		},
		Settings: slackgo.Settings{
			EventSubscriptions: &slackgo.EventSubscriptions{BotEvents: botEvents},
			Interactivity:      &slackgo.Interactivity{IsEnabled: true},
			SocketModeEnabled:  socket,
		},
	}
	if !socket {
		m.Settings.EventSubscriptions.RequestUrl = appURL + PathEvent
		m.Settings.Interactivity.RequestUrl = appURL + PathInteraction
		m.Features.SlashCommands[0].Url = appURL + PathCommand
	}
	return json.MarshalIndent(m, "", "  ")
}

// longDescription is shown before the app is added. Slack requires at least 174 characters.
const longDescription = "Tsumugiは、組織で安全に使えるAIアシスタントです。チャンネルやスレッドで@Tsumugiをメンションすると、同じスレッドに回答します。" +
	"ダイレクトメッセージでも質問できます。スレッドの要約、スキルの利用、スレッドに添付したファイルについての質問にも対応します。" +
	"質問と回答は、それぞれの人のTsumugiのアカウントに保存され、ほかの人のデータは回答に使われません。" +
	"利用するには、SlackのアカウントとTsumugiのアカウントの連携が必要です。回答の内容は、必ずご自身で確認してください。"

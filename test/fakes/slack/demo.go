package slack

// The names of the demonstration's parts. Its secrets are valid for this fake only.
//
//nolint:gosec // Not real secrets.
const (
	DemoApp     = "A0TSUMUGI1"
	DemoTeam    = "T0DEMO0001"
	DemoToken   = "xoxb-demo-1"
	DemoBot     = "U0TSUMUGI1"
	DemoSecret  = "8f742231b10e8888abcd99yyyzzz85a5"
	DemoSocket  = "xapp-1-A0TSUMUGI1-1-demo"
	DemoGeneral = "C0GENERAL1"
	DemoSales   = "C0SALES001"
	DemoPrivate = "C0PRIVATE1" // The app is not a member.
	DemoShared  = "C0SHARED01" // With DemoOther.
	DemoHanako  = "U0HANAKO01"
	DemoTaro    = "U0TARO0001"
	DemoJiro    = "U0JIRO0001" // His address is not confirmed.
	DemoGuest   = "U0GUEST001"
	DemoSolo    = "U0SOLO0001" // A guest of a single channel.
	DemoGone    = "U0GONE0001" // Deleted.
	DemoOther   = "T0OTHER001" // Another company.
	DemoRival   = "U0RIVAL001" // Of DemoOther.

	appName  = "Tsumugi"
	teamName = "デモ商事"
	botID    = "B0TSUMUGI1"
)

// Demo returns a company with an app, people of every kind, and a channel shared with another company.
func Demo() Config {
	return Config{
		App: App{ //nolint:gosec // Not real secrets.
			ClientID: "1000.1001", ClientSecret: "demo-client-secret", SigningSecret: DemoSecret,
			BotToken: DemoToken, AppToken: DemoSocket,
		},
		People: []Person{
			{ID: DemoHanako, Name: "hanako", RealName: "山田 花子", Email: "hanako@demo.example", EmailConfirmed: true},
			{ID: DemoTaro, Name: "taro", RealName: "鈴木 太郎", Email: "taro@demo.example", EmailConfirmed: true},
			{ID: DemoJiro, Name: "jiro", RealName: "佐藤 次郎", Email: "jiro@demo.example"},
			{
				ID: DemoGuest, Name: "guest", RealName: "協力会社 一郎", Email: "guest@partner.example",
				EmailConfirmed: true, Restricted: true,
			},
			{
				ID: DemoSolo, Name: "solo", RealName: "短期 三郎", Email: "solo@partner.example",
				EmailConfirmed: true, UltraRestricted: true,
			},
			{
				ID: DemoGone, Name: "gone", RealName: "退職 四郎", Email: "gone@demo.example",
				EmailConfirmed: true, Deleted: true,
			},
			{
				ID: DemoRival, Name: "rival", RealName: "高橋 五郎", Email: "rival@other.example",
				EmailConfirmed: true, Team: DemoOther,
			},
		},
		Channels: []Channel{
			{ID: DemoGeneral, Name: "general"},
			{ID: DemoSales, Name: "営業", Members: []string{DemoHanako, DemoTaro, DemoJiro, DemoSolo, DemoBot}},
			{ID: DemoPrivate, Name: "人事", Private: true, Members: []string{DemoHanako, DemoTaro}},
			{ID: DemoShared, Name: "共同企画", Shared: true},
		},
	}
}

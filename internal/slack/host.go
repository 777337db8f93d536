package slack

import (
	"context"

	slackgo "github.com/slack-go/slack"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

// maxHomeSkills is the maximum number of skills in the home tab, because a view has at most 100 blocks.
const maxHomeSkills = 40

func (a *Adapter) ShowHome(ctx context.Context, to channel.Target, h channel.Home) error {
	_, err := a.client(to.Installation).PublishViewContext(ctx, slackgo.PublishViewContextRequest{
		UserID: to.Person,
		View:   slackgo.HomeTabViewRequest{Type: slackgo.VTHomeTab, Blocks: slackgo.Blocks{BlockSet: homeBlocks(h)}},
	})
	return result("views.publish", err)
}

func homeBlocks(h channel.Home) []slackgo.Block {
	blocks := []slackgo.Block{slackgo.NewHeaderBlock(words("Tsumugi", maxFallback))}
	if !h.Linked {
		blocks = append(blocks, paragraph("Tsumugiのアカウントと連携すると、Slackから質問できます。"))
		if h.LinkURL != "" {
			connect := button("tsumugi_link", "", "アカウントを連携").WithURL(h.LinkURL).WithStyle(slackgo.StylePrimary)
			blocks = append(blocks, slackgo.NewActionBlock("", connect))
		}
		return blocks
	}
	blocks = append(blocks, note("連携中のアカウント："+h.Account),
		paragraph("チャンネルではTsumugiをメンションして、ダイレクトメッセージではそのまま質問してください。"))
	if h.AppURL != "" {
		blocks = append(blocks, slackgo.NewActionBlock("", button("tsumugi_open", "", "Tsumugiを開く").WithURL(h.AppURL)))
	}
	if len(h.Skills) > 0 {
		blocks = append(blocks, slackgo.NewDividerBlock(), slackgo.NewHeaderBlock(words("スキル", maxFallback)),
			note("「スキル名：質問」の形で使えます。"))
	}
	for _, s := range h.Skills[:min(len(h.Skills), maxHomeSkills)] {
		blocks = append(blocks, slackgo.NewSectionBlock(
			slackgo.NewTextBlockObject(slackgo.MarkdownType, "*"+escape(s.Title)+"*\n"+escape(s.Text), false, true),
			nil, nil))
	}
	return blocks
}

func (a *Adapter) ShowPrompts(ctx context.Context, to channel.Target, prompts []channel.Prompt) error {
	parameters := slackgo.AssistantThreadsSetSuggestedPromptsParameters{
		Title: "質問の例", ChannelID: to.Channel, ThreadTS: to.Thread,
	}
	for _, p := range prompts[:min(len(prompts), maxPrompts)] {
		parameters.AddPrompt(p.Title, p.Text)
	}
	if len(parameters.Prompts) == 0 {
		return nil
	}
	return shownOnly("assistant.threads.setSuggestedPrompts",
		a.client(to.Installation).SetAssistantThreadsSuggestedPromptsContext(ctx, parameters))
}

func (a *Adapter) ShowTitle(ctx context.Context, to channel.Target, title string) error {
	return shownOnly("assistant.threads.setTitle", a.client(to.Installation).SetAssistantThreadsTitleContext(ctx,
		slackgo.AssistantThreadsSetTitleParameters{
			ChannelID: to.Channel, ThreadTS: to.Thread, Title: runes.Truncate(title, maxFallback),
		}))
}

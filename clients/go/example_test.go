package tsumugi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
)

// A command line program that asks a question and prints the answer in progress.
func Example() {
	if err := ask("経費の精算はいつまでですか。"); err != nil {
		var problem *tsumugi.Problem
		if errors.As(err, &problem) {
			log.Fatal(problem.Detail) // A text for the user, such as the reason for a wait.
		}
		log.Fatal(err)
	}
}

func ask(question string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	const server = "https://tsumugi.example.com"
	client := &tsumugi.Client{URL: server, Token: tsumugi.Password(server, "user@example.com", os.Getenv("PASSWORD"),
		nil)}
	skill, err := client.ChatSkill(ctx)
	if err != nil {
		return err
	}
	thread, err := client.NewThread(ctx, skill.ID, "")
	if err != nil {
		return err
	}
	answer := client.Ask(tsumugi.Question{ThreadID: thread.ID, Content: question})
	for event, err := range answer.Events(ctx) {
		switch {
		case errors.Is(err, context.Canceled): // After Ctrl-C. Leaving the loop does not stop the answer.
			return client.Stop(context.WithoutCancel(ctx), answer.MessageID)
		case err != nil:
			return err
		case event.Type == "data-reset":
			fmt.Print("\n（最初から書き直しています）\n")
		default:
			fmt.Print(event.Text)
		}
	}
	return nil
}

// Another process follows an answer by its id from the beginning. The answer may be complete.
func ExampleClient_Follow() {
	client := &tsumugi.Client{URL: "https://tsumugi.example.com", Token: tsumugi.Bearer(os.Getenv("TOKEN"))}
	text, err := client.Follow("0190f3c2-0000-7000-8000-000000000001").Read(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
}

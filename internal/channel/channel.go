// Package channel owns conversations that live elsewhere: in the threads of Slack, and of whatever surface comes next.
// It takes in what happens there, asks for the person who is meant, and delivers the answer while it grows, once.
//
// A surface is an adapter (package slack); channel knows none, and neither the database nor HTTP: it declares the
// Surface and the Store that it needs. It imports fault, identity, org, skill, datasource, answer, stream and chat.
// Package channeltest has a surface in memory and the suite that holds every surface to the same promises.
package channel

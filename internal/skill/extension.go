package skill

import "sync"

// followUps maps the kind of a thread of the browser extension to the kind that answers its follow-up questions.
func followUps() map[Kind]Kind {
	return map[Kind]Kind{
		KindEasyExplain: KindEasyExplanationFollowUp, KindEasyExplanationFollowUp: KindEasyExplanationFollowUp,
		KindPageWholeSummary: KindPageWholeSummaryFollowUp, KindPageWholeSummaryFollowUp: KindPageWholeSummaryFollowUp,
	}
}

// builtinByKind reads the embedded files on first use.
var builtinByKind = sync.OnceValue(func() map[Kind]Skill {
	_, skills, err := Builtin()
	if err != nil {
		panic("skill: " + err.Error()) // Unreachable: Seed has read the same files.
	}
	byKind := make(map[Kind]Skill, len(skills))
	for _, s := range skills {
		byKind[s.Kind] = s
	}
	return byKind
})

// IsExtension reports whether threads with this skill begin with a page in the browser extension. Such skills are not
// listed. The first question of their threads, which contains the page, is always sent to the model.
func (s Skill) IsExtension() bool { return followUps()[s.Kind] != "" }

// FollowUp returns the skill for further questions in a thread with this skill: a different one in threads of the
// browser extension, otherwise the skill itself.
func (s Skill) FollowUp() Skill {
	if kind := followUps()[s.Kind]; kind != "" {
		return builtinByKind()[kind]
	}
	return s
}

// Extension returns the built-in skill of a kind of the browser extension.
func Extension(kind Kind) (Skill, bool) {
	if followUps()[kind] == "" {
		return Skill{}, false
	}
	s, ok := builtinByKind()[kind]
	return s, ok
}

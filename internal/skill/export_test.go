package skill

// Icons exports icons.
func Icons() []string { return icons() }

// Validate exports Skill.validate.
func Validate(s Skill) error { return s.validate() }

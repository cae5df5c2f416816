package chat

// Language is a language that the bot has prompts and texts in.
type Language string

// The languages.
const (
	English  Language = "en"
	Japanese Language = "ja"
)

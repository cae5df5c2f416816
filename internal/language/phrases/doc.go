// Package phrases knows by which words, in English and in Japanese, people stop the bot, thank, address each
// other and take something on, and by which a reply promises something. It matches words; what follows from
// them is decided elsewhere.
package phrases

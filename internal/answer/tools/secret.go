package tools

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// credentials match what looks like a key, a token or a password wherever it was issued: those of Slack,
// GitHub, GitLab, AWS, Google, OpenAI, Anthropic, Stripe, npm and Telegram, tokens of JWT, private keys,
// and the password in an address.
var credentials = regexp.MustCompile(`xox[abeoprs]-[\w-]{10,}|xapp-\d-[\w-]{10,}|hooks\.slack\.com/services/\w|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|` +
	`(?:AKIA|ASIA)[0-9A-Z]{16}\b|AIza[\w-]{30,}|\bsk-[\w-]{20,}|\b[rs]k_(?:live|test)_\w{16,}|\bnpm_\w{30,}|\b\d{8,10}:[\w-]{35}\b|` +
	`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY|\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]{3,}@`)

// wholeCredentials match what credentials match to the end of the word, and a private key to its last line.
var wholeCredentials = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)|(?:` + credentials.String() + `)[^\s<>]*`)

// Credentials are the places of what looks like a key, a token or a password in a text: the beginning and the end
// of each, in bytes.
func Credentials(text string) [][]int { return wholeCredentials.FindAllStringIndex(text, -1) }

// minSecret is how long a secret is at least that is looked for: a shorter one is in many a text.
const minSecret = 6

// minSentence is how long a sentence of instructions is at least that is looked for, in bytes: a shorter one may be
// anybody's.
const minSentence = 48

var sentenceEnd = regexp.MustCompile(`[.!?;:]\s+|[。！？]|\n`)

// sentencesOf are the sentences in texts that nobody else would write.
func sentencesOf(texts []string) []string {
	var all []string
	for _, text := range texts {
		for _, sentence := range sentenceEnd.Split(text, -1) {
			if sentence = strings.Trim(sentence, " \t-*#>.!?;:"); len(sentence) >= minSentence {
				all = append(all, sentence)
			}
		}
	}
	return all
}

// dense is a text for comparison: in lower case, without white space.
func dense(s string) string {
	return strings.Map(func(c rune) rune {
		if c <= ' ' || c == 0x200b {
			return -1
		}
		return unicode.ToLower(c)
	}, s)
}

// secretForms are the texts, dense, in which one of the secrets may hide: as it is, in an address, in hex, and in
// base64 at each of the three places where it can begin in a group.
func secretForms(secrets []string) []string {
	var forms []string
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		forms = append(forms, secret, url.QueryEscape(secret), url.PathEscape(secret),
			hex.EncodeToString([]byte(secret)), reversed(secret))
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for before := range 3 {
				text := encoding.EncodeToString(append(make([]byte, before), secret...))
				// The first and last characters also depend on the neighbouring bytes.
				first := (before*8 + 5) / 6
				if last := len(secret)*8 + before*8; last/6 > first {
					forms = append(forms, text[first:last/6])
				}
			}
		}
	}
	for i, form := range forms {
		forms[i] = dense(form)
	}
	return forms
}

func reversed(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

// credentialRefused is the result of a call that Refuses refuses.
const credentialRefused = "This was refused: its input holds what looks like a password, a key or a token, or a part " +
	"of your instructions. Those are never handed to other programs. Leave it out."

// Refuses says why a call of another program's tool is not even proposed: its input holds one of our own
// secrets, what looks like a credential, or a sentence of the instructions. "" means that nothing speaks against it.
func (r *Registry) Refuses(input json.RawMessage) string {
	texts := []string{string(input)}
	var value any
	if json.Unmarshal(input, &value) == nil {
		// also where it is cut in pieces
		texts = append(texts, strings.Join(stringsIn(value), "\n"), strings.Join(stringsIn(value), ""))
	}
	for _, text := range texts {
		if decoded, err := url.QueryUnescape(text); err == nil && decoded != text {
			texts = append(texts, decoded)
		}
	}
	for _, text := range texts {
		if credentials.MatchString(text) {
			return credentialRefused
		}
		low := dense(text)
		for _, form := range r.secrets {
			if strings.Contains(low, form) {
				return credentialRefused
			}
		}
	}
	return ""
}

// stringsIn are all keys and texts in a JSON value.
func stringsIn(value any) []string {
	var all []string
	switch v := value.(type) {
	case string:
		all = append(all, v)
	case []any:
		for _, inner := range v {
			all = append(all, stringsIn(inner)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(append(all, key), stringsIn(v[key])...)
		}
	}
	return all
}

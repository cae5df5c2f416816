package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"myao/sandbox/workspace"
	"myao/test/llmtest"
	"myao/test/testserver"
	"myao/test/world"
)

// Secrets, each recognizable wherever it appears.
const (
	botToken      = world.BotToken
	signingSecret = world.SigningSecret
	wrongToken    = "xoxb-LEAK-wrong"
	geminiKey     = world.GeminiKey
	openAIKey     = "sk-LEAK/openai+key"
	appToken      = "xapp-1-LEAK-app"
	dbPassword    = "p@ss/LEAK%word"
	temporalKey   = "LEAK-temporal-api-key"
	codecToken    = "LEAK-codec"
)

// encryptionKey is configured but not active, so that Temporal's data is in clear text and can
// be searched.
var encryptionKey = base64.StdEncoding.EncodeToString([]byte("LEAK-an-encryption-key-32-bytes!"))

// Words of people's messages and of the bot's replies that occur nowhere else.
const (
	saidWord  = "zebrafish"
	replyWord = "quokka"
)

// encodings returns the forms in which a secret may appear in a text.
func encodings(secret string) []string {
	all := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:], hex.EncodeToString([]byte(secret))}
	quoted, _ := json.Marshal(secret)
	all = append(all, strings.Trim(string(quoted), `"`))
	// In a longer base64 text a secret begins at one of three positions in a group. Leave out the
	// characters that depend on its neighbours.
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			text := e.EncodeToString(append(make([]byte, shift), secret...))
			all = append(all, text[(shift*8+5)/6:len(text)-2])
		}
	}
	return all
}

// leakSearch holds all texts that somebody could read, by source.
type leakSearch struct {
	t     *testing.T
	texts map[string][]byte
}

func (h *leakSearch) add(where string, text []byte) {
	h.texts[where] = append(append(h.texts[where], text...), '\n')
}

// not fails the test for each source that contains one of the texts.
func (h *leakSearch) not(what string, texts ...string) {
	h.t.Helper()
	for where, hay := range h.texts {
		for _, text := range texts {
			if i := bytes.Index(hay, []byte(text)); i >= 0 {
				h.t.Errorf("%s (%q) is in %s: …%s…", what, text, where, hay[max(0, i-200):min(len(hay), i+len(text)+100)])
				break
			}
		}
	}
}

// run runs a program until it ends or has printed until, and adds its output.
func (h *leakSearch) run(where, until string, env []string, name string, args ...string) {
	h.t.Helper()
	log := world.NewLog(h.t, name)
	p := log.Program(filepath.Join(bin, name), args...)
	p.Env = env
	p.Start()
	ended := closed(p.Ended())
	if !world.Within(h.t, world.Patience, 20*time.Millisecond, func() bool { return ended() || until != "" && log.Has(until) }) {
		h.t.Errorf("%s neither ended nor printed %q", where, until)
	}
	if !ended() {
		h.ask(log.String())
	}
	p.Kill()
	if log.String() == "" {
		h.t.Errorf("%s printed nothing", where)
	}
	h.add(where, []byte(log.String()))
}

// ask adds a starter's /readyz and /metrics, if its log says where it listens.
func (h *leakSearch) ask(log string) {
	h.t.Helper()
	if m := regexp.MustCompile(`"starter listens".*"address":"([^"]*)"`).FindStringSubmatch(log); m != nil {
		h.get("http://" + m[1] + "/readyz")
		h.get("http://" + m[1] + "/metrics")
	}
}

func (h *leakSearch) get(address string) {
	h.t.Helper()
	status, body := world.Get(h.t, address)
	if status == 0 {
		h.t.Errorf("%s: %s", address, body)
	}
	h.add(address, []byte(body))
}

// TestSecretsStayInside makes everything fail, with errors that quote our secrets and people's
// messages. It then searches all that anybody can read: output, answers, and Temporal's data.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	pg, err := url.Parse(testserver.Postgres(t))
	testserver.Must(t, err)
	pg.User = url.UserPassword(pg.User.Username(), dbPassword)
	// fail answers with an error that quotes the key and the prompt, as a careless provider might.
	fail := func(c llmtest.Call, status int) llmtest.Reply {
		said := fmt.Sprintf("wrong key %s%s in: %s", c.Header.Get("X-Goog-Api-Key"), c.Header.Get("Authorization"), around(c.System+c.User, saidWord))
		return llmtest.Reply{Status: status, Message: said}
	}
	model := func(c llmtest.Call) llmtest.Reply {
		if c.Judgment() {
			return llmtest.Yes("a question was asked", 0.9, 0)
		}
		return llmtest.Text("It is a " + replyWord + ".")
	}
	s := start(t, pg.String(), quiet(1), modelAnswers(model),
		configured(fmt.Sprintf("encryption: {active_key: \"\", keys: {old: %q}}\n", encryptionKey)))
	s.withOpenAI()
	h := &leakSearch{t: t, texts: map[string][]byte{}}

	// The model refuses the reply to a mention and a judgment permanently.
	for i, refusal := range []int{http.StatusUnauthorized, http.StatusBadRequest} {
		s.Model.Handle(func(c llmtest.Call) llmtest.Reply { return fail(c, refusal) })
		said := s.Workspace.Say(s.general, s.alice.ID, s.mention(saidWord+" 1"))
		s.await("the notice", func() bool { return len(s.posts()) == i+1 && s.posts()[i].ThreadTS == said })
		judged := len(s.judgments())
		s.Workspace.Say(s.general, s.bob.ID, saidWord+" 2?")
		s.await("the failed judgment", func() bool { return len(s.judgments()) > judged })
	}
	// The model fails for a while and then answers.
	tries := len(s.replies())
	s.Model.Handle(func(c llmtest.Call) llmtest.Reply {
		if !c.Judgment() && len(s.replies()) < tries+3 {
			return fail(c, http.StatusInternalServerError)
		}
		return model(c)
	})
	before := len(s.posts())
	s.Workspace.Say(s.general, s.alice.ID, s.mention(saidWord+" 3"))
	s.await("the answer", func() bool { return len(s.posts()) > before })
	// Slack refuses, fails, loses its answer, and quotes what it was sent.
	for i, fault := range []workspace.Fault{
		{Method: "chat.postMessage", Error: "invalid_auth", Times: 1},
		{Method: "chat.postMessage", Error: "the token " + botToken + " may not say " + replyWord, Times: 1},
		{Method: "chat.postMessage", Status: http.StatusInternalServerError, Times: 1},
		{Method: "chat.postMessage", AfterEffect: true, LoseAnswer: true, Times: 1},
		{Method: "conversations.replies", Error: "missing_scope", Times: 1},
	} {
		s.Workspace.Faults().Add(fault)
		calls := len(s.Workspace.Calls(fault.Method))
		thread := s.Workspace.Say(s.general, s.bob.ID, s.mention(fmt.Sprintf("%s 4.%d", saidWord, i)))
		if fault.Method == "conversations.replies" {
			s.Workspace.Say(s.general, s.bob.ID, s.mention(saidWord+" in the thread"), workspace.InThread(thread))
		}
		s.await("Slack to fail", func() bool { return len(s.Workspace.Calls(fault.Method)) > calls })
	}
	// Requests without a signature get an error.
	for _, path := range []string{"/slack/events", "/slack/interactions", "/slack/commands"} {
		resp, err := http.Post("http://"+s.starter.Address+path, "application/json", strings.NewReader(`{"text":"`+saidWord+`"}`))
		testserver.Must(t, err)
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		h.add("answer to a stranger at "+path, body)
	}
	for _, path := range []string{"/metrics", "/readyz", "/livez"} {
		h.get("http://" + s.starter.Address + path)
		h.get("http://" + s.worker.Address + path)
	}
	h.temporal(s)

	// The commands, and starts that fail.
	with := func(env ...string) []string { return slices.Concat(s.Env, env) }
	config := s.Config
	h.run("starter --help", "", s.Env, "starter", "--help")
	h.run("worker --help", "", s.Env, "worker", "--help")
	h.run("starter codec, without a good token", "", with("MYAO_CODEC_TOKEN="+codecToken), "starter", "--config", config, "codec", "--address", "0.0.0.0:0")
	s.Model.Handle(func(c llmtest.Call) llmtest.Reply { return fail(c, http.StatusUnauthorized) })
	// separate, because it prints people's messages as it should
	prompt := &leakSearch{t: t, texts: map[string][]byte{}}
	prompt.run("starter prompt", "", s.Env, "starter", "--config", config, "prompt", "--for", "response", "--channel", s.general)
	prompt.run("starter prompt --ask", "", s.Env, "starter", "--config", config, "prompt", "--for", "response", "--channel", s.general, "--ask")
	for where, change := range map[string]func(string) string{
		"a wrong scheme":      func(y string) string { return strings.Replace(y, "postgres://", "mysql://", 1) },
		"a malformed URL":     func(y string) string { return strings.Replace(y, "@127.0.0.1:", "@127.0.0.1:x", 1) },
		"a key too short":     func(y string) string { return strings.Replace(y, encryptionKey, encryptionKey[:20], 1) },
		"a key of no base64":  func(y string) string { return strings.Replace(y, encryptionKey, encryptionKey[:20]+"!", 1) },
		"a key that is twice": func(y string) string { return strings.Replace(y, "        old: ", "        old: x\n        old: ", 1) },
		"a secret in a list":  func(y string) string { return strings.Replace(y, "${SLACK_BOT_TOKEN}", `["${SLACK_BOT_TOKEN}"]`, 1) },
		"no YAML":             func(y string) string { return strings.Replace(y, "persona:", "persona: {{", 1) },
	} {
		h.run("with "+where, "", s.Env, "starter", "--config", s.configVariant(change))
	}
	elsewhere := func(y string) string { return strings.Replace(y, "${TEST_STARTER_ADDRESS}", "127.0.0.1:0", 1) }
	for where, at := range map[string]string{"a database that refuses": "@" + refusingPostgres(t) + "/", "no database": "@127.0.0.1:1/"} {
		config := s.configVariant(func(y string) string {
			return regexp.MustCompile(`@127\.0\.0\.1:\d+/`).ReplaceAllString(elsewhere(y), at)
		})
		for _, name := range []string{"starter", "worker"} {
			h.run(name+" with "+where, "database not ready", with("TEMPORAL_ADDRESS=127.0.0.1:1", "TEMPORAL_API_KEY="+temporalKey), name, "--config", config)
		}
	}
	h.run("no Temporal", "Temporal not ready", with("TEMPORAL_ADDRESS=127.0.0.1:1", "TEMPORAL_API_KEY="+temporalKey), "starter", "--config", s.configVariant(elsewhere))
	h.run("Socket Mode refused", "", with("SLACK_APP_TOKEN="+appToken), "starter", "--config", s.configVariant(elsewhere))
	h.run("Slack refuses the bot", "the app of the bot is not known yet", with("SLACK_BOT_TOKEN="+wrongToken), "starter", "--config", s.configVariant(elsewhere))

	s.worker.Stop()
	s.starter.Stop()
	h.add("what the starter says", []byte(s.starter.Log.String()))
	h.add("what the worker says", []byte(s.worker.Log.String()))

	for what, secret := range map[string]string{
		"the bot token": botToken, "another bot token": wrongToken, "the signing secret": signingSecret, "the key of Gemini": geminiKey, "the key of OpenAI": openAIKey,
		"the app token": appToken, "the database's password": dbPassword, "the key of Temporal": temporalKey, "the codec's token": codecToken,
		"a key of encryption": encryptionKey, "a part of a key of encryption": encryptionKey[:20], "a key of encryption, decoded": "LEAK-an-encryption-key-32-bytes!",
	} {
		h.not(what, encodings(secret)...)
		prompt.not(what, encodings(secret)...)
	}
	h.not("what people said", encodings(saidWord)...)
	h.not("what the bot wrote", encodings(replyWord)...)

	// The searched texts are the right ones.
	if !bytes.Contains(h.texts["history"], []byte(s.general)) || !bytes.Contains(h.texts["what the worker says"], []byte("posted")) {
		t.Error("the searched texts lack what they must contain")
	}
}

// around returns up to 200 bytes of a text around a word, short enough not to be truncated.
func around(text, word string) string {
	i := strings.LastIndex(text, word)
	return text[max(0, i-100):min(len(text), max(0, i)+100)]
}

// withOpenAI restarts the programs with OpenAI as the model for judgments.
func (s *system) withOpenAI() {
	s.t.Helper()
	s.Configure(fmt.Sprintf("llm: {openai: {api_key: %q}}", openAIKey), "agents: {judgment: {provider: openai}}")
	s.restart()
}

// configVariant writes a changed copy of the configuration and returns its path.
func (s *system) configVariant(change func(string) string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.Config)
	testserver.Must(s.t, err)
	changed := change(string(text))
	if changed == string(text) {
		s.t.Fatal("the variant changes nothing")
	}
	path := filepath.Join(s.t.TempDir(), "config.yaml")
	testserver.Must(s.t, os.WriteFile(path, []byte(changed), 0o600))
	return path
}

// refusingPostgres returns the address of a fake Postgres that asks for the password in clear
// text and refuses it.
func refusingPostgres(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testserver.Must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				read := make([]byte, 4096)
				if _, err := conn.Read(read); err != nil {
					return
				}
				_, _ = conn.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3}) // AuthenticationCleartextPassword
				if _, err := conn.Read(read); err != nil {
					return
				}
				const why = "SFATAL\x00VFATAL\x00C28P01\x00Mpassword authentication failed for user \"postgres\"\x00\x00"
				_, _ = conn.Write(append([]byte{'E', 0, 0, 0, byte(4 + len(why))}, why...))
			}()
		}
	}()
	return l.Addr().String()
}

// temporal adds all of Temporal's data, both as JSON, as its Web UI shows it, and on the wire.
func (h *leakSearch) temporal(s *system) {
	h.t.Helper()
	messages, _ := s.temporalMessages()
	for _, m := range messages {
		wire, err := proto.Marshal(m)
		testserver.Must(h.t, err)
		shown, err := protojson.Marshal(m)
		testserver.Must(h.t, err)
		h.add("history", wire)
		h.add("history", shown)
	}
}

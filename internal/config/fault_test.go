package config_test

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"myao/internal/chat"
	"myao/internal/config"
)

func TestEveryFaultNamesItsKeyItsValueAndWhatIsAllowed(t *testing.T) {
	// Each text is added to a valid file, and replaces the sections that it has itself.
	slack := func(more string) string {
		return "slack: {bot_token: xoxb-token, signing_secret: signing-secret, " + more + "}"
	}
	client := func(text string) string {
		for _, section := range []string{
			"slack: {client_id: '1.2', client_secret: x, signing_secret: x}", "server: {public_url: 'https://myao.example.com'}",
			"encryption: {active_key: a, keys: {a: " + base64.StdEncoding.EncodeToString(make([]byte, 32)) + "}}",
		} {
			if name, _, _ := strings.Cut(section, ":"); !strings.HasPrefix(text, name+":") && !strings.Contains(text, "\n"+name+":") {
				text += "\n" + section
			}
		}
		return strings.TrimPrefix(text, "\n")
	}
	agent := func(more string) string {
		return "agents: {response: {" + more + "}, judgment: {provider: demo}, memory: {provider: demo}}"
	}
	workspace := func(more string) string { return "workspaces: {T0000001: {" + more + "}}" }
	for _, tc := range []struct{ name, text, want string }{
		{"bot token missing", "slack: {signing_secret: x}", `slack.bot_token: is required: the app's bot token, xoxb-…; or slack.client_id, by which workspaces install the app`},
		{"bot token empty", "slack: {signing_secret: x, bot_token: '${EMPTY}'}", `slack.bot_token = (from EMPTY): is required: the app's bot token, xoxb-…; or slack.client_id, by which workspaces install the app`},
		{"client without a secret", client("slack: {client_id: '1.2', signing_secret: x}"), `slack.client_secret: is required with slack.client_id: the app's client secret`},
		{"secret without a client", slack("client_secret: x"), `slack.client_secret: has no effect without slack.client_id`},
		{"client without a signing secret", client("slack: {client_id: '1.2', client_secret: x}"), `slack.signing_secret: is required unless slack.app_token chooses Socket Mode`},
		{"client without a key", client("encryption: {keys: {}}"), `encryption.active_key: is required with slack.client_id: the tokens of workspaces are stored encrypted`},
		{"client in the open", client("server: {public_url: 'http://myao.example.com'}"), `server.public_url = "http://myao.example.com": must be an https:// address without a query, such as https://myao.example.com; http:// is for localhost alone`},
		{"client at no address", client("server: {address: ':0'}"), `server.public_url: is required with slack.client_id: the https:// address where Slack and people reach the starter`},
		{"public address with a query", "server: {public_url: 'https://myao.example.com/?'}", `server.public_url = "https://myao.example.com/?": must be an https:// address without a query, such as https://myao.example.com; http:// is for localhost alone`},
		{"workspace that is none", slack("allowed_workspaces: [acme]"), `slack.allowed_workspaces[0] = "acme": must be the id of a workspace, T…, or of an organisation, E…, or * alone for any`},
		{"any workspace, and one", client("slack: {client_id: '1.2', client_secret: x, signing_secret: x, allowed_workspaces: ['*', T0000001]}"), `slack.allowed_workspaces: must be ["*"] alone, or ids of workspaces and organisations`},
		{"signing secret missing", "slack: {bot_token: x}", `slack.signing_secret: is required unless slack.app_token chooses Socket Mode`},
		{"signing secret of digits", "slack: {bot_token: x, signing_secret: 123456789012}", `slack.signing_secret = (hidden): must be text; put it in quotes`},
		{"encryption key of digits", "encryption: {keys: {a: 123456789012}}", `encryption.keys.a = (hidden): must be text; put it in quotes`},
		{"API address", slack("api_url: slack.com/api"), `slack.api_url = "slack.com/api/": must be an http:// or https:// address`},
		{"API address without host", slack("api_url: 'http://:80/'"), `slack.api_url = "http://:80/": must be an http:// or https:// address`},
		{"thread history 0", slack("thread_history_limit: 0"), `slack.thread_history_limit = 0: must be a whole number from 1 to 100`},
		{"thread history 101", slack("thread_history_limit: 101"), `slack.thread_history_limit = 101: must be a whole number from 1 to 100`},
		{"number in quotes", slack("thread_history_limit: '20'"), `slack.thread_history_limit = "20": must be a whole number`},
		{"number from a variable", slack("thread_history_limit: '${WORD}'"), `slack.thread_history_limit = "word" (from WORD): must be a whole number`},
		{"range from a variable", slack("thread_history_limit: '${N:-500}'"), `slack.thread_history_limit = 500 (from N): must be a whole number from 1 to 100`},
		{"fraction", slack("thread_history_limit: 2.5"), `slack.thread_history_limit = 2.5: must be a whole number`},
		{"far too big with an exponent", slack("thread_history_limit: 1e300"), `slack.thread_history_limit = 1e+300: must be a whole number`},
		{"infinite", slack("thread_history_limit: .inf"), `slack.thread_history_limit = +Inf: must be a whole number`},
		{"far too big", slack("thread_history_limit: 18446744073709551615"), `slack.thread_history_limit = 18446744073709551615: must be a whole number`},

		{"command without a slash", slack("command: myao"), `slack.command = "myao": must be a slash and up to 31 lower-case letters, digits and any of - _`},
		{"command in capitals", slack("command: /Myao"), `slack.command = "/Myao": must be a slash and up to 31 lower-case letters, digits and any of - _`},
		{"no command", slack("command: ''"), `slack.command = "": must be a slash and up to 31 lower-case letters, digits and any of - _`},
		{"operator by name", slack("operators: [U0ANN, ann]"), `slack.operators[1] = "ann": must be the id of a user, U… or W…`},
		{"operator as number", slack("operators: [U0ANN, 7]"), `slack.operators[1] = 7: must be text; put it in quotes`},
		{"operators as text", slack("operators: U0ANN"), `slack.operators = "U0ANN": must be a list of texts`},
		{"operators with a gap", slack("operators: [U0ANN, ~]"), `slack.operators = (a list): must be a list of texts`},
		{"operator from a variable", slack("operators: ['${WORD}']"), `slack.operators[0] = "word" (from WORD): must be the id of a user, U… or W…`},
		{"MCP server without access", "mcp: {servers: {desk: {channels: all}}}", `mcp.servers.desk: must have one of url and command`},
		{"MCP server with two", "mcp: {servers: {desk: {url: 'http://x', command: x}}}", `mcp.servers.desk: must have one of url and command`},
		{"MCP server's name", "mcp: {servers: {a__b: {command: x}}}", `mcp.servers.a__b: must have a name of up to 30 lower-case letters and digits, with single - or _ between them`},
		{"MCP server's address", "mcp: {servers: {desk: {url: 'ftp://x'}}}", `mcp.servers.desk.url = "ftp://x": must be an address that begins with http:// or https://`},
		{"tool of no server", "channels: {general: {tools: [desk__find]}}", `channels.general.tools[0] = "desk__find": must be one of ` + strings.Join(chat.ToolNames(), ", ") + `, or SERVER__TOOL of one of mcp.servers`},
		{"hook without a secret", "hooks: {ci: {channels: general}}", `hooks.ci.secret: is required and must have at least 16 characters: the secret with which the program signs what it sends; openssl rand -hex 32 makes one`},
		{"hook's short secret", "hooks: {ci: {secret: fifteenletters1, channels: general}}", `hooks.ci.secret: is required and must have at least 16 characters: the secret with which the program signs what it sends; openssl rand -hex 32 makes one`},
		{"hook without channels", "hooks: {ci: {secret: sixteen-letters1}}", `hooks.ci.channels: is required: the ids or names of the channels where its events can be found and waited for`},
		{"hook for all channels", "hooks: {ci: {secret: sixteen-letters1, channels: all}}", `hooks.ci.channels = "all": must be ids or names of channels; #all is a channel of that name`},
		{"hook's name", "hooks: {CI: {secret: sixteen-letters1, channels: general}}", `hooks.CI: must have a name of up to 30 lower-case letters and digits, with single - or _ between them`},
		{"hook's channel in many workspaces", client("hooks: {ci: {secret: sixteen-letters1, channels: [C0000001, general]}}"), `hooks.ci.channels = "general": must be ids of channels, C…, where several workspaces can install the app: a name may stand for a channel in each of them`},
		{"permission", slack("everyone_may: [why, fly]"), `slack.everyone_may[1] = "fly": must be one of status, why, snooze, mute, hush, answer_now, notes, forget, approve, settings`},
		{"permissions as mapping", slack("everyone_may: {why: true}"), `slack.everyone_may = (a mapping): must be a list of texts`},
		{"reaction", slack("hush_reaction: 🤫"), `slack.hush_reaction = "🤫": must be the name of an emoji, such as shushing_face, or empty`},
		{"reaction that answers", slack("answer_reaction: Robot"), `slack.answer_reaction = "Robot": must be the name of an emoji, such as robot_face, or empty`},
		{"one reaction for both", slack("hush_reaction: thumbsup, answer_reaction: ':+1:'"), `slack.answer_reaction = "+1": must be another emoji than slack.hush_reaction`},

		{"address without port", "server: {address: localhost}", `server.address = "localhost": must be HOST:PORT or :PORT with a port from 0 to 65535`},
		{"port too big", "server: {address: ':65536'}", `server.address = ":65536": must be HOST:PORT or :PORT with a port from 0 to 65535`},
		{"port by name", "server: {address: ':http'}", `server.address = ":http": must be HOST:PORT or :PORT with a port from 0 to 65535`},

		{"database scheme", "database: {url: 'mysql://me:hunter22@db/x'}", `database.url = mysql://me:xxxxx@db/x: must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME`},
		{"database DSN", "database: {url: 'host=db password=hunter22'}", `database.url = (hidden): must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME`},
		{"database without slashes", "database: {url: 'mysql:me:hunter22@db/x'}", `database.url = (hidden): must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME`},
		{"database port", "database: {url: 'postgres://me:hunter22@db:port/x'}", `database.url = (hidden): must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME`},
		{"database port too big", "database: {url: 'postgres://me:hunter22@db:99999/x'}", `database.url = postgres://me:xxxxx@db:99999/x: must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME; the database driver refuses this one: invalid port`},
		{"database option", "database: {url: 'postgres://me:hunter22@db/x?sslmode=banana'}", `database.url = postgres://me:xxxxx@db/x?…: must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME; the database driver refuses this one: failed to configure TLS (sslmode is invalid)`},
		{"database option of pgx", "database: {url: 'postgres://me:hunter22@db/x?default_query_exec_mode=slow'}", `database.url = postgres://me:xxxxx@db/x?…: must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME; the database driver refuses this one: invalid default_query_exec_mode (unknown value "slow")`},
		{"database certificate", "database: {url: 'postgres://me:hunter22@db/x?sslrootcert=/does/not/exist'}", `database.url = postgres://me:xxxxx@db/x?…: must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME; the database driver refuses this one: failed to configure TLS (unable to read CA file: open /does/not/exist: no such file or directory)`},
		{"database password cut by an &", "database: {url: 'postgres://db/x?password=part1&hunter22'}", `database.url = postgres://db/x?…: must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME; the database driver refuses this one: failed to parse as URL`},
		{"database empty", "database: {url: ''}", `database.url: must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME`},
		{"SQLite without path", "database: {url: 'sqlite:'}", `database.url = sqlite:: must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME`},
		{"SQLite in memory", "database: {url: 'sqlite::memory:'}", `database.url = sqlite::memory:: must name a file, without options, because two programs share it`},
		{"SQLite with options", "database: {url: 'sqlite:x.db?mode=ro'}", `database.url = sqlite:x.db?mode=ro: must name a file, without options, because two programs share it`},

		{"provider", agent("provider: claudia"), `agents.response.provider = "claudia": must be one of gemini, openai, anthropic, demo`},
		{"Gemini's key", agent("provider: gemini"), `llm.gemini.api_key: is required because an agent uses the provider gemini (demo needs none)`},
		{"OpenAI's key", agent("provider: openai, model: m"), `llm.openai.api_key: is required, or llm.openai.base_url, because an agent uses the provider openai`},
		{"OpenAI's key for one agent", "agents: {response: {provider: demo}, judgment: {provider: demo}, memory: {provider: openai, model: m}}",
			`llm.openai.api_key: is required, or llm.openai.base_url, because an agent uses the provider openai`},
		{"Anthropic's key", agent("provider: anthropic, model: m"), `llm.anthropic.api_key: is required, or llm.anthropic.base_url, because an agent uses the provider anthropic`},
		{"Anthropic's model", agent("provider: anthropic") + "\nllm: {anthropic: {api_key: k}}", `agents.response.model: is required because the provider is anthropic`},
		{"OpenAI's model", agent("provider: openai") + "\nllm: {openai: {api_key: k}}", `agents.response.model: is required because the provider is openai`},
		{"model as number", agent("provider: demo, model: 3.5"), `agents.response.model = 3.5: must be text; put it in quotes`},
		{"tokens", agent("provider: demo, max_output_tokens: 0"), `agents.response.max_output_tokens = 0: must be a whole number from 1 to 1000000`},
		{"temperature", agent("provider: demo, temperature: 2.1"), `agents.response.temperature = 2.1: must be a number from 0 to 2`},
		{"temperature as text", agent("provider: demo, temperature: hot"), `agents.response.temperature = "hot": must be a number`},
		{"fallback's provider", agent("provider: demo, fallback: {provider: claudia}"), `agents.response.fallback.provider = "claudia": must be one of gemini, openai, anthropic, demo`},
		{"fallback without a provider", agent("provider: demo, fallback: {model: m}"), `agents.response.fallback.provider: is required where the fallback sets anything else`},
		{"fallback's model", agent("provider: demo, fallback: {provider: openai}") + "\nllm: {openai: {api_key: k}}", `agents.response.fallback.model: is required because the provider is openai`},
		{"fallback's key", agent("provider: demo, fallback: {provider: anthropic, model: m}"), `llm.anthropic.api_key: is required, or llm.anthropic.base_url, because an agent uses the provider anthropic`},
		{"fallback's own key", agent("provider: demo, fallback: {provider: gemini, base_url: 'https://x'}"), `agents.response.fallback.api_key: is required because the agent uses the provider gemini`},
		{"fallback's tokens", agent("provider: demo, fallback: {provider: demo, max_output_tokens: -1}"), `agents.response.fallback.max_output_tokens = -1: must be a whole number from 1 to 1000000`},
		{"fallback of a fallback", agent("provider: demo, fallback: {provider: demo, fallback: {provider: demo}}"), `agents.response.fallback.fallback: is not a known key; did you mean agents.response.fallback?`},

		{"endpoint", "llm: {gemini: {endpoint: 'ftp://x'}}", `llm.gemini.endpoint = "ftp://x": must be an http:// or https:// address`},
		{"base URL with password", "llm: {openai: {base_url: 'ftp://me:hunter22@x/?key=hunter22'}}", `llm.openai.base_url = "ftp://me:xxxxx@x/?…": must be an http:// or https:// address`},
		{"base URL without scheme", "llm: {openai: {base_url: 'localhost:11434'}}", `llm.openai.base_url = "localhost:11434": must be an http:// or https:// address`},

		{"price below nothing", "llm: {prices: {gpt-4.1/mini: {input: -1}}}", `llm.prices.gpt-4.1/mini.input = -1: must be a number from 0 to 1000000`},
		{"price as text", "llm: {prices: {gpt-4.1/mini: {output: cheap}}}", `llm.prices.gpt-4.1/mini.output = "cheap": must be a number`},
		{"price that is no number", "llm: {prices: {a: {output: .inf}}}", `llm.prices.a.output = +Inf: must be a number from 0 to 1000000`},
		{"price of something else", "llm: {prices: {a: {cached: 1}}}", `llm.prices.a.cached: is not a known key; did you mean cached_input?`},
		{"price of no model", "llm: {prices: {'': {input: 1}}}", `llm.prices.: must name a model`},
		{"one price for all", "llm: {prices: {a: 3}}", `llm.prices.a = 3: must be a mapping of keys to values`},

		{"worker's address", "worker: {address: nowhere}", `worker.address = "nowhere": must be HOST:PORT or :PORT with a port from 0 to 65535`},
		{"log format", "log: {format: xml}", `log.format = "xml": must be one of json, text`},
		{"log level", "log: {level: trace}", `log.level = "trace": must be one of debug, info, warn, error`},

		{"persona without a name", "persona: {name: ''}", `persona.name = "": must be one line of 1 to 80 characters`},
		{"the limit of the seeds", "response: {message_limit: 20}",
			"response.message_limit: is not a known key; response.channel_messages_limit took its place"},
		{"their interval", "response: {check_interval_seconds: 60}", "response.check_interval_seconds: is not a known key; nothing is checked at intervals any more: " +
			"response.min_wait_seconds and response.max_wait_seconds say when a conversation is judged"},
		{"their skipping", "response: {judgment_skip: {enabled: true, threshold: 0.7}}", "response.judgment_skip: is not a known key; no judgment is skipped or repeated any more: " +
			"each conversation is judged once, when it has been quiet for response.min_wait_seconds"},
		{"spellings as a text", "persona: {names: mio}", `persona.names = "mio": must be a list of texts`},
		{"empty spelling", "persona: {names: [mio, '']}", `persona.names[1] = "": must be one line of 1 to 80 characters`},
		{"persona of two lines", "persona: {name: \"a\\nb\"}", `persona.name = "a\nb": must be one line of 1 to 80 characters`},
		{"language", "language: fr", `language = "fr": must be one of en, ja`},
		{"time zone", "time_zone: Mars/Base", `time_zone = "Mars/Base": must be the IANA name of a time zone, such as UTC or Asia/Tokyo`},
		{"time zone of the machine", "time_zone: Local", `time_zone = "Local": must be the IANA name of a time zone, such as UTC or Asia/Tokyo`},
		{"templates", "templates_dir: /does/not/exist", `templates_dir = "/does/not/exist": must be a directory that exists, or empty`},

		{"negative wait", "response: {min_wait_seconds: -1}", `response.min_wait_seconds = -1: must be a whole number from 0 to 86400`},
		{"wait in milliseconds", "response: {min_wait_seconds: 300000}", `response.min_wait_seconds = 300000: must be a whole number from 0 to 86400`},
		{"jitter", "response: {jitter_ratio: 1.01}", `response.jitter_ratio = 1.01: must be a number from 0 to 1`},
		{"jitter that is no number", "response: {jitter_ratio: .nan}", `response.jitter_ratio = NaN: must be a number from 0 to 1`},
		{"longest wait in milliseconds", "response: {max_wait_seconds: 1800000}", `response.max_wait_seconds = 1800000: must be a whole number from 0 to 604800`},
		{"longest wait below quiet time", "response: {min_wait_seconds: 60, max_wait_seconds: 59}", `response.max_wait_seconds = 59: must be at least min_wait_seconds, which is 60`},
		{"quiet time above the default", "response: {min_wait_seconds: 3600}", `response.max_wait_seconds = 1800: must be at least min_wait_seconds, which is 3600`},
		{"delay", "response: {max_delay_seconds: -5}", `response.max_delay_seconds = -5: must be a whole number from 0 to 86400`},
		{"form of a thread", "response: {thread_as: chat}", `response.thread_as = "chat": must be one of transcript, turns`},
		{"call by name", "response: {named_wait_seconds: 86401}", `response.named_wait_seconds = 86401: must be a whole number from 0 to 86400`},
		{"follow-up", "response: {follow_up_wait_seconds: -5}", `response.follow_up_wait_seconds = -5: must be a whole number from 0 to 86400`},
		{"age", "response: {max_message_age_seconds: 0}", `response.max_message_age_seconds = 0: must be a whole number from 1 to 2678400`},
		{"age within the quiet time", "response: {max_message_age_seconds: 60, jitter_ratio: 0}",
			`response.max_message_age_seconds = 60: must be more than the longest quiet time, which is 300 with min_wait_seconds 300, jitter_ratio 0 and max_wait_seconds 1800`},
		{"age as long as the longest quiet time", "response: {max_message_age_seconds: 390}",
			`response.max_message_age_seconds = 390: must be more than the longest quiet time, which is 390 with min_wait_seconds 300, jitter_ratio 0.3 and max_wait_seconds 1800`},
		{"quiet time above the default age", "response: {min_wait_seconds: 43200, jitter_ratio: 0, max_wait_seconds: 90000}",
			`response.max_message_age_seconds = 43200: must be more than the longest quiet time, which is 43200 with min_wait_seconds 43200, jitter_ratio 0 and max_wait_seconds 90000`},
		{"age as long as the longest wait", "response: {max_message_age_seconds: 320, max_wait_seconds: 320}",
			`response.max_message_age_seconds = 320: must be more than the longest quiet time, which is 320 with min_wait_seconds 300, jitter_ratio 0.3 and max_wait_seconds 320`},
		{"calls", "response: {daily_calls: -1}", `response.daily_calls = -1: must be a whole number from 0 to 1000000`},
		{"tokens of a day", "response: {daily_tokens: 2000000000}", `response.daily_tokens = 2000000000: must be a whole number from 0 to 1000000000`},
		{"quiet hours", "response: {quiet_hours: at night}", `response.quiet_hours = "at night": must be HH:MM-HH:MM from one time of day to another, such as 22:00-07:00, or empty`},
		{"quiet hours of no length", "response: {quiet_hours: '07:00-07:00'}", `response.quiet_hours = "07:00-07:00": must be HH:MM-HH:MM from one time of day to another, such as 22:00-07:00, or empty`},
		{"quiet hours to midnight", "response: {quiet_hours: '22:00-24:00'}", `response.quiet_hours = "22:00-24:00": must be HH:MM-HH:MM from one time of day to another, such as 22:00-07:00, or empty`},
		{"quiet hours as YAML reads them", "response: {quiet_hours: 2200}", `response.quiet_hours = 2200: must be text; put it in quotes`},
		{"messages", "response: {channel_messages_limit: 0}", `response.channel_messages_limit = 0: must be a whole number from 1 to 1000`},
		{"channel days", "response: {active_channel_days: 0}", `response.active_channel_days = 0: must be a whole number from 1 to 365`},
		{"thread days", "response: {thread_memory_days: 366}", `response.thread_memory_days = 366: must be a whole number from 1 to 365`},
		{"idle hours", "response: {idle_close_hours: 0}", `response.idle_close_hours = 0: must be a whole number from 1 to 744`},

		{"memory interval", "memory: {interval_seconds: 0}", `memory.interval_seconds = 0: must be a whole number from 1 to 604800`},
		{"memory window", "memory: {short_term_window_hours: 0}", `memory.short_term_window_hours = 0: must be a whole number from 1 to 744`},
		{"long summary", "memory: {long_term_summary_max_tokens: 0}", `memory.long_term_summary_max_tokens = 0: must be a whole number from 1 to 1000000`},
		{"short summary", "memory: {short_term_summary_max_tokens: 0}", `memory.short_term_summary_max_tokens = 0: must be a whole number from 1 to 1000000`},
		{"search results", "memory: {search_results: 51}", `memory.search_results = 51: must be a whole number from 0 to 50`},

		{"shadow sample", "shadow: {sample: 1.5}", `shadow.sample = 1.5: must be a number from 0 to 1`},
		{"shadow calls", "shadow: {daily_calls: -1}", `shadow.daily_calls = -1: must be a whole number from 0 to 1000000`},
		{"shadow judges as names", "shadow: {judges: strict}", `shadow.judges = "strict": must be a list of mappings`},
		{"shadow judge without a name", "shadow: {judges: [{provider: demo}]}", `shadow.judges[0].name = "": must be 1 to 40 letters, digits and any of . _ - between them`},
		{"shadow judges of one name", "shadow: {judges: [{name: a, provider: demo}, {name: a, provider: demo}]}", `shadow.judges[1].name = "a": is also the name of shadow.judges[0]`},
		{"shadow judge of nobody", "shadow: {judges: [{name: a}]}", `shadow.judges[0].provider = "": must be one of gemini, openai, anthropic, demo`},
		{"shadow judge without a model", "shadow: {judges: [{name: a, provider: openai}]}\nllm: {openai: {api_key: k}}", `shadow.judges[0].model: is required because the provider is openai`},
		{"shadow judge without a key", "shadow: {judges: [{name: a, provider: anthropic, model: m}]}", `llm.anthropic.api_key: is required, or llm.anthropic.base_url, because an agent uses the provider anthropic`},
		{"shadow judge that is never sure", "shadow: {judges: [{name: a, provider: demo, min_confidence: 2}]}", `shadow.judges[0].min_confidence = 2: must be a number from 0 to 1`},
		{"shadow judge's templates", "shadow: {judges: [{name: a, provider: demo, templates_dir: /nowhere}]}", `shadow.judges[0].templates_dir = "/nowhere": must be a directory that exists, or empty`},
		{"unknown key of a shadow judge", "shadow: {judges: [{name: a, provider: demo, modell: m}]}", `shadow.judges[0].modell: is not a known key; did you mean model?`},

		{"ledger kept too short", "retention: {ledger_days: 31}", `retention.ledger_days = 31: must be a whole number from 32 to 36500, or 0 for ever`},
		{"ledger kept for less than nothing", "retention: {ledger_days: -1}", `retention.ledger_days = -1: must be a whole number from 32 to 36500, or 0 for ever`},
		{"messages kept too short", "retention: {messages_days: 7}", `retention.messages_days = 7: must be a whole number from 32 to 36500, or 0 for ever`},
		{"messages kept too long", "retention: {messages_days: 36501}", `retention.messages_days = 36501: must be a whole number from 32 to 36500, or 0 for ever`},
		{"messages kept no longer than threads are looked at", "retention: {messages_days: 90}\nresponse: {thread_memory_days: 90}",
			`retention.messages_days = 90: must be more than response.thread_memory_days, which is 90, or 0 for ever`},
		{"versions kept", "retention: {memory_versions_days: 40000}", `retention.memory_versions_days = 40000: must be a whole number from 1 to 36500, or 0 for ever`},

		{"channel mode", "channels: {general: {mode: quiet}}", `channels.general.mode = "quiet": must be one of judge, mention, all, off`},
		{"channel mode false", "channels: {general: {mode: false}}", `channels.general.mode = false: must be text; put it in quotes`},
		{"outsiders", slack("outsiders_may: [post]"), `slack.outsiders_may[0] = "post": must be one of status, why, snooze, mute, hush, answer_now, notes, forget`},
		{"channel memory", "channels: {general: {remember: yes}}", `channels.general.remember = "yes": must be one of everywhere, here, nowhere`},
		{"channel bots", "channels: {general: {bots: all}}", `channels.general.bots = "all": must be ignore, judge, or a list of the ids of apps, A…, and of bots, B…`},
		{"channel bots by name", "channels: {general: {bots: [A0123456789, judge]}}", `channels.general.bots[1] = "judge": must be ignore, judge, or a list of the ids of apps, A…, and of bots, B…`},
		{"channel bots of another kind", "channels: {general: {bots: 7}}", `channels.general.bots = 7: must be ignore, judge, or a list of the ids of apps, A…, and of bots, B…`},
		{"playbooks of a workspace", workspace("playbooks_dir: /nowhere"), `workspaces.T0000001.playbooks_dir = "/nowhere": must be a directory that exists, or empty`},
		{"workspace bots", workspace("bots: U0123456789"), `workspaces.T0000001.bots = "U0123456789": must be ignore, judge, or a list of the ids of apps, A…, and of bots, B…`},
		{"channel wait", "channels: {general: {min_wait_seconds: -1}}", `channels.general.min_wait_seconds = -1: must be a whole number from 0 to 86400`},
		{"channel longest wait", "channels: {general: {max_wait_seconds: -1}}", `channels.general.max_wait_seconds = -1: must be a whole number from 0 to 604800`},
		{"channel delay", "channels: {general: {max_delay_seconds: -1}}", `channels.general.max_delay_seconds = -1: must be a whole number from 0 to 86400`},
		{"channel follow-up", "channels: {general: {follow_up_wait_seconds: -1}}", `channels.general.follow_up_wait_seconds = -1: must be a whole number from 0 to 86400`},
		{"channel age", "channels: {general: {max_message_age_seconds: 0}}", `channels.general.max_message_age_seconds = 0: must be a whole number from 1 to 2678400`},
		{"channel age within the quiet time", "channels: {general: {max_message_age_seconds: 60}}",
			`channels.general.max_message_age_seconds = 60: must be more than the longest quiet time, which is 390 with min_wait_seconds 300, jitter_ratio 0.3 and max_wait_seconds 1800`},
		{"channel age within the channel's quiet time", "channels: {general: {mode: all, bots: judge, max_message_age_seconds: 600, min_wait_seconds: 600, jitter_ratio: 0}}",
			`channels.general.max_message_age_seconds = 600: must be more than the longest quiet time, which is 600 with min_wait_seconds 600, jitter_ratio 0 and max_wait_seconds 1800`},
		{"channel quiet time above the age", "channels: {general: {min_wait_seconds: 40000, max_wait_seconds: 80000}}",
			`channels.general.min_wait_seconds = 40000: must keep the longest quiet time (now 52000) below response.max_message_age_seconds (43200), unless the channel sets its own max_message_age_seconds`},
		{"channel jitter above the age", "response: {max_message_age_seconds: 400}\nchannels: {general: {jitter_ratio: 0.5}}",
			`channels.general.jitter_ratio = 0.5: must keep the longest quiet time (now 450) below response.max_message_age_seconds (400), unless the channel sets its own max_message_age_seconds`},
		{"channel longest wait above the age", "response: {max_message_age_seconds: 310, max_wait_seconds: 300}\nchannels: {general: {max_wait_seconds: 900}}",
			`channels.general.max_wait_seconds = 900: must keep the longest quiet time (now 390) below response.max_message_age_seconds (310), unless the channel sets its own max_message_age_seconds`},
		{"channel jitter", "channels: {general: {jitter_ratio: -0.1}}", `channels.general.jitter_ratio = -0.1: must be a number from 0 to 1`},
		{"channel longest wait below the quiet time", "channels: {general: {max_wait_seconds: 299}}", `channels.general.max_wait_seconds = 299: must be at least min_wait_seconds, which is 300`},
		{"channel quiet time above the longest wait", "channels: {general: {min_wait_seconds: 1801}}", `channels.general.min_wait_seconds = 1801: must be at most response.max_wait_seconds (1800), unless the channel sets its own max_wait_seconds`},
		{"channel calls", "channels: {general: {daily_calls: -1}}", `channels.general.daily_calls = -1: must be a whole number from 0 to 1000000`},
		{"channel tokens", "channels: {general: {daily_tokens: 1.5}}", `channels.general.daily_tokens = 1.5: must be a whole number`},
		{"channel quiet hours", "channels: {general: {quiet_hours: 7-9}}", `channels.general.quiet_hours = "7-9": must be HH:MM-HH:MM from one time of day to another, such as 22:00-07:00, or empty`},
		{"channel time zone", "channels: {general: {time_zone: Local}}", `channels.general.time_zone = "Local": must be the IANA name of a time zone, such as UTC or Asia/Tokyo`},
		{"channel model", "channels: {general: {model: \"a\\nb\"}}", `channels.general.model = "a\nb": must be one line`},
		{"channel persona", "channels: {general: {persona: {system_prompt: x}}}", `channels.general.persona = (a mapping): must be text`},
		{"channel twice", "channels: {'#general': {}, General: {}}", `channels.General: is the same channel as channels.#general`},
		{"channel without a name", "channels: {'#': {}}", `channels.#: must name a channel`},
		{"channel as text", "channels: {general: off}", `channels.general = "off": must be a mapping of keys to values`},
		{"channel with dots and brackets", "channels: {'a.[b].c': {jitter_ratio: x}}", `channels.a.[b].c.jitter_ratio = "x": must be a number`},
		{"channels as list", "channels: [general]", `channels = (a list): must be a mapping of keys to values`},

		{"workspace by name", "workspaces: {acme: {mode: off}}", `workspaces.acme: must be the id of a workspace, T…, or of an organisation, E…`},
		{"workspace as text", "workspaces: {T0000001: off}", `workspaces.T0000001 = (hidden): must be a mapping of keys to values`},
		{"unknown key of a workspace", workspace("min_wait: 1"), `workspaces.T0000001.min_wait: is not a known key; did you mean min_wait_seconds?`},
		{"key of all workspaces alone", workspace("hush_reaction: x"), `workspaces.T0000001.hush_reaction: is not a known key; did you mean slack.hush_reaction?`},
		{"workspace's mode", workspace("mode: quiet"), `workspaces.T0000001.mode = "quiet": must be one of judge, mention, all, off`},
		{"workspace's language", workspace("language: fr"), `workspaces.T0000001.language = "fr": must be one of en, ja`},
		{"workspace's operators", workspace("operators: [ann]"), `workspaces.T0000001.operators[0] = "ann": must be the id of a user, U… or W…`},
		{"workspace's permissions", workspace("everyone_may: [fly]"), `workspaces.T0000001.everyone_may[0] = "fly": must be one of status, why, snooze, mute, hush, answer_now, notes, forget, approve, settings`},
		{"workspace's budget", workspace("daily_calls: -1"), `workspaces.T0000001.daily_calls = -1: must be a whole number from 0 to 100000000`},
		{"workspace's persona as a list", workspace("persona: [a]"), `workspaces.T0000001.persona = (a list): must be a mapping of keys to values`},
		{"workspace's spelling", workspace(`persona: {names: ["a\nb"]}`), `workspaces.T0000001.persona.names[0] = "a\nb": must be one line of 1 to 80 characters`},
		{"workspace's name", workspace(`persona: {name: "a\nb"}`), `workspaces.T0000001.persona.name = "a\nb": must be one line of 1 to 80 characters`},
		{"workspace's wait", workspace("min_wait_seconds: 1801"), `workspaces.T0000001.min_wait_seconds = 1801: must be at most response.max_wait_seconds (1800), unless the workspace sets its own max_wait_seconds`},
		{"workspace's tools", workspace("tools: [desk__find]"), `workspaces.T0000001.tools[0] = "desk__find": must be one of ` + strings.Join(chat.ToolNames(), ", ") + `, or SERVER__TOOL of one of mcp.servers`},
		{"workspace's server", workspace("mcp: {servers: {desk: {channels: all}}}"), `workspaces.T0000001.mcp.servers.desk: must have one of url and command`},
		{"workspace's provider", workspace("agents: {response: {provider: claudia}}"), `workspaces.T0000001.agents.response.provider = "claudia": must be one of gemini, openai, anthropic, demo`},
		{"workspace's key", workspace("agents: {response: {provider: gemini}}"), `llm.gemini.api_key: is required because an agent uses the provider gemini (demo needs none)`},
		{"workspace's own key", workspace("agents: {memory: {provider: gemini, base_url: 'https://x'}}"), `workspaces.T0000001.agents.memory.api_key: is required because the agent uses the provider gemini`},
		{"workspace's model", workspace("agents: {response: {provider: openai, api_key: k}}"), `workspaces.T0000001.agents.response.model: is required because the provider is openai`},
		{"workspace's fallback", workspace("agents: {response: {fallback: {model: m}}}"), `workspaces.T0000001.agents.response.fallback.provider: is required where the fallback sets anything else`},
		{"workspace's variable", workspace("agents: {response: {provider: gemini, base_url: 'https://x', api_key: '${WHO}'}}"), `workspaces.T0000001.agents.response.api_key: not set in the environment: WHO`},
		{"variable that only a workspace uses", "llm: {anthropic: {api_key: '${WHO}'}}\n" + workspace("agents: {response: {provider: anthropic, model: m}}"), `llm.anthropic.api_key: not set in the environment: WHO`},
		{"organisation that is locked", "workspaces: {E0000001: {locked: true}}", `workspaces.E0000001.locked = true: must be set for each workspace, T…, of the organisation`},
		{"tone of two lines", "channels: {general: {tone: \"a\\nb\"}}", `channels.general.tone = "a\nb": must be one line of up to 200 characters`},
		{"organisation that is not remembered", "workspaces: {E0000001: {remember: nowhere}}", `workspaces.E0000001.remember = "nowhere": must be set for each workspace, T…, of the organisation`},

		{"unknown section", "sever: {}", `sever: is not a known key; did you mean server?`},
		{"unknown key", "response: {min_wait_second: 1}", `response.min_wait_second: is not a known key; did you mean min_wait_seconds?`},
		{"key without its unit", "response: {min_wait: 1}", `response.min_wait: is not a known key; did you mean min_wait_seconds?`},
		{"key in capitals", "response: {Jitter_Ratio: 1}", `response.Jitter_Ratio: is not a known key; did you mean jitter_ratio?`},
		{"key of another section", "thread_history_limit: 5", `thread_history_limit: is not a known key; did you mean slack.thread_history_limit?`},
		{"unknown key of a channel", "channels: {general: {modus: all}}", `channels.general.modus: is not a known key; did you mean mode?`},
		{"unknown key of a channel, spelt alike", "channels: {C0000001: {quite_hours: '22:00-07:00'}}", `channels.C0000001.quite_hours: is not a known key; did you mean quiet_hours?`},
		{"key of response alone", "channels: {general: {idle_close_hours: 1}}", `channels.general.idle_close_hours: is not a known key; did you mean response.idle_close_hours?`},
		{"what no file has", "'-': {path: x}", `-: is not a known key`},
		{"key like no other", "wallpaper: red", `wallpaper: is not a known key`},
		{"unknown key without value", "wallpaper:", `wallpaper: is not a known key`},
		{"section as text", "response: soon", `response = "soon": must be a mapping of keys to values`},
		{"text as mapping", "language: {en: true}", `language = (a mapping): must be text`},
		{"text as list", "language: [en]", `language = (a list): must be text`},
		{"duplicate key", "language: en\nlanguage: ja", `language: is set in line 1 and again in line 2; set it once`},
		{"key that is a list", "[a]: b", `?: line 1: a key must be plain text`},
		{"merge of text", "response: {<<: x}", `response.<<: must be a mapping, or a list of mappings`},
		{"unknown tag", "language: !lang en", `language: line 1: the tag !lang is unknown`},
		{"tag that lies", "language: !!int en", `language: line 1: the value does not fit its tag !!int`},

		{"variable not set", "persona: {name: '${WHO}'}", `persona.name: not set in the environment: WHO`},
		{"two variables not set", "persona: {name: '${WHO} ${ELSE}'}", `persona.name: not set in the environment: WHO, ELSE`},
		{"variable never closed", "persona: {name: '${WHO'}", `persona.name: has a ${ that is neither ${NAME} nor ${NAME:-default}; write $${ for a literal ${`},
		{"variable with a bad name", "persona: {name: '${1}'}", `persona.name: has a ${ that is neither ${NAME} nor ${NAME:-default}; write $${ for a literal ${`},
		{"variable in a default", "persona: {name: '${WHO:-${ELSE}}'}", `persona.name: has a ${ that is neither ${NAME} nor ${NAME:-default}; write $${ for a literal ${`},
		{"variable as a shell would ask", "persona: {name: '${WHO:?}'}", `persona.name: has a ${ that is neither ${NAME} nor ${NAME:-default}; write $${ for a literal ${`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := faultsOf(t, over(tc.text), env{"EMPTY": "", "WORD": "word"})
			if len(got) != 1 || got[0].String() != tc.want {
				t.Errorf("got  %v\nwant %s", got, tc.want)
			}
		})
	}
}

// The settings of a channel with a duplicate or empty name are checked too, so all faults are
// reported at once.
func TestAChannelWithAWrongNameIsChecked(t *testing.T) {
	for text, want := range map[string][]string{
		"channels: {'#general': {}, General: {mode: some}}": {
			"channels.General: is the same channel as channels.#general",
			`channels.General.mode = "some": must be one of judge, mention, all, off`,
		},
		"channels: {'#': {mode: some}}": {
			"channels.#: must name a channel", `channels.#.mode = "some": must be one of judge, mention, all, off`,
		},
	} {
		var got []string
		for _, f := range faultsOf(t, over(text), nil) {
			got = append(got, f.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got  %q\nwant %q", text, got, want)
		}
	}
}

// After an unencoded @, a part of the password is parsed as the host, the database or an option.
func TestNoPartOfAPasswordIsShown(t *testing.T) {
	want := `database.url = (hidden): must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME with one @, before HOST; elsewhere, such as in a password, write %40 for @, %2F for /, %3F for ?, %23 for #, %25 for %`
	for _, address := range []string{
		"u:part1@part2@h:99999/x", "u:part1@part2@h:5432/x", "u:12/part2@h/x", "u:12?part2@h/x", "u:12#part2@h/x",
		"u:part1@12/part2@h/x", "u:part1@12?part2@h/x", "u:part1@12#part2@h/x", "h/x?password=part1@part2",
		"u:part1/part2@h/x", "u:part1?part2@h/x", "u:part1#part2@h/x", "u:part1%part2@h/x", "u:part1%@h/x",
	} {
		got := faultsOf(t, over("database: {url: 'postgres://"+address+"'}"), nil)
		if len(got) != 1 || got[0].String() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", address, got, want)
		}
	}
}

// The Postgres driver also reads the environment, so a fault names its variables.
func TestADatabaseFaultNamesTheDriversVariables(t *testing.T) {
	t.Setenv("PGSSLMODE", "banana")
	t.Setenv("PGPASSWORD", "hunter22")
	want := `database.url = postgres://db/x: must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME; the database driver refuses this one: ` +
		`failed to configure TLS (sslmode is invalid) (the environment has PGPASSWORD, PGSSLMODE)`
	if got := faultsOf(t, over("database: {url: 'postgres://db/x'}"), nil); len(got) != 1 || got[0].String() != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

// over appends to text the sections of a valid file that it lacks.
func over(text string) string {
	for _, section := range []string{
		"slack: {bot_token: xoxb-token, signing_secret: signing-secret}",
		"agents: {response: {provider: demo}, judgment: {provider: demo}, memory: {provider: demo}}",
	} {
		name, _, _ := strings.Cut(section, ":")
		if !strings.HasPrefix(text, name+":") && !strings.Contains(text, "\n"+name+":") {
			text += "\n" + section
		}
	}
	return text
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	got := faultsOf(t, `
slack: {bot_tokne: x, thread_history_limit: 500, signing_secret: '${SECRET}'}
agents: {response: {provider: openai}, judgment: {model: 5}, memory: {provider: none}}
language: fr
response: {jitter_ratio: lots, min_wait_seconds: -1}
channels:
  general: {mode: 1, bots: none, jitter_ratio: 7, max_delay: 3}
`, env{"THREAD_HISTORY_LIMIT": "x"})
	var keys []string
	for _, f := range got {
		keys = append(keys, f.Key)
	}
	want := `THREAD_HISTORY_LIMIT
agents.judgment.model
agents.memory.provider
agents.response.model
channels.general.bots
channels.general.jitter_ratio
channels.general.max_delay
channels.general.mode
language
llm.gemini.api_key
llm.openai.api_key
response.jitter_ratio
response.min_wait_seconds
slack.bot_token
slack.bot_tokne
slack.signing_secret
slack.thread_history_limit`
	if strings.Join(keys, "\n") != want {
		t.Errorf("got faults of\n%s\nwant\n%s", strings.Join(keys, "\n"), want)
	}
}

func TestAFaultIsOneLine(t *testing.T) {
	got := faultsOf(t, over("language: \"a\\nslack.bot_token: fine\\r\\u2028x\"\n\"k\\ney\": 1"), nil)
	if len(got) != 2 {
		t.Fatalf("got %v", got)
	}
	for _, f := range got {
		if strings.ContainsAny(f.String(), "\n\r\u2028") {
			t.Errorf("%q", f.String())
		}
	}
}

func TestALongValueIsCut(t *testing.T) {
	got := faultsOf(t, over("language: "+strings.Repeat("長", 5000)), nil)
	if n := len(got[0].String()); n > 400 {
		t.Errorf("the fault has %d bytes", n)
	}
}

func TestNoFaultShowsASecret(t *testing.T) {
	const secret = "hunter22hunter22"
	e := env{"SLACK_BOT_TOKEN": secret, "SECRET_THING": secret, "DB": "postgres://me:" + secret + "@db/x"}
	for _, text := range []string{
		"slack: " + secret,
		"slack: {bot_token: [" + secret + "], signing_secret: {a: " + secret + "}, app_token: " + secret + ", api_url: " + secret + "}",
		"slack: {bot_token: '${SLACK_BOT_TOKEN}', thread_history_limit: '${SLACK_BOT_TOKEN}'}",
		"slack: {bot_token: " + secret + "}\nlanguage: x" + secret + "\n" + secret + ": 1",
		"slack: {bot_tokn: " + secret + "}",
		"language: '${SECRET_THING}'",
		"language: '" + strings.Repeat("x", 70) + "${SECRET_THING}'",
		"database: " + secret,
		"database: {url: 'mysql://me:" + secret + "@db/x'}",
		"database: {url: 'postgres://me:" + secret + "@db:bad/x'}",
		"database: {url: 'password=" + secret + "'}",
		"database: {url: 'mysql://db/x?password=" + secret + "'}",
		"database: {url: 'mysql://db/x#" + secret + "'}",
		"database: {url: ['" + secret + "']}",
		"database: {url: '${DB}'}\nlanguage: '${DB}'",
		"llm: {gemini: " + secret + ", openai: {api_key: [" + secret + "], base_url: 'me:" + secret + "@x'}}",
		"llm: " + secret,
		"llm: {gemini: " + secret + "}",
		"llm: {openai: " + secret + "}",
		"encryption: " + secret,
		"slack: {client_secret: " + secret + "}\nlanguage: x" + secret,
		"workspaces: {T0000001: {agents: {response: {provider: openai, api_key: " + secret + "}}, language: x" + secret + "}}",
	} {
		for _, f := range faultsOf(t, text, e) {
			if strings.Contains(fmt.Sprintf("%+v %s", f, f), secret[:12]) {
				t.Errorf("%s\nshows %s", text, f)
			}
		}
	}
}

func TestAPrintedConfigShowsNoSecret(t *testing.T) {
	const secret = "hunter22hunter22"
	c := parse(t, over(strings.ReplaceAll(`slack: {bot_token: SECRET, signing_secret: SECRET, app_token: SECRET}
llm: {gemini: {api_key: SECRET}, openai: {api_key: SECRET}}
workspaces: {T0000001: {agents: {response: {api_key: SECRET}}, mcp: {servers: {desk: {command: x, env: {A: SECRET}}}}}}
database: {url: 'postgres://me:SECRET@db/x'}`, "SECRET", secret)), nil)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "slack", c.Slack, "llm", c.LLM, "token", c.Slack.BotToken)
	one := c.ForWorkspace("T0000001", "")
	for _, printed := range []string{fmt.Sprint(c, one), fmt.Sprintf("%+v %#v", one, one), fmt.Sprintf("%+v %#v %s %q", c, c, c.Slack.BotToken, c.LLM.OpenAI), log.String()} {
		if strings.Contains(printed, secret) {
			t.Errorf("printed: %s", printed)
		}
	}
	if string(c.Slack.BotToken) != secret {
		t.Errorf("the token is %q", string(c.Slack.BotToken))
	}
	if got := config.Secret("").String(); got != "" {
		t.Errorf("no secret shows as %q", got)
	}
}

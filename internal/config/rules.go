package config

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"myao/internal/chat"
)

// The upper limits are far above what makes sense. They catch milliseconds given as seconds.
const (
	maxThreadHistory = 100
	maxSearchResults = 50
	daySeconds       = 86_400      // for waits
	weekSeconds      = 604_800     // for intervals
	monthSeconds     = 31 * 86_400 // for ages
	maxDays          = 365
	maxHours         = 24 * 31
	maxTokens        = 1_000_000
	maxPrice         = 1_000_000
	// minKeptDays is longer than monthSeconds and maxHours, so nothing is deleted that something
	// still waits for or reads.
	minKeptDays = 32
	maxKeptDays = 36_500
)

// rules are the rules for single values, by type and field. A field of Channel without a rule has
// the rule of the same field of Response. The rule of a list applies to its items.
var rules = map[string]rule{
	"Slack.APIURL":             text(webURL),
	"Slack.ThreadHistoryLimit": whole(1, maxThreadHistory),
	"Slack.Command": matches(`^/[\p{Ll}\p{Lo}\p{N}_-]{1,31}$`,
		"must be a slash and up to 31 lower-case letters, digits and any of - _"),
	"Slack.AllowedWorkspaces": matches(`^([TE][A-Z0-9]{2,}|\*)$`,
		"must be the id of a workspace, T…, or of an organisation, E…, or * alone for any"),
	"Slack.Operators":       operator,
	"Slack.EveryoneMay":     everyonesPermissions,
	"Slack.OutsidersMay":    permissions,
	"Slack.HushReaction":    emoji("shushing_face"),
	"Slack.AnswerReaction":  emoji("robot_face"),
	"Slack.OtherWorkspaces": oneOf(External, Internal),
	"Slack.Feedback":        oneOf(FeedbackAddressed, FeedbackAll, FeedbackOff),

	"Server.Address":   text(address),
	"Server.PublicURL": optional(publicURL),
	"Database.URL":     text(databaseURL),
	"Database.Migrate": oneOf(MigrateAuto, MigrateCheck),

	"Worker.Address":                 optional(address),
	"Worker.MaxConcurrentModelCalls": whole(2, 10_000), // with 1, the SDK's pollers deadlock
	"Worker.ModelCallsPerSecond":     number(0, 10_000),
	"Worker.CachedWorkflows":         whole(1, 1_000_000),
	"Worker.Deployment":              deploymentName,
	"Worker.BuildID":                 deploymentName,

	"Log.Format": oneOf("json", "text"),
	"Log.Level":  oneOf("debug", "info", "warn", "error"),

	"Gemini.Endpoint": optional(webURL),
	"Access.BaseURL":  optional(webURL),
	"Price.Input":     number(0, maxPrice),
	"Price.Output":    number(0, maxPrice),

	"Price.CachedInput": number(0, maxPrice),

	"Agent.Provider":        oneOf(Providers()...),
	"Agent.BaseURL":         optional(webURL),
	"Agent.MaxOutputTokens": whole(1, maxTokens),
	"Agent.Temperature":     number(0, 2),

	"Fallback.Provider":        unlessEmpty(oneOf(Providers()...)),
	"Fallback.BaseURL":         optional(webURL),
	"Fallback.MaxOutputTokens": unlessEmpty(whole(1, maxTokens)),
	"Fallback.Temperature":     number(0, 2),

	"Persona.Name":        text(personaName),
	"Persona.Names":       text(personaName),
	"Config.Language":     language,
	"Config.TimeZone":     text(timeZone),
	"Config.TemplatesDir": optional(directory),
	"Config.PlaybooksDir": optional(directory),

	"Response.MinWaitSeconds":       whole(0, daySeconds),
	"Response.JitterRatio":          number(0, 1),
	"Response.MaxWaitSeconds":       whole(0, weekSeconds),
	"Response.MaxDelaySeconds":      whole(0, daySeconds),
	"Response.FollowUpWaitSeconds":  whole(0, daySeconds),
	"Response.NamedWaitSeconds":     whole(0, daySeconds),
	"Response.MaxMessageAgeSeconds": whole(1, monthSeconds),
	"Response.MinConfidence":        number(0, 1),
	"Response.SecondLook":           oneOf(SecondLookOff, SecondLookWaited, SecondLookAlways),
	"Response.ThreadAs":             oneOf(ThreadAsTranscript, ThreadAsTurns),
	"Response.DailyCalls":           whole(0, 1_000_000),
	"Response.DailyTokens":          whole(0, 1_000_000_000),
	"Response.WorkspaceDailyCalls":  workspaceCalls,
	"Response.WorkspaceDailyTokens": workspaceTokens,
	"Response.QuietHours":           text(quietHours),
	"Response.ChannelMessagesLimit": whole(1, 1000),
	"Response.ActiveChannelDays":    whole(1, maxDays),
	"Response.ThreadMemoryDays":     whole(1, maxDays),
	"Response.IdleCloseHours":       whole(1, maxHours),

	"Channel.Mode":     oneOf(ModeJudge, ModeMention, ModeAll, ModeOff),
	"Channel.Bots":     {keywords: map[string]any{"pattern": `^(ignore|judge|[AB][A-Z0-9]{2,})$|\$\{`}},
	"Channel.Remember": oneOf(RememberEverywhere, RememberHere, RememberNowhere),
	"Channel.Model":    text(line),
	"Channel.TimeZone": text(timeZone),
	"Channel.Language": language,
	"Channel.Tone":     text(tone),
	"Channel.PostTo":   postPlace,

	"Workspace.Language":     language,
	"Workspace.PlaybooksDir": optional(directory),
	"Workspace.EveryoneMay":  everyonesPermissions,
	"Workspace.Operators":    operator,
	"Workspace.DailyCalls":   workspaceCalls,
	"Workspace.DailyTokens":  workspaceTokens,
	"WorkspacePersona.Name":  text(personaName),
	"WorkspacePersona.Names": text(personaName),

	"Tools.Enabled":          oneOf(chat.ToolNames()...),
	"Tools.MaxRounds":        whole(1, 50),
	"Tools.MaxCalls":         whole(1, 500),
	"Tools.MaxSeconds":       whole(1, daySeconds),
	"Tools.MaxResultChars":   whole(500, 1_000_000),
	"Tools.MaxTotalChars":    whole(500, 1_000_000),
	"Tools.ApprovalHours":    whole(1, 24*30),
	"Tools.DenyAddresses":    text(network),
	"Tools.PostTo":           postPlace,
	"Promises.MaxOpen":       whole(1, 200),
	"Promises.MaxPerChannel": whole(1, 10_000),
	"Promises.MaxPerPerson":  whole(1, 1000),
	"Promises.MaxPerGuest":   whole(1, 1000),

	"Shadow.Sample":             number(0, 1),
	"Shadow.DailyCalls":         whole(0, 1_000_000),
	"ShadowJudge.Provider":      oneOf(Providers()...),
	"ShadowJudge.Model":         text(line),
	"ShadowJudge.TemplatesDir":  optional(directory),
	"ShadowJudge.MinConfidence": number(0, 1),

	"Memory.IntervalSeconds":           whole(1, weekSeconds),
	"Memory.ShortTermWindowHours":      whole(1, maxHours),
	"Memory.LongTermSummaryMaxTokens":  whole(1, maxTokens),
	"Memory.ShortTermSummaryMaxTokens": whole(1, maxTokens),
	"Memory.SearchResults":             whole(0, maxSearchResults),
	"Memory.MaxConcurrentScopes":       whole(1, 100),

	"Retention.LedgerDays":         daysOrForever(minKeptDays),
	"Retention.MessagesDays":       daysOrForever(minKeptDays),
	"Retention.MemoryVersionsDays": daysOrForever(1),
	"Retention.UninstalledDays":    daysOrForever(1),
}

// check applies the rules to the values of a section; key is the section's key. With inherits set, zero values stand
// for others.
func check(f *faults, section reflect.Value, key string, inherits bool) {
	inherits = inherits || slices.Contains(overriding[:2], section.Type())
	for name, field := range fields(section.Type()) {
		v := section.FieldByIndex(field.Index)
		if inherits && v.IsZero() {
			continue
		}
		at, rule := join(key, name), ruleOf(section.Type(), field)
		switch v = reflect.Indirect(v); {
		case v.Kind() == reflect.Struct:
			check(f, v, at, inherits)
		case v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Struct:
			for item, v := range v.Seq2() {
				check(f, v, join(at, item.String()), inherits)
			}
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
			for i, v := range v.Seq2() {
				check(f, v, fmt.Sprintf("%s[%d]", at, i.Int()), inherits)
			}
		case rule.check == nil || !v.IsValid():
		case v.Kind() == reflect.Slice:
			for i, v := range v.Seq2() {
				rule.check(f, fmt.Sprintf("%s[%d]", at, i.Int()), v)
			}
		default:
			rule.check(f, at, v)
		}
	}
}

// overriding are the sections whose fields have the rules of the next one, unless they have their own.
var overriding = []reflect.Type{reflect.TypeFor[Workspace](), reflect.TypeFor[Channel](), reflect.TypeFor[Response]()}

func ruleOf(section reflect.Type, field reflect.StructField) rule {
	own, ok := rules[section.Name()+"."+field.Name]
	if next := slices.Index(overriding, section) + 1; !ok && next > 0 && next < len(overriding) {
		return ruleOf(overriding[next], field)
	}
	return own
}

// A rule says what the value of a key must be.
type rule struct {
	// check adds a fault if the value of a key breaks the rule.
	check func(f *faults, key string, v reflect.Value)
	// keywords are what a JSON Schema can say of it.
	keywords map[string]any
}

func whole(low, high int64) rule {
	return rule{func(f *faults, key string, v reflect.Value) {
		if v.Int() < low || v.Int() > high {
			f.add(key, v.Int(), "must be a whole number from %d to %d", low, high)
		}
	}, map[string]any{"minimum": low, "maximum": high}}
}

func number(low, high float64) rule {
	return rule{func(f *faults, key string, v reflect.Value) {
		if x := v.Float(); math.IsNaN(x) || x < low || x > high {
			f.add(key, x, "must be a number from %.f to %.f", low, high)
		}
	}, map[string]any{"minimum": low, "maximum": high}}
}

func daysOrForever(least int64) rule {
	return rule{func(f *faults, key string, v reflect.Value) {
		if days := v.Int(); days != 0 && (days < least || days > maxKeptDays) {
			f.add(key, days, "must be a whole number from %d to %d, or 0 for ever", least, maxKeptDays)
		}
	}, map[string]any{"anyOf": []any{map[string]any{"const": 0}, map[string]any{"type": "integer", "minimum": least,
		"maximum": maxKeptDays}}}}
}

func oneOf[T ~string](allowed ...T) rule {
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	r := text(func(f *faults, key, v string) {
		if !slices.Contains(names, v) {
			f.add(key, v, "must be one of %s", strings.Join(names, ", "))
		}
	})
	r.keywords = map[string]any{"enum": names}
	return r
}

var permissions = oneOf(MayStatus, MayWhy, MaySnooze, MayMute, MayHush, MayAnswerNow, MayNotes, MayForget)

// The rules that a workspace's keys share with those of all.
var (
	operator        = matches(`^[UW][A-Z0-9]+$`, "must be the id of a user, U… or W…")
	language        = oneOf(chat.English, chat.Japanese)
	workspaceCalls  = whole(0, 100_000_000)
	workspaceTokens = whole(0, 1_000_000_000_000)
)

// postPlace is a rule for a place of Tools.PostTo. Ids of people and of direct messages look like names in capitals.
var postPlace = text(func(f *faults, key, v string) {
	listed := strings.TrimSpace(v)
	if name := strings.TrimPrefix(listed, "#"); !channelName.MatchString(name) || nobodysPlace.MatchString(name) {
		f.add(key, v, "must be the id of a channel, C… or G…, its name, or %s; people are reached by %s alone",
			PostMembers, PostMembers)
	}
})

var (
	// channelName matches the name of a channel, without "#", or its id.
	channelName = regexp.MustCompile(`^[\p{L}\p{M}\p{N}_-]{1,80}$`)
	// nobodysPlace matches the ids of people, of workspaces and of direct messages.
	nobodysPlace = regexp.MustCompile(`^[UWDTEB][A-Z0-9]{6,}$`)
)

// everyonesPermissions are permissions and what no outsider may have.
var everyonesPermissions = oneOf(MayStatus, MayWhy, MaySnooze, MayMute, MayHush, MayAnswerNow, MayNotes, MayForget,
	MayApprove, MaySettings)

// emoji is a rule for the name of an emoji, which may be empty.
func emoji(example string) rule {
	return matches(`^[\p{Ll}\p{Lo}\p{M}\p{N}_+'-]{0,100}$`,
		"must be the name of an emoji, such as "+example+", or empty")
}

func matches(pattern, message string) rule {
	form := regexp.MustCompile(pattern)
	r := text(func(f *faults, key, v string) {
		if !form.MatchString(v) {
			f.add(key, v, "%s", message)
		}
	})
	r.keywords = map[string]any{"pattern": pattern}
	return r
}

// text is a rule for the text of a value.
func text(check func(f *faults, key, v string)) rule {
	return rule{check: func(f *faults, key string, v reflect.Value) { check(f, key, v.String()) }}
}

// optional is text that also allows an empty value.
func optional(check func(f *faults, key, v string)) rule { return unlessEmpty(text(check)) }

// unlessEmpty is a rule that also allows the zero value.
func unlessEmpty(r rule) rule {
	relaxed := rule{check: func(f *faults, key string, v reflect.Value) {
		if !v.IsZero() {
			r.check(f, key, v)
		}
	}}
	if r.keywords != nil {
		relaxed.keywords = map[string]any{"anyOf": []any{map[string]any{"enum": []any{"", 0}}, r.keywords}}
	}
	return relaxed
}

// deploymentName excludes the dot and the colon, which separate a deployment's name from its build
// id in Temporal.
var deploymentName = matches(`^[A-Za-z0-9_+@-]{0,128}$`,
	"must be empty, or up to 128 letters, digits and any of - _ + @")

func timeZone(f *faults, key, v string) {
	if _, err := time.LoadLocation(v); err != nil || v == "" || v == "Local" {
		f.add(key, v, "must be the IANA name of a time zone, such as UTC or Asia/Tokyo")
	}
}

func quietHours(f *faults, key, v string) {
	if _, err := ParseQuietHours(v); err != nil {
		f.add(key, v, "must be HH:MM-HH:MM from one time of day to another, such as 22:00-07:00, or empty")
	}
}

func line(f *faults, key, v string) {
	if v != oneLine(v) {
		f.add(key, v, "must be one line")
	}
}

func personaName(f *faults, key, v string) {
	const most = 80
	if v == "" || len([]rune(v)) > most || v != oneLine(v) {
		f.add(key, v, "must be one line of 1 to %d characters", most)
	}
}

// maxTone is the most characters of a tone.
const maxTone = 200

func tone(f *faults, key, v string) {
	if len([]rune(v)) > maxTone || v != oneLine(v) {
		f.add(key, v, "must be one line of up to %d characters", maxTone)
	}
}

func directory(f *faults, key, v string) {
	if info, err := os.Stat(v); err != nil || !info.IsDir() {
		f.add(key, v, "must be a directory that exists, or empty")
	}
}

func webURL(f *faults, key, v string) {
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		f.add(key, redactURL(v), "must be an http:// or https:// address")
	}
}

func publicURL(f *faults, key, v string) {
	u, err := url.Parse(v)
	if err == nil && u.Hostname() != "" && u.User == nil && !strings.ContainsAny(v, "?#") &&
		(u.Scheme == "https" || u.Scheme == "http" && local(u.Hostname())) {
		return
	}
	f.add(key, redactURL(v), "must be an https:// address without a query, such as https://myao.example.com; http:// is "+
		"for localhost alone")
}

// local reports whether a host is this machine.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func network(f *faults, key, v string) {
	if _, err := parseNetwork(v); err != nil {
		f.add(key, v, "must be an IP address such as 203.0.113.7, or a network such as 203.0.113.0/24 or 2001:db8::/32")
	}
}

func address(f *faults, key, v string) {
	_, port, err := net.SplitHostPort(v)
	n, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || n < 0 || n > math.MaxUint16 {
		f.add(key, v, "must be HOST:PORT or :PORT with a port from 0 to 65535")
	}
}

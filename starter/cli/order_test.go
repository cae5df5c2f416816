package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"testing"
	"time"

	"myao/internal/chat"
)

func TestSnoozeDuration(t *testing.T) {
	t.Parallel()
	for l, want := range map[snoozeDuration]time.Duration{
		"90m": 90 * time.Minute, "2h": 2 * time.Hour, "1d": 24 * time.Hour, "1h30m": 90 * time.Minute, "1s": time.Second, "1d12h": 36 * time.Hour, "1d2h30m": 26*time.Hour + 30*time.Minute, "1m30s": 90 * time.Second, "366d": 366 * 24 * time.Hour,
		"367d": 0, "9999d": 0, "8785h": 0, "0d": 0, "0s": 0, "-1h": 0, "1.5d": 0, "365d25h": 0, "1h1d": 0, "500ms": 0, "1.5s": 0, "2": 0, "2 h": 0, "soon": 0, "": 0,
	} {
		got, err := l.duration()
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %s, %v; want %s", l, got, err, want)
		}
		if l != "" && (l.Validate() == nil) != (want > 0) {
			t.Errorf("%q: %v", l, l.Validate())
		}
	}
}

func TestOrderText(t *testing.T) {
	t.Parallel()
	mute := noon.AddDate(100, 0, 0)
	for _, test := range []struct {
		name  string
		order orderResult
		want  string
	}{
		{"snooze", orderResult{Order: "snooze", Silenced: noon.Add(time.Hour)}, "snooze: done in #general, thread 1.2, by cli:carol, until 2026-03-01 13:00:00 UTC"},
		{"mute", orderResult{Order: "mute", Silenced: mute, ChannelSilenced: mute}, "mute: done in #general, thread 1.2, by cli:carol"},
		{"unmute", orderResult{Order: "unmute"}, "unmute: done in #general, thread 1.2, by cli:carol"},
		{"unmute in a channel that was snoozed", orderResult{Order: "unmute", ChannelSilenced: noon}, "unmute: done in #general, thread 1.2, by cli:carol"},
		{"unmute in a channel that is snoozed", orderResult{Order: "unmute", ChannelSilenced: noon.Add(time.Hour)}, "unmute: done in #general, thread 1.2, by cli:carol\n" +
			"The thread stays silent with its channel until 2026-03-01 13:00:00 UTC. To end that: starter unmute general"},
		{"unmute in a channel that is muted", orderResult{Order: "unmute", ChannelSilenced: mute}, "unmute: done in #general, thread 1.2, by cli:carol\n" +
			"The thread stays silent with its channel until it is unmuted. To end that: starter unmute general"},
		{"by a name from the environment", orderResult{Order: "drop", By: "cli:car\x1b[2Jol"}, `drop: done in #general, thread 1.2, by cli:car\x1b[2Jol`},
	} {
		test.order.By = cmp.Or(test.order.By, "cli:carol")
		if got := test.order.text("#general, thread 1.2", "#general", time.UTC, noon); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestCommandLinesOfOperators(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		status int
		says   string
	}{
		"answer-now --help":                                              {0, "starter answer-now '#general' 1700000000.000100"},
		"snooze --help":                                                  {0, "starter snooze --for 2h general"},
		"conversations --help":                                           {0, "starter conversations --phase waiting,delaying"},
		"mute --by carol":                                                {2, "want a channel or --everywhere"},
		"mute general --everywhere":                                      {2, "--everywhere cannot be combined with a channel"},
		"unmute":                                                         {2, "want a channel or --everywhere"},
		"drop":                                                           {2, "want a channel or --all"},
		"drop --all general":                                             {2, "--all cannot be combined with a channel"},
		"drop general --yes":                                             {2, "--yes needs --all"},
		"mute --everywhere --config no.yaml":                             {1, "no.yaml"},
		"snooze general --by carol":                                      {2, "--for"},
		"snooze general --by carol --for soon":                           {2, "want a duration such as 90m, 2h or 1d"},
		"drop general yesterday --by carol":                              {2, "want the ts of a message"},
		"show general 1700000000.000100 and":                             {2, "and"},
		"conversations --phase asleep":                                   {2, "waiting"},
		"conversations --limit 0":                                        {2, "want 1 to 10000"},
		"conversations --limit=-1":                                       {2, "want 1 to 10000"},
		"memory list --limit 0":                                          {2, "--limit 0: want 1 to 10000"},
		"memory history --limit 0":                                       {2, "--limit 0: want 1 to 10000"},
		"why general --limit 0":                                          {2, "--limit 0: want 1 to 1000"},
		"why general --limit 1001":                                       {2, "--limit 1001: want 1 to 1000"},
		"why general --limit 1000 --config no.yaml":                      {1, "no.yaml"},
		"why --help":                                                     {0, "at most 1000"},
		"conversations --limit 10001":                                    {2, "--limit 10001: want 1 to 10000"},
		"conversations --limit 10000 --config no.yaml":                   {1, "no.yaml"},
		"unmute general --by carol --timeout soon":                       {2, "--timeout"},
		"unmute general --by carol --timeout 0":                          {2, "--timeout 0s: want a time above 0"},
		"snooze general --for 1h --timeout=-5s":                          {2, "--timeout -5s: want a time above 0"},
		"answer-now general then --timeout 0":                            {2, "want the ts of a message"},
		"show general --timeout 0s":                                      {2, "--timeout 0s: want a time above 0"},
		"show general yesterday":                                         {2, "want the ts of a message"},
		"memory list general abc":                                        {2, "want the ts of a message"},
		"memory show general abc":                                        {2, "want the ts of a message"},
		"memory history general abc":                                     {2, "want the ts of a message"},
		"memory rollback general abc --to 1":                             {2, "want the ts of a message"},
		"memory correct general abc --text x":                            {2, "want the ts of a message"},
		"memory correct --term long --text -":                            {2, "--text -: leave out --text"},
		"memory correct --term long --text=-":                            {2, "--text -: leave out --text"},
		"memory correct --help":                                          {0, "starter memory correct general --term long"},
		"memory forget general abc":                                      {2, "want the ts of a message"},
		"usage --since 0001-01-01":                                       {2, "want a time from 1970 to 2099"},
		"usage --since 999999d":                                          {2, "want a time from 1970 to 2099"},
		"usage --until 9999-12-31":                                       {2, "want a time from 1970 to 2099"},
		"mute general --by car\x1b[2Jol":                                 {2, "without control characters"},
		"unmute general --by car\u007fol":                                {2, "without control characters"},
		"memory forget general --by car\aol":                             {2, "want a name"},
		"memory rollback general --term long --to 1 --by car\x00ol":      {2, "want a name"},
		"mute general --by " + strings.Repeat("é", 201):                  {2, "at most 200 characters"},
		"mute general --config no.yaml --by " + strings.Repeat("é", 200): {1, "no.yaml"},
		"snooze general --for 1d12h --config no.yaml":                    {1, "no.yaml"},
		"conversations --timeout=-5s":                                    {2, "--timeout -5s: want a time above 0"},
		"unmute general --by carol --config no.yaml":                     {1, "no.yaml"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			status := run(t.Context(), strings.Fields(line), &stdout, &stderr)
			if said := stdout.String() + stderr.String(); status != want.status || !strings.Contains(said, want.says) {
				t.Errorf("status %d, %q; want %d, %q", status, said, want.status, want.says)
			}
		})
	}
}

// SQLite reads a list in one statement.
func TestMaxListed(t *testing.T) {
	t.Parallel()
	db, _ := newDatabase(t)
	all := make([]chat.Conversation, maxListed)
	for i := range all {
		all[i] = chat.Conversation{Team: "T1", Channel: "C1", Thread: fmt.Sprintf("1700000000.%06d", i)}
	}
	if _, err := db.Silenced(t.Context(), all...); err != nil {
		t.Error(err)
	}
}

// Cron sets no $USER, and in the container image the account has only a number.
func TestByWithoutUserVariable(t *testing.T) {
	t.Setenv("USER", "") // so that it is put back
	for _, unset := range []bool{false, true} {
		if unset {
			_ = os.Unsetenv("USER")
		}
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), []string{"mute", "general", "--config", "no.yaml"}, &stdout, &stderr); status != 1 || !strings.Contains(stderr.String(), "no.yaml") {
			t.Errorf("unset %v: status %d, %s", unset, status, &stderr)
		}
	}
	uid := fmt.Sprintf("uid:%d", os.Getuid())
	for _, test := range []struct {
		account user.User
		err     error
		want    string
	}{
		{user.User{Username: "carol"}, nil, "carol"},
		{user.User{}, nil, uid},
		{user.User{Uid: "65532"}, errors.New("user: Current requires cgo or $USER set in environment"), uid},
	} {
		if got := accountName(func() (*user.User, error) { return &test.account, test.err }); got != test.want {
			t.Errorf("%+v, %v: %s, want %s", test.account, test.err, got, test.want)
		}
	}
	if got := (byFlag{By: "dave"}).by(); got != "cli:dave" {
		t.Error(got)
	}
	if got := (byFlag{}).by(); got == "cli:" {
		t.Errorf("nobody: %s", got)
	}
}

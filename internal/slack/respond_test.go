package slack

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

func TestResponderAcceptsOnlySlack(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		api, address string
		ok           bool
	}{
		{"", "https://hooks.slack.com/commands/1/2/3", true},
		{"https://slack.com/api/", "https://hooks.slack.com/commands/1/2/3", true},
		{"https://slack.com/api/", "https://slack.com/commands/1/2/3", true},
		{"https://slack-gov.com/api/", "https://hooks.slack-gov.com/x", true},
		{"http://127.0.0.1:8700/api/", "http://127.0.0.1:8700/commands/x", true},
		{"http://127.0.0.1:8700/api/", "http://127.0.0.1:8701/commands/x", false},
		{"http://127.0.0.1:8700/api/", "https://hooks.slack.com/x", false},
		{"http://slack.com/api/", "http://hooks.slack.com/x", false},
		{"https://slack.com/api/", "http://hooks.slack.com/x", false},
		{"https://slack.com/api/", "https://hooks.slack.com.example.org/x", false},
		{"https://slack.com/api/", "https://evil.hooks.slack.com/x", false},
		{"https://slack.com/api/", "https://hooks.slack.com:8443/x", false},
		{"https://slack.com/api/", "https://hooks.slack.com@example.org/x", false},
		{"https://slack.com/api/", "https://user:pw@hooks.slack.com/x", false},
		{"https://slack.com/api/", "https:hooks.slack.com/x", false},
		{"https://slack.com/api/", "//hooks.slack.com/x", false},
		{"https://slack.com/api/", "file:///etc/passwd", false},
		{"https://slack.com/api/", "", false},
		{"https://slack.com/api/", "https://hooks.slack.com/\x7f", false},
	} {
		var reached taken
		r, err := NewResponder(tc.api, &http.Client{Transport: &reached})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Respond(t.Context(), tc.address, Answer{Text: "hello"})
		if tc.ok && err != nil || !tc.ok && !errors.Is(err, ErrNotSlackURL) {
			t.Errorf("%s of %s: %v, want it answered: %v", tc.address, tc.api, err, tc.ok)
		}
		if sent := len(reached) > 0; sent != tc.ok {
			t.Errorf("%s of %s: sent to %q, want it sent: %v", tc.address, tc.api, reached, tc.ok)
		}
	}
}

// taken is a transport that accepts every request, and records its address.
type taken []string

func (t *taken) RoundTrip(r *http.Request) (*http.Response, error) {
	*t = append(*t, r.URL.String())
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestRespond(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answers []int
		tries   int
		err     string
	}{
		"at once":            {[]int{200}, 1, ""},
		"at the second try":  {[]int{503, 200}, 2, ""},
		"too late":           {[]int{404}, 1, "status 404"},
		"out of order":       {[]int{500, 500, 500}, 3, "status 500"},
		"it leads elsewhere": {[]int{302}, 1, "status 302"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var bodies []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, r.Header.Get("Content-Type")+" "+string(body))
				w.Header().Set("Location", "https://example.org/")
				w.WriteHeader(tc.answers[len(bodies)-1])
			}))
			defer server.Close()
			r, err := NewResponder(server.URL+"/api/", patient)
			if err != nil {
				t.Fatal(err)
			}
			err = r.Respond(t.Context(), server.URL+"/commands/secret", Answer{Text: `a "quote"`})
			if (tc.err == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("%v, want %q", err, tc.err)
			}
			const want = `application/json; charset=utf-8 {"replace_original":false,"response_type":"ephemeral","text":"a \"quote\""}`
			if len(bodies) != tc.tries || bodies[0] != want {
				t.Errorf("sent %q, want %d of %s", bodies, tc.tries, want)
			}
		})
	}
}

var errNowhere = errors.New("nowhere")

type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNowhere }

// Without an answer the error contains no part of the address.
func TestRespondHidesTheAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // which does not wait for the pauses between the tries
		r, err := NewResponder("", &http.Client{Transport: nowhere{}})
		if err != nil {
			t.Fatal(err)
		}
		if err = r.Respond(t.Context(), "https://hooks.slack.com/commands/secret", Answer{Text: "x"}); !errors.Is(err, errNowhere) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v", err)
		}
	})
}

package shipping

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"myao/internal/config"
	"myao/test/testserver"
)

// accounts are the three values that .env needs for a Slack workspace.
var accounts = map[string]string{"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "shh", "GEMINI_API_KEY": "AQ.1"}

// passwords are variables that our programs must not have.
var passwords = []string{"POSTGRES_PASSWORD", "MYAO_DB_PASSWORD", "TEMPORAL_DB_PASSWORD"}

// docker-compose.yml loads with Compose's schema and loader and does what its comments say.
func TestCompose(t *testing.T) {
	t.Parallel()
	text := read(t, "docker-compose.yml")
	for _, f := range composeFaults(t, text) {
		t.Error(f)
	}
	spoil(t, text, composeFaults, []spoiling{
		{"a key that is none", "pids_limit:", "pids_limits:", "pids_limits"},
		{"a value that is none", "condition: service_healthy", "condition: service_well", "must be one of"},
		{"a variable that .env lacks", "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:-}", "POSTGRES_PASSWORD: ${POSTGRES_PASSWORD:?}", "POSTGRES_PASSWORD"},
		{"a service that is none", "temporal-schema: {condition", "temporal-tables: {condition", "temporal-tables"},
		{"root", `user: "65532:65532"`, `user: "0:0"`, "starter runs as 0:0"},
		{"files that can be written", "read_only: true", "read_only: false", "may write"},
		{"capabilities", "cap_drop: [ALL]", "cap_drop: [NET_RAW]", "capabilities"},
		{"new privileges", `security_opt: ["no-new-privileges:true"]`, `security_opt: []`, "new privileges"},
		{"everybody's port", `"127.0.0.1:8080:8080"`, `"8080:8080"`, "open to everybody"},
		{"a password in the file", "SQL_USER: temporal", "SQL_PASSWORD: temporal", "stands in the file"},
		{"another's password", `POSTGRES_PASSWORD: ""`, "POSTGRES_PASSWORD: ${SLACK_BOT_TOKEN:-known}", "not its own"},
		{"another's secrets", "source: myao-secrets,", "source: postgres-secrets,", "starter has"},
		{"an .env that must be there", "required: false", "required: true", ".env"},
		{"a sandbox beside a workspace", "./deploy/compose/${SLACK_BOT_TOKEN:+slack-}myao.yaml", "./deploy/compose/myao.yaml", "starter has another Slack: http://sandbox:8700/api/"},
		{"two workers in the sandbox", "scale: 0${SLACK_BOT_TOKEN:+1}", "scale: 1", "1 workers without a workspace"},
		{"a key for another Temporal", `TEMPORAL_API_KEY: ""`, "TEMPORAL_PROFILE: x", "TEMPORAL_API_KEY"},
		{"no database", "DATABASE_URL_FILE:", "DATABASE_FILE:", "DATABASE_URL"},
		{"the newest image", "postgres:17.6", "postgres", "no pinned image"},
		{"tools of another server", "temporalio/server:1.32.0", "temporalio/server:1.31.0", "temporalio/admin-tools:1.32.0"},
		{"a health check of something else", "http://127.0.0.1:8081/readyz", "http://127.0.0.1:8080/readyz", "worker is asked at"},
		{"a health check by a program that is not there", `"/starter", "health", "--url", "http://127.0.0.1:8081`, `"/bin/curl", "health", "--url", "http://127.0.0.1:8081`, "/bin/curl"},
		{"no health check", `test: ["CMD-SHELL", "pg_isready`, `disable: true # `, "postgres has no health check"},
		{"another order", "temporal-namespace: {condition: service_completed_successfully}", "temporal-namespace: {condition: service_started}", "temporal-namespace"},
		{"no time to end", "stop_grace_period: 35s", "stop_grace_period: 10s", "killed after 10s"},
		{"little memory", "mem_limit: 512m", "mem_limit: 256m", "GOMEMLIMIT"},
		{"little memory for Temporal", "GOMEMLIMIT: 1600MiB", "GOMEMLIMIT: 2048MiB", "GOMEMLIMIT"},
		{"a Temporal other than measured", `GOGC: "800"`, `GOGC: "100"`, "GOGC=800"},
		{"no limit of memory", "GOMEMLIMIT: 400MiB", "GOMEM: 400MiB", "no GOMEMLIMIT"},
		{"a network with a way out", "inside: {internal: true}", "inside: {}", "inside"},
		{"the database outside", "- {source: roles, target: /docker-entrypoint-initdb.d/roles.sh}", "- {source: roles, target: /tmp/roles.sh}", "roles"},
	})
}

func composeFaults(t *testing.T, text string) (f faults) {
	t.Helper()
	for _, env := range []map[string]string{nil, accounts} {
		project, err := compose(t, text, env)
		if err != nil {
			return faults{err.Error()}
		}
		projectFaults(&f, t, project, env)
	}
	return f
}

// projectFaults checks what Compose makes of the file with the variables of .env.
func projectFaults(f *faults, t *testing.T, project *types.Project, env map[string]string) {
	t.Helper()
	for name, s := range project.Services {
		serviceFaults(f, name, s)
	}
	for name := range ports {
		s, ok := project.Services[name]
		if !ok {
			f.add("there is no %s", name)
			continue
		}
		ourFaults(f, t, name, s, env)
	}
	worker := project.Services["worker"]
	workers := worker.GetScale()
	f.want(env == nil || workers == 1, "%d workers with a workspace", workers)
	f.want(env != nil || workers == 0, "%d workers without a workspace", workers)
	secretsFaults(f, project)
	for name, after := range map[string]map[string]string{
		"temporal-schema":    {"postgres": types.ServiceConditionHealthy},
		"temporal":           {"temporal-schema": types.ServiceConditionCompletedSuccessfully},
		"temporal-namespace": {"temporal": types.ServiceConditionHealthy},
		"temporal-ui":        {"temporal": types.ServiceConditionHealthy},
		"postgres":           {"passwords": types.ServiceConditionCompletedSuccessfully},
		"worker":             ours, "starter": ours, "sandbox": ours,
	} {
		for other, condition := range after {
			got := project.Services[name].DependsOn[other].Condition
			f.want(got == condition, "%s waits for %s: %q, want %q", name, other, got, condition)
		}
	}
	for _, name := range []string{"postgres", "temporal", "temporal-ui"} {
		check := project.Services[name].HealthCheck
		f.want(check != nil && !check.Disable && len(check.Test) > 1, "%s has no health check", name)
	}
	f.want(project.Networks["inside"].Internal, "inside can be left")
	for _, name := range []string{"postgres", "temporal"} {
		networks := slices.Collect(maps.Keys(project.Services[name].Networks))
		f.want(slices.Equal(networks, []string{"inside"}), "%s is in %v", name, networks)
	}
	f.want(slices.ContainsFunc(project.Services["passwords"].Tmpfs, func(dir string) bool {
		return strings.HasPrefix(dir, "/var/lib/postgresql/data")
	}), "each start of passwords leaves an anonymous volume")
	f.want(slices.ContainsFunc(project.Services["postgres"].Configs, func(c types.ServiceConfigObjConfig) bool {
		return strings.HasPrefix(c.Target, "/docker-entrypoint-initdb.d/")
	}), "Postgres makes no roles")
	for _, setting := range testserver.TemporalGCEnv {
		name, want, _ := strings.Cut(setting, "=")
		got := project.Services["temporal"].Environment[name]
		f.want(got != nil && *got == want, "temporal is not as it is measured: %s", setting)
	}
	_, server, _ := strings.Cut(project.Services["temporal"].Image, ":")
	for _, name := range []string{"temporal-schema", "temporal-namespace"} {
		image := project.Services[name].Image
		f.want(image == "temporalio/admin-tools:"+server, "%s is of %s, Temporal %s", name, image, server)
	}
}

// secretsFaults checks that each password is only where it is needed, and written in one place.
func secretsFaults(f *faults, project *types.Project) {
	for name, s := range project.Services {
		var has []string
		for _, v := range s.Volumes {
			if secret, ok := strings.CutPrefix(v.Target, "/run/secrets/"); ok {
				f.want(v.Source == secret+"-secrets", "%s has %s in the place of %s", name, v.Source, secret)
				f.want(v.ReadOnly == (name != "passwords"), "%s: may it write %s?", name, v.Source)
				has = append(has, secret)
			}
		}
		slices.Sort(has)
		want := map[string][]string{
			"passwords": {"myao", "postgres", "temporal"}, "postgres": {"myao", "postgres", "temporal"},
			"temporal": {"temporal"}, "temporal-schema": {"temporal"}, "starter": {"myao"}, "worker": {"myao"}, "sandbox": {"myao"},
		}[name]
		f.want(slices.Equal(has, want), "%s has the secrets %q, want %q", name, has, want)
	}
}

// ours are the services that worker and starter wait for.
var ours = map[string]string{
	"postgres": types.ServiceConditionHealthy, "temporal": types.ServiceConditionHealthy,
	"temporal-namespace": types.ServiceConditionCompletedSuccessfully,
}

// compose loads the file as Compose does: with a .env that has these variables, or without one.
func compose(t *testing.T, text string, env map[string]string) (*types.Project, error) {
	t.Helper()
	dir := t.TempDir()
	if env != nil {
		content := read(t, ".env.example")
		for name, value := range env {
			content = strings.Replace(content, "\n"+name+"=\n", "\n"+name+"="+value+"\n", 1)
		}
		testserver.Must(t, os.WriteFile(filepath.Join(dir, ".env"), []byte(content), 0o600))
	}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: dir, Environment: env,
		ConfigFiles: []types.ConfigFile{{Filename: "docker-compose.yml", Content: []byte(text)}},
	}, func(o *loader.Options) { o.SetProjectName("myao", true) })
}

// serviceFaults checks what holds for every service.
func serviceFaults(f *faults, name string, s types.ServiceConfig) {
	f.want(s.Restart != "", "%s stays down", name)
	f.want(!s.Privileged && len(s.CapAdd) == 0, "%s has privileges", name)
	f.want(slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}), "%s may get new privileges", name)
	if name != "postgres" { // starts as root and drops privileges itself
		f.want(slices.Equal(s.CapDrop, []string{"ALL"}), "%s keeps capabilities", name)
	}
	if s.Build == nil {
		_, tag, _ := strings.Cut(s.Image, ":")
		f.want(tag != "" && tag != "latest", "%s has no pinned image: %s", name, s.Image)
	}
	for _, port := range s.Ports {
		f.want(port.HostIP == "127.0.0.1", "%s is open to everybody: %s", name, port.Published)
	}
	if goal := s.Environment["GOMEMLIMIT"]; goal != nil {
		limit, err := strconv.Atoi(strings.TrimSuffix(*goal, "MiB"))
		f.want(err == nil && int64(limit)<<20 < int64(s.MemLimit), "%s has %d bytes and GOMEMLIMIT=%s", name, s.MemLimit, *goal)
	}
	for key, value := range s.Environment {
		secret := strings.Contains(key, "PASSW") || strings.Contains(key, "PWD") || strings.HasSuffix(key, "_URL")
		f.want(!secret || value == nil || *value == "" || strings.HasSuffix(key, "_FILE"), "%s: %s stands in the file", name, key)
	}
}

// ourFaults checks the service of one of our programs.
func ourFaults(f *faults, t *testing.T, name string, s types.ServiceConfig, accounts map[string]string) {
	t.Helper()
	f.want(s.Image == "myao" && s.Build != nil, "%s is made of %s", name, s.Image)
	f.want(s.User == strconv.Itoa(nobody)+":"+strconv.Itoa(nobody), "%s runs as %s", name, s.User)
	f.want(s.ReadOnly && len(s.Tmpfs) == 0, "%s may write files", name)
	if len(s.Volumes) != 2 || !s.Volumes[0].ReadOnly || s.Volumes[0].Target != "/config.yaml" || s.Volumes[1].Target != "/run/secrets/myao" {
		f.add("%s has %+v", name, s.Volumes)
		return
	}
	f.want(slices.Equal(s.Command, []string{"--config", "/config.yaml"}), "%s is run with %q", name, s.Command)
	program := append(slices.Clone(s.Entrypoint), "/starter")[0] // the image's own
	f.want(program == "/"+name, "%s runs %s", name, program)
	f.want(s.StopGracePeriod != nil && time.Duration(*s.StopGracePeriod) > ending, "%s is killed after %s", name, s.StopGracePeriod)

	env := map[string]string{}
	for key, value := range s.Environment {
		if value != nil {
			env[key] = *value
		}
	}
	for _, password := range passwords {
		f.want(env[password] == "", "%s is given what is not its own: %s", name, password)
	}
	key, set := env["TEMPORAL_API_KEY"]
	f.want(set && key == "", "%s may speak TLS to Temporal: TEMPORAL_API_KEY", name)
	f.want(env["TEMPORAL_ADDRESS"] == "temporal:7233", "%s looks for Temporal at %q", name, env["TEMPORAL_ADDRESS"])
	f.want(env["GOMEMLIMIT"] != "", "%s is killed where it could collect garbage: no GOMEMLIMIT", name)

	f.want(env["DATABASE_URL_FILE"] == "/run/secrets/myao/database_url", "%s has no DATABASE_URL", name)
	for variable, value := range map[string]string{"DATABASE_URL": "postgres://postgres/myao", "SANDBOX_BOT_TOKEN": "xoxb-1", "SANDBOX_SIGNING_SECRET": "shh"} {
		if env[variable] == "" { // the test has no such files
			env[variable] = value
			delete(env, variable+"_FILE")
		}
	}
	file := s.Volumes[0].Source[strings.Index(s.Volumes[0].Source, "/deploy/compose/"):]
	c, err := config.Parse([]byte(read(t, file)), lookup(env))
	if err != nil {
		f.add("%s: %v", name, err)
		return
	}
	f.want((c.Slack.APIURL == config.Default().Slack.APIURL) == (accounts != nil), "%s has another Slack: %s", name, c.Slack.APIURL)
	f.want(c.Database.URL == "postgres://postgres/myao", "%s has another database: %s", name, c.Database)
	healthFaults(f, name, s.HealthCheck, c)
}

// healthFaults checks the health check's command, address and timeout.
func healthFaults(f *faults, name string, check *types.HealthCheckConfig, c config.Config) {
	if check == nil || len(check.Test) != 5 {
		f.add("%s has no health check", name)
		return
	}
	f.want(slices.Equal(check.Test[:4], []string{"CMD", "/starter", "health", "--url"}), "%s is asked by %q", name, check.Test)
	u, err := url.Parse(check.Test[4])
	address := map[string]string{"starter": c.Server.Address, "worker": c.Worker.Address}[name]
	f.want(err == nil && u.Host == "127.0.0.1"+address && u.Path == "/readyz", "%s is asked at %s, and serves %s", name, check.Test[4], address)
	f.want(check.Timeout != nil && time.Duration(*check.Timeout) > 4*time.Second, "%s has %v to answer", name, check.Timeout)
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

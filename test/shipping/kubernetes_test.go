package shipping

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"myao/internal/config"
	"myao/internal/conversation"
	"myao/test/testserver"
)

// The manifests decode as Kubernetes' types, are consistent with each other, the image, the
// programs and the configuration, and do what docs/kubernetes.md says.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	text := manifestTexts(t)
	for _, f := range kubernetesFaults(t, text) {
		t.Error(f)
	}
	spoil(t, text, kubernetesFaults, []spoiling{
		{"a key that is none", "replicas: 2", "replica: 2", `unknown field "replica"`},
		{"a key that stands twice", "replicas: 2", "replicas: 2\n  replicas: 2", "already set"},
		{"a kind of another version", "policy/v1", "policy/v1beta1", "no kind of ours"},
		{"another namespace", "namespace: myao", "namespace: default", "in the namespace"},
		{"one replica", "replicas: 2", "replicas: 1", "has 1 replicas"},
		{"both replaced at once", "maxUnavailable: 0", "maxUnavailable: 2", "rolling update"},
		{"no time to end", "terminationGracePeriodSeconds: 35", "terminationGracePeriodSeconds: 30", "myao-starter has 30s to end"},
		{"a token", "automountServiceAccountToken: false", "automountServiceAccountToken: true", "token"},
		{"another account", "serviceAccountName: myao", "serviceAccountName: root", "service account"},
		{"Services in the environment", "enableServiceLinks: false", "enableServiceLinks: true", "TEMPORAL_"},
		{"root", "runAsNonRoot: true", "runAsNonRoot: false", "root"},
		{"another user", "runAsUser: 65532", "runAsUser: 1000", "root"},
		{"files that can be written", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "more than restricted"},
		{"capabilities", "drop: [ALL]", "drop: [NET_RAW]", "more than restricted"},
		{"system calls", "{type: RuntimeDefault}", "{type: Unconfined}", "root"},
		{"no limit of memory", "limits: {memory: 512Mi}", "limits: {memory: 256Mi}", "GOMEMLIMIT"},
		{"a program that is not there", `command: ["/worker"]`, `command: ["/myao-worker"]`, "runs /myao-worker"},
		{"a configuration elsewhere", "mountPath: /etc/myao", "mountPath: /etc/my", "/etc/myao/config.yaml"},
		{"a secret that is none", "secretRef: {name: myao}", "secretRef: {name: myao-secrets}", "myao-secrets"},
		{"an optional secret", "secretRef: {name: myao}", "secretRef: {name: myao, optional: true}", "optional"},
		{"no probe", "          livenessProbe:\n            httpGet: {path: /livez, port: http}\n            periodSeconds: 10\n            timeoutSeconds: 3\n", "", "there is no probe"},
		{"a path that is none", "path: /livez", "path: /healthz", "/healthz"},
		{"a restart for what others lack", "livenessProbe:\n            httpGet: {path: /livez", "livenessProbe:\n            httpGet: {path: /readyz", "liveness"},
		{"a door that is shut while Temporal is down", "readinessProbe:\n            httpGet: {path: /livez", "readinessProbe:\n            httpGet: {path: /readyz", "readiness"},
		{"another port", "containerPort: 8081", "containerPort: 8080", "serves 8081"},
		{"a port that has no name", "port: http}\n            periodSeconds: 10", "port: https}\n            periodSeconds: 10", "https"},
		{"metrics elsewhere", `prometheus.io/port: "8081"`, `prometheus.io/port: "9090"`, "9090"},
		{"a budget for nobody", "AlwaysAllow # even if no pod is ready\n  selector:\n    matchLabels: {app.kubernetes.io/name: myao,",
			"AlwaysAllow\n  selector:\n    matchLabels: {app.kubernetes.io/name: bot,", "has 0 disruption budgets"},
		{"a budget for both", "AlwaysAllow # even if no pod is ready\n  selector:\n    matchLabels: {app.kubernetes.io/name: myao, app.kubernetes.io/component: worker}",
			"AlwaysAllow\n  selector:\n    matchLabels: {app.kubernetes.io/name: myao}", "has 2 disruption budgets"},
		{"a spread of others", "labelSelector:\n            matchLabels: {app.kubernetes.io/name: myao,", "labelSelector:\n            matchLabels: {app.kubernetes.io/name: bot,", "spread"},
		{"a Service without pods", "selector: {app.kubernetes.io/name: myao, app.kubernetes.io/component: starter}", "selector: {app.kubernetes.io/name: myao, app.kubernetes.io/component: door}", "leads to"},
		{"a Service that is none", "name: myao-starter\n                port", "name: starter\n                port", "no Service"},
		{"all of the door", "- path: /slack", "- path: /", "leads in at /"},
		{"a policy about nobody", "podSelector:\n    matchLabels: {app.kubernetes.io/name: myao,", "podSelector:\n    matchLabels: {app.kubernetes.io/name: bot,", "no pods"},
		{"a closed door", "{protocol: TCP, port: 8080}", "{protocol: TCP, port: 80}", "8080"},
		{"no way to Temporal", "{protocol: TCP, port: 7233}", "{protocol: TCP, port: 7243}", "7233"},
		{"a configuration that is wrong", "persona: {name: myao}", "persona: {names: myao}", "persona.names"},
		{"a secret that is missing", "SLACK_BOT_TOKEN: xoxb", "SLACK_TOKEN: xoxb", "SLACK_BOT_TOKEN"},
		{"a secret for nothing", "GEMINI_API_KEY: \"…\"", "GEMINI_API_KEY: \"…\"\n  GEMINI_KEY: x", "GEMINI_KEY"},
		{"a database on one pod", `{url: "${DATABASE_URL}"}`, `{url: "sqlite:data/myao.db"}`, "Postgres"},
		{"a worker that listens elsewhere", `worker: {address: ":8081"}`, `worker: {address: ":9091"}`, ":9091"},
		{"no Temporal", "TEMPORAL_ADDRESS: temporal", "TEMPORAL_HOST: temporal", "TEMPORAL_ADDRESS"},
		{"pods that may do more", "pod-security.kubernetes.io/enforce: restricted", "pod-security.kubernetes.io/enforce: baseline", "restricted"},
	})
}

func kubernetesFaults(t *testing.T, text string) (f faults) {
	t.Helper()
	m, f := decode(text)
	if len(f) > 0 {
		return f
	}
	f.want(m.namespaces["myao"].Labels["pod-security.kubernetes.io/enforce"] == "restricted", "the namespace is not restricted")
	f.want(no(m.accounts["myao"].AutomountServiceAccountToken), "the service account's token is mounted")
	c := m.configuration(&f)
	for program, port := range ports {
		d, ok := m.deployments["myao-"+program]
		if !ok {
			f.add("there is no deployment of the %s", program)
			continue
		}
		m.deploymentFaults(&f, program, port, d)
	}
	f.want(c.Server.Address == fmt.Sprintf(":%d", ports["starter"]), "the starter listens at %s", c.Server.Address)
	f.want(c.Worker.Address == fmt.Sprintf(":%d", ports["worker"]), "the worker listens at %s", c.Worker.Address)
	m.wayIn(&f)
	m.network(&f)
	return f
}

// configuration returns the configuration of a pod.
func (m manifests) configuration(f *faults) config.Config {
	text := m.configs["myao"].Data["config.yaml"]
	env := map[string]string{}
	for key, value := range m.secrets["myao"].StringData {
		env[key] = value
		f.want(strings.Contains(text, "${"+key) || strings.HasPrefix(key, "TEMPORAL_"), "nobody reads %s of the secret", key)
	}
	for key, value := range m.configs["myao-temporal"].Data {
		env[key] = value
		f.want(strings.HasPrefix(key, "TEMPORAL_") && value != "", "%s=%q says nothing to Temporal's client", key, value)
	}
	f.want(env["TEMPORAL_ADDRESS"] != "" && env["TEMPORAL_NAMESPACE"] != "", "TEMPORAL_ADDRESS=%q, TEMPORAL_NAMESPACE=%q",
		env["TEMPORAL_ADDRESS"], env["TEMPORAL_NAMESPACE"])
	c, err := config.Parse([]byte(text), lookup(env))
	if err != nil {
		f.add("config.yaml: %v", err)
		return c
	}
	_, lite := c.Database.SQLitePath()
	f.want(!lite, "two pods need Postgres, and have %s", c.Database)
	f.want(!c.Slack.SocketMode(), "the secret chooses Socket Mode")
	// The alternative in the secret's comments.
	delete(env, "SLACK_SIGNING_SECRET")
	env["SLACK_APP_TOKEN"] = "xapp-1"
	if other, err := config.Parse([]byte(text), lookup(env)); err != nil || !other.Slack.SocketMode() {
		f.add("config.yaml in Socket Mode: %v", err)
	}
	return c
}

func (m manifests) deploymentFaults(f *faults, program string, port int, d apps.Deployment) {
	name, pod := d.Name, d.Spec.Template.Spec
	own := d.Spec.Template.Labels
	f.want(selects(d.Spec.Selector, own), "%s does not select its own pods", name)
	f.want(value(d.Spec.Replicas) == 2, "%s has %d replicas", name, value(d.Spec.Replicas))
	rolling := d.Spec.Strategy.RollingUpdate
	f.want(rolling != nil && rolling.MaxUnavailable.IntValue() == 0 && rolling.MaxSurge.IntValue() == 1, "%s: rolling update %+v", name, rolling)

	f.want(pod.ServiceAccountName == "myao" && m.accounts[pod.ServiceAccountName].Name != "", "%s has the service account %q", name, pod.ServiceAccountName)
	f.want(no(pod.AutomountServiceAccountToken), "%s has a token", name)
	f.want(no(pod.EnableServiceLinks), "%s: a Service may set TEMPORAL_ variables", name)
	s := pod.SecurityContext
	f.want(s != nil && value(s.RunAsNonRoot) && value(s.RunAsUser) == nobody && value(s.RunAsGroup) == nobody &&
		s.SeccompProfile != nil && s.SeccompProfile.Type == core.SeccompProfileTypeRuntimeDefault, "%s may be root: %+v", name, s)
	f.want(len(pod.TopologySpreadConstraints) > 0 && selects(pod.TopologySpreadConstraints[0].LabelSelector, own), "%s does not spread its own pods", name)

	if len(pod.Containers) != 1 {
		f.add("%s has %d containers", name, len(pod.Containers))
		return
	}
	container := pod.Containers[0]
	m.containerFaults(f, name, pod, container)
	f.want(slices.Equal(container.Command, []string{"/" + program}), "%s runs %s", name, strings.Join(container.Command, " "))
	f.want(slices.ContainsFunc(container.Ports, func(p core.ContainerPort) bool {
		return p.Name == "http" && int(p.ContainerPort) == port
	}), "%s serves %d, and has %+v", name, port, container.Ports)
	at := d.Spec.Template.Annotations
	f.want(at["prometheus.io/scrape"] == "true" && at["prometheus.io/port"] == strconv.Itoa(port) && at["prometheus.io/path"] == "/metrics",
		"%s has its metrics at %s%s", name, at["prometheus.io/port"], at["prometheus.io/path"])

	readiness := map[string]string{"starter": "/livez", "worker": "/readyz"}[program]
	probeFaults(f, name+" startup", container.StartupProbe, "/readyz")
	probeFaults(f, name+" liveness", container.LivenessProbe, "/livez")
	probeFaults(f, name+" readiness", container.ReadinessProbe, readiness)
	sleeps := int64(0)
	if container.Lifecycle != nil && container.Lifecycle.PreStop != nil && container.Lifecycle.PreStop.Sleep != nil {
		sleeps = container.Lifecycle.PreStop.Sleep.Seconds
	}
	f.want(program == "worker" || sleeps > 0, "%s is gone before the Service knows", name)
	grace := value(pod.TerminationGracePeriodSeconds)
	f.want(time.Duration(grace-sleeps)*time.Second >= ending, "%s has %ds to end", name, grace)

	budgets := 0
	for _, b := range m.budgets {
		if selects(b.Spec.Selector, own) {
			budgets++
			f.want(b.Spec.MaxUnavailable != nil && b.Spec.MaxUnavailable.IntValue() == 1 && b.Spec.MinAvailable == nil, "%s: %+v", b.Name, b.Spec)
		}
	}
	f.want(budgets == 1, "%s has %d disruption budgets", name, budgets)
}

// containerFaults checks the container's inputs and permissions.
func (m manifests) containerFaults(f *faults, name string, pod core.PodSpec, c core.Container) {
	f.want(c.Image == "myao", "%s is of the image %s", name, c.Image)
	s := c.SecurityContext
	f.want(s != nil && no(s.AllowPrivilegeEscalation) && value(s.ReadOnlyRootFilesystem) &&
		s.Capabilities != nil && slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) && len(s.Capabilities.Add) == 0, "%s may do more than restricted: %+v", name, s)
	memory, limit := c.Resources.Limits.Memory(), 0
	for _, e := range c.Env {
		if e.Name == "GOMEMLIMIT" {
			limit, _ = strconv.Atoi(strings.TrimSuffix(e.Value, "MiB"))
		}
	}
	f.want(limit > 0 && int64(limit)<<20 < memory.Value(), "%s has %s and GOMEMLIMIT=%dMiB", name, memory, limit)
	f.want(!c.Resources.Requests.Cpu().IsZero() && !c.Resources.Requests.Memory().IsZero(), "%s asks for %+v", name, c.Resources.Requests)
	given := map[string]bool{}
	for _, from := range c.EnvFrom {
		switch {
		case from.ConfigMapRef != nil:
			given[from.ConfigMapRef.Name] = true
			f.want(m.configs[from.ConfigMapRef.Name].Name != "" && from.ConfigMapRef.Optional == nil, "%s reads %s, optional or not there", name, from.ConfigMapRef.Name)
		case from.SecretRef != nil:
			given[from.SecretRef.Name] = true
			f.want(m.secrets[from.SecretRef.Name].Name != "" && from.SecretRef.Optional == nil, "%s reads %s, optional or not there", name, from.SecretRef.Name)
		}
	}
	f.want(given["myao"] && given["myao-temporal"], "%s is given %v", name, given)
	for _, mount := range c.VolumeMounts {
		for _, v := range pod.Volumes {
			if v.Name != mount.Name || v.ConfigMap == nil || !mount.ReadOnly {
				continue
			}
			for key := range m.configs[v.ConfigMap.Name].Data {
				if slices.Equal(c.Args, []string{"--config", path.Join(mount.MountPath, key)}) {
					return
				}
			}
		}
	}
	f.add("%s is run with %q, which is not mounted", name, c.Args)
}

func probeFaults(f *faults, what string, p *core.Probe, want string) {
	if p == nil || p.HTTPGet == nil {
		f.add("%s: there is no probe", what)
		return
	}
	f.want(p.HTTPGet.Path == want && p.HTTPGet.Port.String() == "http" && p.HTTPGet.Scheme == "", "%s asks %s of the port %s, want %s of http",
		what, p.HTTPGet.Path, p.HTTPGet.Port.String(), want)
	if want == "/readyz" { // takes up to three seconds
		f.want(p.TimeoutSeconds > 3, "%s waits %d s", what, p.TimeoutSeconds)
	}
}

// wayIn checks the path of Slack's requests from the Ingress to the starter.
func (m manifests) wayIn(f *faults) {
	service := m.services["myao-starter"]
	for _, d := range m.deployments {
		matches := len(service.Spec.Selector) > 0
		for key, value := range service.Spec.Selector {
			matches = matches && d.Spec.Template.Labels[key] == value
		}
		f.want(matches == (d.Name == "myao-starter"), "the Service leads to %s: %v", d.Name, matches)
	}
	f.want(len(service.Spec.Ports) == 1 && service.Spec.Ports[0].TargetPort.String() == "http", "the Service has %+v", service.Spec.Ports)
	for _, i := range m.ingresses {
		for _, rule := range i.Spec.Rules {
			f.want(slices.Contains(i.Spec.TLS[0].Hosts, rule.Host), "%s has no certificate", rule.Host)
			for _, p := range rule.HTTP.Paths {
				to := p.Backend.Service
				f.want(p.Path == "/slack", "the Ingress leads in at %s", p.Path)
				f.want(m.services[to.Name].Name != "" && to.Port.Name == service.Spec.Ports[0].Name, "no Service is %s, %s", to.Name, to.Port.Name)
			}
		}
	}
	f.want(len(m.ingresses) == 1, "there are %d ingresses", len(m.ingresses))
}

// network checks the ports that the policies allow.
func (m manifests) network(f *faults) {
	in, out := map[string][]int{}, map[string][]int{}
	for _, n := range m.policies {
		selected := 0
		for program := range ports {
			d := m.deployments["myao-"+program]
			if !selects(&n.Spec.PodSelector, d.Spec.Template.Labels) {
				continue
			}
			selected++
			for _, rule := range n.Spec.Ingress {
				for _, p := range rule.Ports {
					in[program] = append(in[program], p.Port.IntValue())
				}
			}
			for _, rule := range n.Spec.Egress {
				for _, p := range rule.Ports {
					out[program] = append(out[program], p.Port.IntValue())
				}
			}
		}
		f.want(selected > 0, "%s is about no pods", n.Name)
	}
	for program, port := range ports {
		f.want(slices.Contains(in[program], port), "the %s is not reached at %d, but %v", program, port, in[program])
		for _, needed := range []int{53, 443, 7233, 5432} {
			f.want(slices.Contains(out[program], needed), "the %s does not reach %d, but %v", program, needed, out[program])
		}
	}
}

// kustomization.yaml names every manifest except the examples; kubectl applies only what it names.
func TestKustomizationNamesEveryManifest(t *testing.T) {
	t.Parallel()
	var k kustomization
	testserver.Must(t, yaml.UnmarshalStrict([]byte(read(t, path.Join(directory, "kustomization.yaml"))), &k))
	if k.Kind != "Kustomization" || k.Namespace != "myao" || len(k.Images) != 1 || k.Images[0].Name != "myao" {
		t.Errorf("%+v", k)
	}
	root := filepath.Join("..", "..", filepath.FromSlash(directory))
	var there []string
	if err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "kustomization.yaml" && !strings.Contains(d.Name(), ".example.") {
			there = append(there, d.Name())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(there)
	slices.Sort(k.Resources)
	if !slices.Equal(there, k.Resources) {
		t.Errorf("there are %q, and named %q", there, k.Resources)
	}
	if _, err := os.Stat(filepath.Join(root, "secret.yaml")); err == nil {
		t.Error("secret.yaml is among the manifests, and would be committed")
	}
}

// docs/kubernetes.md lists the search attributes for Temporal Cloud and names only existing files.
func TestKubernetesPageNamesAttributesAndFiles(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/kubernetes.md")
	for _, attribute := range conversation.Attributes {
		if !strings.Contains(page, `"`+attribute+`=Keyword"`) {
			t.Errorf("it does not tell of the search attribute %s", attribute)
		}
	}
	for _, m := range regexp.MustCompile("`(?:deploy/kubernetes/)?([a-z.]+\\.yaml)`").FindAllStringSubmatch(page, -1) {
		if m[1] == "secret.yaml" || m[1] == "config.example.yaml" {
			continue // the installer's copy, and a file in the root directory
		}
		read(t, path.Join(directory, m[1]))
	}
}

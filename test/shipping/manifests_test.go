package shipping

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// directory is where the manifests are.
const directory = "deploy/kubernetes"

// manifests is what the files hold, by name.
type manifests struct {
	namespaces  map[string]core.Namespace
	accounts    map[string]core.ServiceAccount
	configs     map[string]core.ConfigMap
	secrets     map[string]core.Secret
	deployments map[string]apps.Deployment
	services    map[string]core.Service
	ingresses   map[string]networking.Ingress
	policies    map[string]networking.NetworkPolicy
	budgets     map[string]policy.PodDisruptionBudget
}

// kustomization is what is used of kustomize's file.
type kustomization struct {
	meta.TypeMeta `json:",inline"`
	Namespace     string   `json:"namespace"`
	Resources     []string `json:"resources"`
	Images        []struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
		Digest  string `json:"digest"`
	} `json:"images"`
}

// decode reads manifests, each strictly as its kind: a key that Kubernetes does not know,
// or that stands twice, is a fault.
func decode(text string) (m manifests, f faults) {
	for n, document := range regexp.MustCompile(`(?m)^---\n`).Split(text, -1) {
		var head struct {
			meta.TypeMeta `json:",inline"`
			Metadata      meta.ObjectMeta `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(document), &head); err != nil {
			f.add("document %d: %v", n, err)
			continue
		}
		kind, name := head.APIVersion+" "+head.Kind, head.Metadata.Name
		f.want(kind == "v1 Namespace" || head.Metadata.Namespace == "myao", "%s %s is in the namespace %q", head.Kind, name, head.Metadata.Namespace)
		var err error
		switch kind {
		case "v1 Namespace":
			err = into(&m.namespaces, name, document)
		case "v1 ServiceAccount":
			err = into(&m.accounts, name, document)
		case "v1 ConfigMap":
			err = into(&m.configs, name, document)
		case "v1 Secret":
			err = into(&m.secrets, name, document)
		case "v1 Service":
			err = into(&m.services, name, document)
		case "apps/v1 Deployment":
			err = into(&m.deployments, name, document)
		case "networking.k8s.io/v1 Ingress":
			err = into(&m.ingresses, name, document)
		case "networking.k8s.io/v1 NetworkPolicy":
			err = into(&m.policies, name, document)
		case "policy/v1 PodDisruptionBudget":
			err = into(&m.budgets, name, document)
		default:
			err = fmt.Errorf("no kind of ours: %s", kind)
		}
		f.want(err == nil, "document %d, %s: %v", n, name, err)
	}
	return m, f
}

func into[T any](all *map[string]T, name, document string) error {
	var object T
	if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
		return err
	}
	if *all == nil {
		*all = map[string]T{}
	}
	if _, ok := (*all)[name]; ok {
		return fmt.Errorf("%q is there twice", name)
	}
	(*all)[name] = object
	return nil
}

// manifestTexts is all files of manifests, those in kustomization.yaml and the examples,
// one after the other.
func manifestTexts(t *testing.T) string {
	t.Helper()
	var k kustomization
	if err := yaml.UnmarshalStrict([]byte(read(t, path.Join(directory, "kustomization.yaml"))), &k); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, name := range append(slices.Clone(k.Resources), "secret.example.yaml", "ingress.example.yaml") {
		texts = append(texts, read(t, path.Join(directory, name)))
	}
	return strings.Join(texts, "---\n")
}

// selects reports whether a selector takes pods with these labels.
func selects(s *meta.LabelSelector, of map[string]string) bool {
	selector, err := meta.LabelSelectorAsSelector(s)
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(of))
}

// value is what a manifest says, or the zero value where it says nothing.
func value[T any](said *T) (v T) {
	if said != nil {
		v = *said
	}
	return v
}

// no reports whether a manifest says no: what is not said is mostly yes to Kubernetes.
func no(said *bool) bool { return said != nil && !*said }

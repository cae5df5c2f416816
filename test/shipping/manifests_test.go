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

	"myao/test/testserver"
)

// directory holds the manifests.
const directory = "deploy/kubernetes"

// manifests are the objects in the files, by name.
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

// kustomization holds the fields that we use of kustomize's file.
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

// decode decodes manifests strictly: unknown and duplicate keys are faults.
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

// manifestTexts returns the manifests of kustomization.yaml and the examples as one text.
func manifestTexts(t *testing.T) string {
	t.Helper()
	var k kustomization
	testserver.Must(t, yaml.UnmarshalStrict([]byte(read(t, path.Join(directory, "kustomization.yaml"))), &k))
	var texts []string
	for _, name := range append(slices.Clone(k.Resources), "secret.example.yaml", "ingress.example.yaml") {
		texts = append(texts, read(t, path.Join(directory, name)))
	}
	return strings.Join(texts, "---\n")
}

// selects reports whether a selector matches pods with these labels.
func selects(s *meta.LabelSelector, of map[string]string) bool {
	selector, err := meta.LabelSelectorAsSelector(s)
	return err == nil && !selector.Empty() && selector.Matches(labels.Set(of))
}

// value returns a manifest's value, or the zero value if it is not set.
func value[T any](said *T) (v T) {
	if said != nil {
		v = *said
	}
	return v
}

// no reports whether a manifest says false explicitly. Kubernetes' default is mostly true.
func no(said *bool) bool { return said != nil && !*said }

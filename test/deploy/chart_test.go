package deploy_test

import (
	"bufio"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const chartFolder = "../../deploy/helm/tsumugi"

// TestChart lints and renders the chart with each set of values, decodes each manifest strictly, and checks references
// between the manifests and the server's requirements.
func TestChart(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) != 5 {
		t.Fatalf("sets of values: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			values, err := chartutil.ReadValuesFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, message := range lint.All(chartFolder, values, "chat", true).Messages {
				if message.Severity >= support.WarningSev {
					t.Error(message)
				}
			}
			rendered, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			m := decode(t, rendered)
			m.checkServer(t)
			m.checkMigration(t, values)
			m.checkNetwork(t, values)
			m.checkSelectors(t)
			m.checkReplicas(t, values)
			m.checkIngress(t)
		})
	}
}

// TestChartRefusesValues checks that the schema refuses insecure values and values that do not work together.
func TestChartRefusesValues(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	secret, bucket := object{"existingSecret": "nats"}, object{"bucket": "s3://files"}
	for name, change := range map[string]object{
		"several servers without NATS and a bucket": {"replicaCount": 2},
		"several servers without NATS":              {"replicaCount": 2, "files": bucket},
		"several servers without a bucket":          {"replicaCount": 2, "nats": secret},
		"autoscaling without NATS and a bucket":     {"autoscaling": object{"enabled": true}},
		"autoscaling without a bucket":              {"autoscaling": object{"enabled": true}, "nats": secret},
		"no public URL":                             {"publicURL": ""},
		"no database":                               {"database": object{"existingSecret": ""}},
		"the URL of the database":                   {"database": object{"url": "postgres://user:password@host/name"}},
		"no key for secrets":                        {"secretKey": object{"existingSecret": ""}},
		"a secret in plain text":                    {"env": object{"OPENAI_API_KEY": "sk-1234"}},
		"a setting of the chart":                    {"env": object{"TSUMUGI_LISTEN": ":9090"}},
		"a setting of the chart from a secret":      {"secretEnv": object{"DATABASE_URL": object{"secret": "s", "key": "k"}}},
		"a secret without its key":                  {"secretEnv": object{"SMTP_URL": object{"secret": "s"}}},
		"a folder in place of a bucket":             {"files": object{"bucket": "file:///srv"}},
		"an ingress without a host":                 {"ingress": object{"enabled": true}},
		"an unknown value":                          {"replicas": 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, err := chartutil.ReadValuesFile("testdata/smallest.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := render(t, values); err != nil {
				t.Fatal(err)
			}
			maps.Copy(values, change)
			if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), "schema") {
				t.Errorf("the schema accepts the values: %v", err)
			}
		})
	}
}

// TestPackedChart compares the chart in the folder of scripts/dist with its source.
func TestPackedChart(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("TSUMUGI_TEST_DIST")
	if dir == "" {
		t.Skip("needs the folder of scripts/dist in TSUMUGI_TEST_DIST")
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*-chart.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("charts: %v, %v", archives, err)
	}
	contents := make([]map[string]string, 2)
	for i, name := range []string{chartFolder, archives[0]} {
		loaded, err := loader.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if version := strings.TrimSpace(readFile(t, "cmd/tsumugi/VERSION")); loaded.Metadata.Version != version ||
			loaded.Metadata.AppVersion != version {
			t.Errorf("%s is version %s of %s", name, loaded.Metadata.Version, loaded.Metadata.AppVersion)
		}
		contents[i] = make(map[string]string)
		for _, file := range loaded.Raw {
			contents[i][file.Name] = string(file.Data)
		}
	}
	if !maps.Equal(contents[0], contents[1]) {
		t.Errorf("%s differs from %s", archives[0], chartFolder)
	}
}

// render returns the rendered templates by their names. It reads the chart again, because rendering changes it.
func render(t *testing.T, values chartutil.Values) (map[string]string, error) {
	t.Helper()
	tsumugi, err := loader.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	release := chartutil.ReleaseOptions{Name: "chat", Namespace: "chat", Revision: 1, IsInstall: true}
	merged, err := chartutil.ToRenderValues(tsumugi, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(tsumugi, merged)
}

// manifests are the decoded objects of the chart. Optional ones may be nil.
type manifests struct {
	deployment *appsv1.Deployment
	job        *batchv1.Job
	services   []*corev1.Service
	claims     []*corev1.PersistentVolumeClaim
	accounts   []*corev1.ServiceAccount
	policies   []*networkingv1.NetworkPolicy
	ingress    *networkingv1.Ingress
	budget     *policyv1.PodDisruptionBudget
	autoscaler *autoscalingv2.HorizontalPodAutoscaler
}

// decode decodes all manifests. Unknown and repeated fields are errors.
func decode(t *testing.T, rendered map[string]string) (m manifests) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme,
		networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	for name, text := range rendered {
		if strings.HasSuffix(name, "NOTES.txt") {
			if !strings.Contains(text, "deploy/chat-tsumugi ") {
				t.Errorf("the notes do not name the deployment: %s", text)
			}
			continue
		}
		for reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text))); ; {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if strings.TrimSpace(string(document)) == "" {
				continue
			}
			object, _, err := decoder.Decode(document, nil, nil)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			m.add(t, object)
		}
	}
	if m.deployment == nil || m.budget == nil || len(m.services) == 0 || len(m.accounts) != 1 {
		t.Fatalf("manifests are missing: %+v", m)
	}
	return m
}

func (m *manifests) add(t *testing.T, object runtime.Object) {
	t.Helper()
	switch object := object.(type) {
	case *appsv1.Deployment:
		m.deployment = object
	case *batchv1.Job:
		m.job = object
	case *corev1.Service:
		m.services = append(m.services, object)
	case *corev1.PersistentVolumeClaim:
		m.claims = append(m.claims, object)
	case *corev1.ServiceAccount:
		m.accounts = append(m.accounts, object)
	case *networkingv1.NetworkPolicy:
		m.policies = append(m.policies, object)
	case *networkingv1.Ingress:
		m.ingress = object
	case *policyv1.PodDisruptionBudget:
		m.budget = object
	case *autoscalingv2.HorizontalPodAutoscaler:
		m.autoscaler = object
	default: // A Secret in particular.
		t.Errorf("the chart has an unexpected %T", object)
	}
}

// checkServer checks the pods of the server.
func (m *manifests) checkServer(t *testing.T) {
	t.Helper()
	pod := m.deployment.Spec.Template.Spec
	server := checkPod(t, pod)
	if pod.ServiceAccountName != m.accounts[0].Name {
		t.Errorf("the account of the pods is %q", pod.ServiceAccountName)
	}
	api := readFile(t, "internal/api/openapi.yaml")
	for path, probe := range map[string]*corev1.Probe{
		"/healthz": server.StartupProbe, "/readyz": server.ReadinessProbe,
	} {
		if probe.HTTPGet.Path != path || !strings.Contains(api, "\n  "+path+":\n") ||
			probe.HTTPGet.Port.StrVal != server.Ports[0].Name {
			t.Errorf("the probe %+v", probe.HTTPGet)
		}
	}
	if server.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Error("the liveness probe depends on the database")
	}
	if stop := stopLimit(t) + server.Lifecycle.PreStop.Sleep.Seconds; *pod.TerminationGracePeriodSeconds < stop+5 {
		t.Errorf("a stop takes up to %d s, and the pod has %d s", stop, *pod.TerminationGracePeriodSeconds)
	}
	env := make(map[string]string)
	for _, variable := range server.Env {
		env[variable.Name] = variable.Value
	}
	for _, folder := range []string{env["TSUMUGI_DATA"], env["TSUMUGI_CACHE"], "/tmp"} {
		if !slices.ContainsFunc(server.VolumeMounts, func(mount corev1.VolumeMount) bool {
			return mount.MountPath == folder && !mount.ReadOnly
		}) {
			t.Errorf("the folder %q is not writable", folder)
		}
	}
	for _, volume := range pod.Volumes {
		if claim := volume.PersistentVolumeClaim; claim != nil && claim.ClaimName != "tsumugi-files" &&
			(len(m.claims) != 1 || m.claims[0].Name != claim.ClaimName) {
			t.Errorf("the claim %q does not exist", claim.ClaimName)
		}
	}
}

// checkPod checks that a pod meets the Pod Security Standard "restricted", reads secrets by reference, and has only
// known settings. It returns the pod's container.
func checkPod(t *testing.T, pod corev1.PodSpec) corev1.Container {
	t.Helper()
	if len(pod.Containers) != 1 || len(pod.InitContainers) != 0 {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	container := pod.Containers[0]
	inPod, inContainer := pod.SecurityContext, container.SecurityContext
	if inPod == nil || inContainer == nil || inPod.SeccompProfile == nil || inContainer.Capabilities == nil {
		t.Fatal("the pod has no security context")
	}
	if !is(inPod.RunAsNonRoot, true) || inPod.RunAsUser == nil || *inPod.RunAsUser == 0 ||
		inPod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
		!is(inContainer.AllowPrivilegeEscalation, false) || !is(inContainer.ReadOnlyRootFilesystem, true) ||
		!slices.Equal(inContainer.Capabilities.Drop, []corev1.Capability{"ALL"}) ||
		len(inContainer.Capabilities.Add) != 0 || pod.HostNetwork || pod.HostPID || pod.HostIPC {
		t.Errorf("the pod is not restricted: %+v, %+v", inPod, inContainer)
	}
	if !is(pod.AutomountServiceAccountToken, false) {
		t.Error("the pod has a token for Kubernetes")
	}
	if !is(pod.EnableServiceLinks, false) {
		t.Error("the pod has variables such as TSUMUGI_PORT, which the server refuses")
	}
	var names []string
	for _, variable := range container.Env {
		names = append(names, variable.Name)
		if secretSetting(variable.Name) != (variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil) {
			t.Errorf("%s is a value: %q", variable.Name, variable.Value)
		}
	}
	checkSettings(t, names)
	for _, mount := range container.VolumeMounts {
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) {
			t.Errorf("the volume %s does not exist", mount.Name)
		}
	}
	return container
}

// is reports whether a field is set to a value.
func is(field *bool, value bool) bool { return field != nil && *field == value }

// checkMigration checks the Job, which runs before other objects of the chart exist.
func (m *manifests) checkMigration(t *testing.T, values chartutil.Values) {
	t.Helper()
	if enabled, err := values.PathValue("migration.enabled"); err == nil && enabled == false {
		if m.job != nil {
			t.Error("the chart has a Job for the migration")
		}
		return
	}
	pod := m.job.Spec.Template.Spec
	container := checkPod(t, pod)
	if !slices.Equal(container.Args, []string{"migrate"}) || pod.ServiceAccountName != "" ||
		m.job.Annotations["helm.sh/hook"] != "pre-install,pre-upgrade" {
		t.Errorf("the Job runs %q as %q by %q", container.Args, pod.ServiceAccountName, m.job.Annotations)
	}
	for _, volume := range pod.Volumes {
		if volume.PersistentVolumeClaim != nil {
			t.Error("the Job mounts a volume that does not exist yet")
		}
	}
}

// checkNetwork checks that a policy applies to each pod, and that it lets the pod reach what it needs.
func (m *manifests) checkNetwork(t *testing.T, values chartutil.Values) {
	t.Helper()
	if enabled, err := values.PathValue("networkPolicy.enabled"); err == nil && enabled == false {
		if len(m.policies) != 0 {
			t.Errorf("the chart has %d policies", len(m.policies))
		}
		return
	}
	ports := func(pod map[string]string) (egress []int) {
		for _, policy := range m.policies {
			if !selects(t, &policy.Spec.PodSelector, pod) {
				continue
			}
			if !slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{"Ingress", "Egress"}) {
				t.Errorf("the policy %s is for %v", policy.Name, policy.Spec.PolicyTypes)
			}
			for _, rule := range policy.Spec.Egress {
				for _, port := range rule.Ports {
					egress = append(egress, port.Port.IntValue())
				}
			}
		}
		return egress
	}
	server := ports(m.deployment.Spec.Template.Labels)
	for _, port := range []int{53, 5432, 443} {
		if !slices.Contains(server, port) {
			t.Errorf("the server does not reach port %d", port)
		}
	}
	_, err := values.PathValue("nats.existingSecret")
	if joined := err == nil; joined != slices.Contains(server, 4222) {
		t.Errorf("the server has NATS: %t; its ports are %v", joined, server)
	}
	if m.job == nil {
		return
	}
	migration := ports(m.job.Spec.Template.Labels)
	if !slices.Contains(migration, 5432) || slices.Contains(migration, 443) {
		t.Errorf("the migration reaches the ports %v", migration)
	}
}

// checkSelectors checks that the selectors match the pods of the server, and not those of the migration.
func (m *manifests) checkSelectors(t *testing.T) {
	t.Helper()
	pod := m.deployment.Spec.Template.Labels
	selectors := []*metav1.LabelSelector{m.deployment.Spec.Selector, m.budget.Spec.Selector}
	for _, constraint := range m.deployment.Spec.Template.Spec.TopologySpreadConstraints {
		selectors = append(selectors, constraint.LabelSelector)
	}
	for _, service := range m.services {
		if service.Spec.Selector != nil {
			selectors = append(selectors, &metav1.LabelSelector{MatchLabels: service.Spec.Selector})
		}
	}
	if len(selectors) != 4 {
		t.Errorf("%d selectors", len(selectors))
	}
	for _, selector := range selectors {
		if !selects(t, selector, pod) || m.job != nil && selects(t, selector, m.job.Spec.Template.Labels) {
			t.Errorf("the selector %v", selector)
		}
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, pod map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(pod))
}

// checkReplicas checks the number of servers and how they are replaced.
func (m *manifests) checkReplicas(t *testing.T, values chartutil.Values) {
	t.Helper()
	_, err := values.PathValue("nats.existingSecret")
	strategy := m.deployment.Spec.Strategy.Type
	if joined := err == nil; joined == (strategy == appsv1.RecreateDeploymentStrategyType) {
		t.Errorf("servers with NATS: %t; their strategy is %q", joined, strategy)
	}
	if m.autoscaler == nil {
		if m.deployment.Spec.Replicas == nil {
			t.Error("nothing sets the number of servers")
		}
		return
	}
	metric := m.autoscaler.Spec.Metrics[0].Pods
	if m.deployment.Spec.Replicas != nil || m.autoscaler.Spec.ScaleTargetRef.Name != m.deployment.Name ||
		metric.Target.AverageValue.Value() != 1_000_000 ||
		!strings.Contains(readFile(t, "internal/telemetry/streams.go"), `"`+metric.Metric.Name+`"`) {
		t.Errorf("the autoscaler %+v", m.autoscaler.Spec)
	}
}

// checkIngress checks that all paths but those for operators lead to the server.
func (m *manifests) checkIngress(t *testing.T) {
	t.Helper()
	if m.ingress == nil {
		return
	}
	open := make(map[string]bool) // By path.
	for _, path := range m.ingress.Spec.Rules[0].HTTP.Paths {
		i := slices.IndexFunc(m.services, func(s *corev1.Service) bool { return s.Name == path.Backend.Service.Name })
		if i < 0 || m.services[i].Spec.Ports[0].Name != path.Backend.Service.Port.Name {
			t.Fatalf("the service of %s does not exist", path.Path)
		}
		open[path.Path] = m.services[i].Spec.Selector != nil
	}
	if !maps.Equal(open, map[string]bool{"/": true, "/metrics": false, "/readyz": false}) {
		t.Errorf("open paths: %v", open)
	}
}

// readFile returns a file of the repository.
func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

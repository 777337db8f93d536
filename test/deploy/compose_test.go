package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

const composeFolder = "../../deploy/compose"

// composeVariables are the variables that a user sets in the file .env.
var composeVariables = types.Mapping{
	"TSUMUGI_PUBLIC_URL": "https://chat.example.co.jp", "TSUMUGI_SECRET_KEY": "key-of-the-test",
	"POSTGRES_PASSWORD": "password-of-postgres", "NATS_PASSWORD": "password-of-nats",
}

// TestComposeFiles loads the Compose files, and checks references between the services and the server's requirements.
func TestComposeFiles(t *testing.T) {
	t.Parallel()
	for file, count := range map[string]int{"one.yaml": 1, "three.yaml": 3} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			project, err := load(t, file, composeVariables)
			if err != nil {
				t.Fatal(err)
			}
			subnet := project.Networks["default"].Ipam.Config[0].Subnet
			var servers []string
			for _, name := range slices.Sorted(maps.Keys(project.Services)) {
				service := project.Services[name]
				if (len(service.Ports) > 0) != (name == "balancer") {
					t.Errorf("%s publishes %d ports", name, len(service.Ports))
				}
				if strings.HasPrefix(name, "tsumugi") {
					servers = append(servers, name+":8080")
					checkComposeServer(t, service, subnet)
				}
				checkMounts(t, project, service)
			}
			if len(servers) != count {
				t.Errorf("servers: %v", servers)
			}
			if got := *project.Services["balancer"].Environment["SERVERS"]; got != strings.Join(servers, " ") {
				t.Errorf("the balancer has the servers %q", got)
			}
			checkNATS(t, project)
			for variable := range composeVariables {
				text := readFile(t, "deploy/compose/"+file)
				if !strings.Contains(text, "${"+variable) {
					continue
				}
				without := maps.Clone(composeVariables)
				delete(without, variable)
				if _, err := load(t, file, without); err == nil || !strings.Contains(err.Error(), variable) {
					t.Errorf("without %s: %v", variable, err)
				}
			}
		})
	}
	for variable := range composeVariables {
		if !strings.Contains(readFile(t, "deploy/compose/example.env"), "\n"+variable+"=") {
			t.Errorf("example.env does not have %s", variable)
		}
	}
}

// load loads a Compose file as `docker compose` does.
func load(t *testing.T, file string, variables types.Mapping) (*types.Project, error) {
	t.Helper()
	folder, err := filepath.Abs(composeFolder)
	if err != nil {
		t.Fatal(err)
	}
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: folder, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(folder, file)}},
		Environment: variables,
	})
}

// checkComposeServer checks the container of a server.
func checkComposeServer(t *testing.T, server types.ServiceConfig, subnet string) {
	t.Helper()
	checkSettings(t, slices.Collect(maps.Keys(server.Environment)))
	if got := *server.Environment["TSUMUGI_TRUSTED_PROXIES"]; got != subnet {
		t.Errorf("%s trusts %q, and the balancer is in %q", server.Name, got, subnet)
	}
	if !server.ReadOnly || !slices.Equal(server.CapDrop, []string{"ALL"}) ||
		!slices.Contains(server.SecurityOpt, "no-new-privileges:true") || server.Privileged || server.User != "" {
		t.Errorf("%s has privileges", server.Name)
	}
	if !slices.Contains(server.Tmpfs, "/tmp") || server.Volumes[0].Target != "/var/lib/tsumugi" {
		t.Errorf("%s has no writable folders", server.Name)
	}
	if !slices.Equal(server.HealthCheck.Test, []string{"CMD", "/usr/bin/tsumugi", "ready"}) {
		t.Errorf("the health check of %s is %q", server.Name, server.HealthCheck.Test)
	}
	stop := time.Duration(stopLimit(t)+5) * time.Second
	if grace := server.StopGracePeriod; grace == nil || time.Duration(*grace) < stop {
		t.Errorf("%s is stopped after %v, not %v", server.Name, grace, stop)
	}
}

// checkMounts checks that the mounted files and volumes exist.
func checkMounts(t *testing.T, project *types.Project, service types.ServiceConfig) {
	t.Helper()
	for _, mount := range service.Volumes {
		switch mount.Type {
		case types.VolumeTypeVolume:
			if _, ok := project.Volumes[mount.Source]; !ok {
				t.Errorf("%s mounts the unknown volume %s", service.Name, mount.Source)
			}
		case types.VolumeTypeBind:
			if _, err := os.Stat(mount.Source); err != nil || !mount.ReadOnly {
				t.Errorf("%s mounts %s: %v", service.Name, mount.Source, err)
			}
		}
	}
}

// checkNATS checks that the servers and the nodes of NATS know all nodes, with one password.
func checkNATS(t *testing.T, project *types.Project) {
	t.Helper()
	settings := readFile(t, "deploy/compose/nats.conf")
	var nodes []string
	for _, name := range slices.Sorted(maps.Keys(project.Services)) {
		node := project.Services[name]
		if !strings.HasPrefix(name, "nats") {
			continue
		}
		if *node.Environment["NATS_NAME"] != name || !strings.Contains(settings, name+":6222") {
			t.Errorf("the node %s has another name", name)
		}
		nodes = append(nodes, "nats://tsumugi:"+*node.Environment["NATS_PASSWORD"]+"@"+name+":4222")
	}
	for name, service := range project.Services {
		if url := service.Environment["NATS_URL"]; url != nil && *url != strings.Join(nodes, ",") {
			t.Errorf("%s connects to %s", name, *url)
		}
	}
}

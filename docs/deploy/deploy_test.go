//go:build unix

// Package deploy_test compares the files of this folder with what they start. The environment alone replaces schedulers
// if nothing else is needed. .ci/slurm runs the script of Slurm under Slurm.
package deploy_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// built is the binary, and a run of a network that is hardly trained. With LANDING_LONG the binary is the static one,
// as the Dockerfile builds it but with its symbols and paths: most packages are compiled for it.
var built = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "landing-deploy-"); err != nil {
		return "", err
	}
	made = dir
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "landing"), "../../cmd/landing")
	if testkit.Long() {
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%v: %s", err, out)
	}
	train := exec.Command(filepath.Join(dir, "landing"), "train", "demo", "--out", "runs/volcano-001", "--set",
		"train.window=0", "--set", "network.width=16", "--set", "train.times_per_path=2", "--set", "train.epochs=1",
		"--set", "process.steps=10")
	train.Dir = dir
	if out, err := train.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%v: %s", err, out)
	}
	return dir, nil
})

var made string // by built

func TestMain(m *testing.M) {
	code := m.Run()
	if made != "" {
		os.RemoveAll(made)
	}
	os.Exit(code)
}

// folder returns a folder of its own with the binary and the run.
func folder(t *testing.T) string {
	t.Helper()
	dir := testkit.Must(built())
	own := t.TempDir()
	testkit.OK(t, os.CopyFS(own, os.DirFS(dir)))
	testkit.OK(t, os.Chmod(filepath.Join(own, "landing"), 0o755))
	return own
}

// Fields of Kubernetes that the files use, by the API's names: any other name in a file is a fault of it.
// .ci/kubernetes checks types and requirements by the published schemas.
type (
	object struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Metadata   struct {
			Name string `yaml:"name"`
		} `yaml:"metadata"`
		Spec spec `yaml:"spec"`
	}
	spec struct {
		CompletionMode          string `yaml:"completionMode"`
		Completions             int    `yaml:"completions"`
		Parallelism             int    `yaml:"parallelism"`
		BackoffLimitPerIndex    int    `yaml:"backoffLimitPerIndex"`
		MaxFailedIndexes        *int   `yaml:"maxFailedIndexes"`
		ActiveDeadlineSeconds   int    `yaml:"activeDeadlineSeconds"`
		TTLSecondsAfterFinished int    `yaml:"ttlSecondsAfterFinished"`
		PodReplacementPolicy    string `yaml:"podReplacementPolicy"`
		PodFailurePolicy        struct {
			Rules []struct {
				Action      string `yaml:"action"`
				OnExitCodes *struct {
					ContainerName string `yaml:"containerName"`
					Operator      string `yaml:"operator"`
					Values        []int  `yaml:"values"`
				} `yaml:"onExitCodes"`
				OnPodConditions []map[string]string `yaml:"onPodConditions"`
			} `yaml:"rules"`
		} `yaml:"podFailurePolicy"`
		Template struct {
			Spec pod `yaml:"spec"`
		} `yaml:"template"`
	}
	pod struct {
		RestartPolicy                string `yaml:"restartPolicy"`
		AutomountServiceAccountToken *bool  `yaml:"automountServiceAccountToken"`
		SecurityContext              struct {
			RunAsNonRoot   bool              `yaml:"runAsNonRoot"`
			RunAsUser      int               `yaml:"runAsUser"`
			RunAsGroup     int               `yaml:"runAsGroup"`
			FSGroup        int               `yaml:"fsGroup"`
			SeccompProfile map[string]string `yaml:"seccompProfile"`
		} `yaml:"securityContext"`
		Containers []container `yaml:"containers"`
		Volumes    []struct {
			Name                  string `yaml:"name"`
			PersistentVolumeClaim struct {
				ClaimName string `yaml:"claimName"`
			} `yaml:"persistentVolumeClaim"`
		} `yaml:"volumes"`
	}
	container struct {
		Name       string   `yaml:"name"`
		Image      string   `yaml:"image"`
		Args       []string `yaml:"args"`
		WorkingDir string   `yaml:"workingDir"`
		Env        []struct {
			Name  string `yaml:"name"`
			Value string `yaml:"value"`
		} `yaml:"env"`
		Resources struct {
			Requests map[string]string `yaml:"requests"`
			Limits   map[string]string `yaml:"limits"`
		} `yaml:"resources"`
		SecurityContext struct {
			AllowPrivilegeEscalation *bool               `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool                `yaml:"readOnlyRootFilesystem"`
			Capabilities             map[string][]string `yaml:"capabilities"`
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			Name      string `yaml:"name"`
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
	}
)

// read reads a file of Kubernetes and checks what all of them keep.
func read(t *testing.T, name string) (object, container) {
	t.Helper()
	text := testkit.Must(os.ReadFile(name))
	var o object
	if err := yaml.UnmarshalWithOptions(text, &o, yaml.Strict()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	p := o.Spec.Template.Spec
	if len(p.Containers) != 1 {
		t.Fatalf("%s: %d containers", name, len(p.Containers))
	}
	c := p.Containers[0]
	if !p.SecurityContext.RunAsNonRoot || p.SecurityContext.RunAsUser == 0 ||
		c.SecurityContext.AllowPrivilegeEscalation == nil || *c.SecurityContext.AllowPrivilegeEscalation ||
		!c.SecurityContext.ReadOnlyRootFilesystem || !slices.Equal(c.SecurityContext.Capabilities["drop"],
		[]string{"ALL"}) {
		t.Errorf("%s: the pod may do more than it needs", name)
	}
	if c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
		t.Errorf("%s: resources are %+v", name, c.Resources)
	}
	if i := slices.Index(c.Args, "--workers"); i < 0 || c.Args[i+1] != c.Resources.Requests["cpu"] {
		t.Errorf("%s: %v on %s cores", name, c.Args, c.Resources.Requests["cpu"])
	}
	volumes := map[string]bool{}
	for _, v := range p.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] || !strings.HasPrefix(m.MountPath, "/") {
			t.Errorf("%s: mounts %+v of %v", name, m, volumes)
		}
	}
	if len(volumes) != len(c.VolumeMounts) {
		t.Errorf("%s: %d volumes, %d mounted", name, len(volumes), len(c.VolumeMounts))
	}
	return o, c
}

// start runs the binary of a folder with words and an environment, and returns its exit code and what it said.
func start(t *testing.T, dir string, env []string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "landing"), args...)
	cmd.Dir, cmd.Env = dir, append([]string{"HOME=" + dir}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// exitCheck is the code of written samples with too many failures: the network is hardly trained.
const exitCheck = 4

// The pods of the Indexed Job, in any order, one of them twice and one lost the first time, make parts which joined
// are the bytes of one process. The number of samples alone is another one here.
func TestJobMakesTheBytesOfOneProcess(t *testing.T) {
	o, c := read(t, "kubernetes-job.yaml")
	s := o.Spec
	if o.Kind != "Job" || o.APIVersion != "batch/v1" || s.CompletionMode != "Indexed" || s.BackoffLimitPerIndex < 1 ||
		s.MaxFailedIndexes == nil || s.Template.Spec.RestartPolicy != "Never" || s.Parallelism > s.Completions {
		t.Errorf("%+v", s)
	}
	var env []string
	for _, e := range c.Env {
		env = append(env, e.Name+"="+e.Value)
	}
	if !slices.Contains(env, fmt.Sprintf("LANDING_SHARDS=%d", s.Completions)) {
		t.Errorf("%v in a job of %d completions", env, s.Completions)
	}
	dir := folder(t)
	const number = "1003"
	args := slices.Clone(c.Args)
	args[slices.Index(args, "-n")+1] = number
	args[slices.Index(args, "--workers")+1] = "2"
	if code, said := start(t, dir, nil, "generate", args[1], "-n", number, "-o", "alone.npy"); code != 0 &&
		code != exitCheck {
		t.Fatalf("code %d: %s", code, said)
	}
	pod := func(i int) {
		t.Helper()
		at := append(slices.Clone(env), "JOB_COMPLETION_INDEX="+strconv.Itoa(i))
		if code, said := start(t, dir, at, args...); code != 0 && code != exitCheck {
			t.Fatalf("pod %d: code %d: %s", i, code, said)
		}
	}
	order := []int{s.Completions - 1, 0, 0}
	for i := 1; i < s.Completions-2; i++ {
		order = append(order, i)
	}
	for _, i := range order {
		pod(i)
	}
	if code, said := start(t, dir, nil, "merge", "samples.npy.parts"); code == 0 || code == exitCheck {
		t.Errorf("parts are joined though one is missing: %s", said)
	}
	pod(s.Completions - 2)
	if code, said := start(t, dir, nil, "merge", "samples.npy.parts"); code != 0 && code != exitCheck {
		t.Fatalf("code %d: %s", code, said)
	}
	joined := testkit.Must(os.ReadFile(filepath.Join(dir, "samples.npy")))
	alone := testkit.Must(os.ReadFile(filepath.Join(dir, "alone.npy")))
	if !bytes.Equal(joined, alone) {
		t.Error("parts of the job's pods, joined, are not the bytes of one process")
	}
}

// The job's failure policy gives up on the codes of faults that a retry does not repair. A job in another environment
// fails with one of these codes.
func TestJobGivesUpWhereAnotherTryIsOfNoUse(t *testing.T) {
	o, c := read(t, "kubernetes-job.yaml")
	var values []int
	for _, r := range o.Spec.PodFailurePolicy.Rules {
		if r.OnExitCodes != nil && r.Action == "FailIndex" && r.OnExitCodes.Operator == "In" &&
			r.OnExitCodes.ContainerName == c.Name {
			values = r.OnExitCodes.Values
		}
	}
	dir := folder(t)
	for what, env := range map[string][]string{
		"no index": {"LANDING_SHARDS=8"}, "an index too large": {"LANDING_SHARDS=8", "JOB_COMPLETION_INDEX=8"},
		"no number of parts": {"JOB_COMPLETION_INDEX=0"},
	} {
		if code, said := start(t, dir, env, c.Args...); !slices.Contains(values, code) {
			t.Errorf("%s: code %d, which is tried again; %s", what, code, said)
		}
	}
	missing := slices.Clone(c.Args)
	missing[1] = "runs/none"
	env := []string{"LANDING_SHARDS=8", "JOB_COMPLETION_INDEX=0"}
	if code, said := start(t, dir, env, missing...); !slices.Contains(values, code) {
		t.Errorf("no run: code %d, which is tried again; %s", code, said)
	}
}

// The binary of the Dockerfile needs no library, and draws samples as its user in a folder with nothing else, which
// the kernel takes for the root of the file system. The image itself is not built here: that needs a daemon.
func TestImage(t *testing.T) {
	text := testkit.Must(os.ReadFile("Dockerfile"))
	mod := testkit.Must(os.ReadFile("../../go.mod"))
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	for _, line := range []string{"FROM golang:" + string(version[1]) + " AS build",
		"RUN CGO_ENABLED=0 go build -trimpath -ldflags=-s -o /landing ./cmd/landing", "FROM scratch",
		"COPY --from=build /landing /landing",
		"COPY --from=build /src/LICENSE /src/NOTICE /src/THIRD_PARTY_LICENSES /licences/",
		"USER 65532:65532", `ENTRYPOINT ["/landing"]`} {
		if !bytes.Contains(text, []byte("\n"+line+"\n")) && !bytes.HasSuffix(text, []byte("\n"+line+"\n")) {
			t.Errorf("the Dockerfile has no line %q", line)
		}
	}
	if !testkit.Long() {
		t.Skip("compiles most packages: LANDING_LONG=1")
	}
	dir := folder(t)
	f, err := elf.Open(filepath.Join(dir, "landing"))
	if err != nil {
		t.Skipf("no binary of Linux: %v", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has a segment %v: it is not static", p.Type)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("a root of its own takes root")
	}
	testkit.OK(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, 65532, 65532)
	}))
	cmd := exec.Command("/landing", "generate", "runs/volcano-001", "-n", "100", "-o", "samples.npy")
	cmd.Dir, cmd.Env = "/", []string{"TMPDIR=/", "XDG_CACHE_HOME=/.cache"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: dir, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	if out, err := cmd.CombinedOutput(); err != nil && (cmd.ProcessState == nil ||
		cmd.ProcessState.ExitCode() != exitCheck) {
		t.Fatalf("%v: %s", err, out)
	}
	testkit.OK(t, testkit.Err(os.Stat(filepath.Join(dir, "samples.npy"))))
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { BINARY_VERSIONS, goModuleOf, type BinaryName } from '@coxswain/local-cluster';
import { runCommand } from './run-command.ts';

/** Programs that one run of the Go compiler makes together, because they share most of their packages. */
export interface GoBuild {
  readonly name: string;
  readonly binaries: readonly BinaryName[];
  /** Builds of one lane follow each other; the long one has a lane of its own. */
  readonly lane: 'Kubernetes' | 'other programs';
  /** Processor time on one core that was seen with an empty Go cache. */
  readonly cpuSeconds: number;
}

const PACKAGES: Record<BinaryName, string> = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  helm: 'helm.sh/helm/v4/cmd/helm',
  kwok: 'sigs.k8s.io/kwok/cmd/kwok',
  kubelet: 'k8s.io/kubernetes/cmd/kubelet',
  'kube-proxy': 'k8s.io/kubernetes/cmd/kube-proxy',
  coredns: '.',
  gofakes3: '.',
  versitygw: 'github.com/versity/versitygw/cmd/versitygw',
  kueue: 'sigs.k8s.io/kueue/cmd/kueue',
  jobset: 'sigs.k8s.io/jobset',
  'training-operator': 'github.com/kubeflow/training-operator/cmd/training-operator.v1',
  promtool: 'github.com/prometheus/prometheus/cmd/promtool',
};

/** What the first Go with automatic toolchains was; it fetches the version that a module asks for. */
const LOWEST_GO = [1, 21] as const;

/** All builds, the long one first. */
export const GO_BUILDS: readonly GoBuild[] = [
  {
    name: 'Kubernetes',
    binaries: ['kube-apiserver', 'kube-scheduler', 'kube-controller-manager', 'kubectl'],
    lane: 'Kubernetes',
    cpuSeconds: 1_400,
  },
  { name: 'etcd', binaries: ['etcd'], lane: 'other programs', cpuSeconds: 60 },
  { name: 'helm', binaries: ['helm'], lane: 'other programs', cpuSeconds: 180 },
  { name: 'kwok', binaries: ['kwok'], lane: 'other programs', cpuSeconds: 120 },
  { name: 'kubelet', binaries: ['kubelet', 'kube-proxy'], lane: 'Kubernetes', cpuSeconds: 480 },
  { name: 'CoreDNS', binaries: ['coredns'], lane: 'other programs', cpuSeconds: 150 },
  { name: 'gofakes3', binaries: ['gofakes3'], lane: 'other programs', cpuSeconds: 30 },
  { name: 'versitygw', binaries: ['versitygw'], lane: 'other programs', cpuSeconds: 110 },
  { name: 'Kueue', binaries: ['kueue'], lane: 'other programs', cpuSeconds: 1_500 },
  { name: 'JobSet', binaries: ['jobset'], lane: 'other programs', cpuSeconds: 160 },
  { name: 'the training operator', binaries: ['training-operator'], lane: 'other programs', cpuSeconds: 140 },
  { name: 'promtool', binaries: ['promtool'], lane: 'other programs', cpuSeconds: 180 },
];

/** Why Go cannot be used here, as a sentence; undefined when it can. */
export async function whyNoGo(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('go', ['version']);
    const [, major = '0', minor = '0'] = /go(\d+)\.(\d+)/.exec(stdout) ?? [];
    const enough = Number(major) > LOWEST_GO[0] || Number(minor) >= LOWEST_GO[1];
    return enough ? undefined : `the Go on PATH is ${major}.${minor}; ${LOWEST_GO.join('.')} or later is needed`;
  } catch {
    return 'there is no Go on PATH';
  }
}

/** Builds programs of one pinned module (tools/go) into `directory`, under their own names. */
export async function goBuild(
  build: GoBuild,
  wanted: readonly [BinaryName, ...BinaryName[]],
  directory: string,
): Promise<void> {
  const [first] = wanted;
  // With one package, `-o` names the file: some packages are not called like their program.
  const output = wanted.length === 1 ? `${directory}/${first}` : `${directory}/`;
  const flags = [...tagsOf(first), '-trimpath', '-buildvcs=false', '-ldflags', linkerFlags(first), '-o', output];
  await runCommand({
    name: `go build ${build.name}`,
    command: 'go',
    args: ['build', ...flags, ...wanted.map((name) => PACKAGES[name])],
    cwd: goModuleOf(first),
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' },
  });
}

/** Rules are tested without clients of clouds, which take most of the time of the build. */
function tagsOf(name: BinaryName): readonly string[] {
  return name === 'promtool' ? ['-tags', 'remove_all_sd'] : [];
}

/** Without its version Kubernetes calls itself 0.0.0, and clients misjudge what it can do. */
function linkerFlags(name: BinaryName): string {
  const version = BINARY_VERSIONS[name];
  const [major = '', minor = ''] = version.split('.');
  const kubernetes = 'k8s.io/component-base/version';
  const set: Record<string, string> =
    name === 'helm'
      ? { 'helm.sh/helm/v4/internal/version.version': `v${version}` }
      : name === 'kueue'
        ? { 'sigs.k8s.io/kueue/pkg/version.GitVersion': `v${version}` }
        : PACKAGES[name].startsWith('k8s.io/kubernetes/')
          ? {
              [`${kubernetes}.gitVersion`]: `v${version}`,
              [`${kubernetes}.gitMajor`]: major,
              [`${kubernetes}.gitMinor`]: minor,
            }
          : {};
  return ['-s', '-w', ...Object.entries(set).map(([variable, value]) => `-X ${variable}=${value}`)].join(' ');
}

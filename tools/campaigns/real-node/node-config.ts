import { stringify } from 'yaml';

/** Addresses of the campaign's network namespace. Nothing outside of it is ever addressed. */
export const ADDRESSES = {
  /** Of the control plane, the name server and everything else that is no pod. */
  host: '10.99.0.1',
  hostRange: '10.99.0.0/24',
  node: (index: number): string => `10.99.0.${10 + index}`,
  podRange: (index: number): string => `10.98.${index}.0/24`,
} as const;

/** Where one node keeps what is its own. */
export interface NodePlaces {
  readonly index: number;
  readonly name: string;
  readonly directory: string;
  readonly containerdSocket: string;
  readonly cgroup: string;
  /** Key and effect, where only pods that tolerate it may come. */
  readonly taint: string | undefined;
}

/** Image of the container that holds a pod's network namespace. */
export const SANDBOX_IMAGE = 'localhost/coxswain/pause:dev';

/** containerd's configuration, of a node whose programs lie below `directory`. */
export function containerdConfig({ directory, containerdSocket }: NodePlaces): string {
  return `version = 2
root = "${directory}/containerd"
state = "${directory}/containerd-state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "${containerdSocket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${directory}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${SANDBOX_IMAGE}"
  # Without it a negative score is a mistake of runc where root has no CAP_SYS_RESOURCE.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${directory}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
`;
}

/** A bridge of the node's own; the bridges of all nodes lie in one network namespace, whose routes join them. */
export function cniConfig({ index, directory }: NodePlaces): string {
  const ipam = {
    type: 'host-local',
    dataDir: `${directory}/ipam`,
    ranges: [[{ subnet: ADDRESSES.podRange(index) }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  const bridge = { type: 'bridge', bridge: `pods${index}`, isGateway: true, ipMasq: false, hairpinMode: true, ipam };
  return JSON.stringify({ cniVersion: '1.0.0', name: 'pods', plugins: [bridge] });
}

/** The kubelet's configuration. It also runs where the kernel's cgroups are of version 1. */
export function kubeletConfig(node: NodePlaces): string {
  const { index, directory, containerdSocket, cgroup, taint } = node;
  const [key, effect] = taint?.split(':') ?? [];
  return stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: ADDRESSES.node(index),
    readOnlyPort: 0,
    healthzPort: 0,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: `${directory}/clients.crt` },
    },
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    makeIPTablesUtilChains: false,
    clusterDomain: 'cluster.local',
    clusterDNS: [ADDRESSES.host],
    resolvConf: `${directory}/resolv.conf`,
    podLogsDir: `${directory}/pod-logs`,
    volumePluginDir: `${directory}/volume-plugins`,
    maxPods: 30,
    seccompDefault: true,
    // No image can be had again, and the disk is the machine's, not the node's.
    imageGCHighThresholdPercent: 100,
    evictionHard: { 'memory.available': '0%', 'nodefs.available': '0%', 'imagefs.available': '0%' },
    ...(key === undefined ? {} : { registerWithTaints: [{ key, effect }] }),
  });
}

/** kube-proxy's configuration; one serves all nodes, since they share a network namespace. */
export function kubeProxyConfig(kubeconfig: string): string {
  return stringify({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clientConnection: { kubeconfig },
    oomScoreAdj: 0,
    healthzBindAddress: '',
    metricsBindAddress: '',
    hostnameOverride: 'system',
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  });
}

/** CoreDNS's configuration: the cluster's names and no others. */
export function corefile(kubeconfig: string): string {
  return `. {
  ready ${ADDRESSES.host}:8181
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig ${kubeconfig}
  }
}
`;
}

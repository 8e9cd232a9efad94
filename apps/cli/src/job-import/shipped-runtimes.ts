/** The runtimes in `examples/runtimes` by what makes them the one for a pod: a device, a daemon beside the trainer, or an annotation. */
export interface ShippedRuntime {
  readonly name: string;
  readonly file: string;
  readonly device?: string;
  readonly count?: number;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** Part of a sidecar's description. */
  readonly daemon?: string;
  readonly annotation?: string;
}

const INSTANCE = 'node.kubernetes.io/instance-type';

/** A test compares them with the files. */
export const SHIPPED_RUNTIMES: readonly ShippedRuntime[] = [
  {
    name: 'efa-p5',
    file: 'efa.yaml',
    device: 'vpc.amazonaws.com/efa',
    count: 32,
    nodeSelector: { [INSTANCE]: 'p5.48xlarge' },
  },
  {
    name: 'gb200',
    file: 'gb200.yaml',
    device: 'vpc.amazonaws.com/efa',
    count: 4,
    nodeSelector: { [INSTANCE]: 'p6e-gb200.36xlarge', 'kubernetes.io/arch': 'arm64' },
  },
  { name: 'rdma-shared', file: 'rdma-shared.yaml', device: 'rdma/shared_ib', count: 1 },
  {
    name: 'coreweave-infiniband',
    file: 'coreweave.yaml',
    device: 'rdma/ib',
    count: 1,
    nodeSelector: { 'backend.coreweave.cloud/flavor': 'infiniband' },
  },
  { name: 'rdma-sriov', file: 'rdma-sriov.yaml', device: 'nvidia.com/rdma-vf', count: 8 },
  { name: 'gke-tcpxo', file: 'gke-tcpxo.yaml', daemon: 'tcpxo' },
  { name: 'gke-tcpx', file: 'gke-tcpx.yaml', daemon: 'tcpx' },
  { name: 'gke-gib', file: 'gke-gib.yaml', annotation: 'networking.gke.io/interfaces' },
];

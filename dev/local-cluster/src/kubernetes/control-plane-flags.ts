import type { ControlPlanePki } from './control-plane-pki.ts';

/** The service range of every local control plane. No Service is ever routed: pods are plain processes. */
const SERVICE_RANGE = '10.0.0.0/24';

/** Client rate of scheduler and controller-manager. Their defaults (20 to 50 a second) make 1,000 nodes take minutes. */
export const DEFAULT_CLIENT_QPS = 1000;

/** What the flags of one control plane depend on. */
export interface ControlPlaneFacts {
  readonly pki: ControlPlanePki;
  readonly dataDirectory: string;
  readonly ports: { readonly etcd: number; readonly etcdPeer: number; readonly apiserver: number };
  readonly clientQps: number;
  /** Files that the caller writes. */
  readonly schedulerConfigPath: string;
  readonly controllerManagerKubeconfigPath: string;
  readonly audit: { readonly policyPath: string; readonly logPath: string } | undefined;
  /** True where the data must survive a crash of the machine; costs a disk write per request. */
  readonly durable: boolean;
}

/** Flags of etcd: one member on loopback, client certificates required. */
export function etcdFlags({ pki, ports, dataDirectory, durable }: ControlPlaneFacts): string[] {
  const client = `https://127.0.0.1:${ports.etcd}`;
  const peer = `https://127.0.0.1:${ports.etcdPeer}`;
  return [
    '--name=local',
    `--data-dir=${dataDirectory}/etcd`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=local=${peer}`,
    `--cert-file=${pki.file('etcd.crt')}`,
    `--key-file=${pki.file('etcd.key')}`,
    `--trusted-ca-file=${pki.file('etcd-ca.crt')}`,
    '--client-cert-auth',
    `--peer-cert-file=${pki.file('etcd.crt')}`,
    `--peer-key-file=${pki.file('etcd.key')}`,
    `--peer-trusted-ca-file=${pki.file('etcd-ca.crt')}`,
    '--peer-client-cert-auth',
    '--log-level=warn',
    '--snapshot-count=10000',
    // The default of 2 GB is for small clusters: a bench of 10,240 nodes writes more between two compactions.
    `--quota-backend-bytes=${8 * 2 ** 30}`,
    ...(durable ? [] : ['--unsafe-no-fsync']),
  ];
}

/** Flags of kube-apiserver: RBAC on, bound service account tokens, loopback only. */
export function apiserverFlags({ pki, ports, dataDirectory, audit }: ControlPlaneFacts): string[] {
  return [
    `--etcd-servers=https://127.0.0.1:${ports.etcd}`,
    `--etcd-cafile=${pki.file('etcd-ca.crt')}`,
    `--etcd-certfile=${pki.file('etcd-client.crt')}`,
    `--etcd-keyfile=${pki.file('etcd-client.key')}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${ports.apiserver}`,
    // Endpoints refuse loopback addresses, and nothing here routes to the `kubernetes` service.
    '--endpoint-reconciler-type=none',
    `--tls-cert-file=${pki.file('apiserver.crt')}`,
    `--tls-private-key-file=${pki.file('apiserver.key')}`,
    `--cert-dir=${dataDirectory}`,
    `--client-ca-file=${pki.file('ca.crt')}`,
    `--kubelet-client-certificate=${pki.file('kubelet-client.crt')}`,
    `--kubelet-client-key=${pki.file('kubelet-client.key')}`,
    '--kubelet-preferred-address-types=InternalIP',
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${pki.file('service-account.pub')}`,
    `--service-account-signing-key-file=${pki.file('service-account.key')}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--anonymous-auth=false',
    '--profiling=false',
    ...(audit === undefined
      ? []
      : [`--audit-policy-file=${audit.policyPath}`, `--audit-log-path=${audit.logPath}`, '--audit-log-maxsize=0']),
  ];
}

/** Flags of kube-scheduler; the rest is in {@link schedulerConfig}. */
export function schedulerFlags({ schedulerConfigPath }: ControlPlaneFacts): string[] {
  return [`--config=${schedulerConfigPath}`, '--secure-port=0'];
}

/** The scheduler's configuration file, as JSON. */
export function schedulerConfig(kubeconfigPath: string, clientQps: number): string {
  return JSON.stringify({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    clientConnection: { kubeconfig: kubeconfigPath, qps: clientQps, burst: 2 * clientQps },
    leaderElection: { leaderElect: false },
  });
}

/** Flags of kube-controller-manager: every controller, each with a service account of its own. */
export function controllerManagerFlags(facts: ControlPlaneFacts): string[] {
  const { pki, clientQps, controllerManagerKubeconfigPath } = facts;
  return [
    `--kubeconfig=${controllerManagerKubeconfigPath}`,
    '--leader-elect=false',
    '--secure-port=0',
    `--service-account-private-key-file=${pki.file('service-account.key')}`,
    `--root-ca-file=${pki.file('ca.crt')}`,
    '--use-service-account-credentials=true',
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    '--allocate-node-cidrs=false',
    `--kube-api-qps=${clientQps}`,
    `--kube-api-burst=${2 * clientQps}`,
  ];
}

/** Who did what to which object, without bodies; one line per request, written before the answer goes out. */
export const AUDIT_POLICY = JSON.stringify({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
});

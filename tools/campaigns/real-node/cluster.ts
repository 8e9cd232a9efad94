import {
  findBinary,
  startControlPlane,
  startProcess,
  type ControlPlane,
  type ProcessHandle,
} from '@coxswain/local-cluster';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command } from './command.ts';
import { ADDRESSES, corefile, kubeProxyConfig } from './node-config.ts';
import { RealNode } from './node.ts';

const READY_MS = 120_000;
const GPU_TAINT = 'nvidia.com/gpu:NoSchedule';

/** A control plane with real nodes: one for our programs, the others with GPUs that only the API counts. */
export interface RealCluster {
  readonly plane: ControlPlane;
  readonly system: RealNode;
  readonly gpuNodes: readonly RealNode[];
  stop(): Promise<void>;
}

/** Size of the campaign's cluster, and where its files lie. */
export interface ClusterOptions {
  readonly directory: string;
  readonly cgroup: string;
  readonly gpuNodes: number;
}

/** Brings up loopback and the address that pods reach the control plane under. */
export async function prepareNetwork(): Promise<void> {
  await command('ip', ['link', 'set', 'lo', 'up']);
  await command('ip', ['link', 'add', 'host', 'type', 'bridge']);
  const addresses = [ADDRESSES.host, ...Array.from({ length: 16 }, (_, index) => ADDRESSES.node(index))];
  for (const address of addresses) await command('ip', ['address', 'add', `${address}/24`, 'dev', 'host']);
  await command('ip', ['link', 'set', 'host', 'up']);
  // Addresses of services lead here, where kube-proxy's rules turn them into addresses of pods.
  await command('ip', ['route', 'add', 'default', 'dev', 'host']);
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1');
}

/** Starts everything; nodes are not waited for. */
export async function startCluster({ directory, cgroup, gpuNodes }: ClusterOptions): Promise<RealCluster> {
  const plane = await startControlPlane({
    // What is said last holds: pods must reach it, and find it behind the service `kubernetes`.
    extraApiserverFlags: [
      '--bind-address=0.0.0.0',
      `--advertise-address=${ADDRESSES.host}`,
      '--endpoint-reconciler-type=lease',
      '--allow-privileged=false',
    ],
  });
  const programs = await Promise.all([startProxy(plane), startNameServer(plane)]);
  const start = (index: number, name: string, taint?: string): Promise<RealNode> =>
    RealNode.start(plane, { index, name, directory, cgroup, ...(taint === undefined ? {} : { taint }) });
  const system = await start(0, 'system');
  const nodes: RealNode[] = [];
  for (let index = 1; index <= gpuNodes; index++) nodes.push(await start(index, `gpu-${index}`, GPU_TAINT));
  const stop = async (): Promise<void> => {
    await Promise.all(programs.map((program) => program.stop({ graceMs: 0 })));
    await plane.stop({ keepLogs: true });
  };
  return { plane, system, gpuNodes: nodes, stop };
}

async function startProxy(plane: ControlPlane): Promise<ProcessHandle> {
  const config = join(plane.directory, 'kube-proxy.yaml');
  writeFileSync(config, kubeProxyConfig(await plane.kubeconfigForUser({ user: 'system:kube-proxy' })));
  return startProcess({
    name: 'kube-proxy',
    command: await findBinary('kube-proxy'),
    args: [`--config=${config}`],
    logPath: join(plane.logsDirectory, 'kube-proxy.log'),
  });
}

async function startNameServer(plane: ControlPlane): Promise<ProcessHandle> {
  const config = join(plane.directory, 'Corefile');
  writeFileSync(config, corefile(plane.adminKubeconfigPath));
  const isReady = (): Promise<boolean> =>
    fetch(`http://${ADDRESSES.host}:8181/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  return startProcess({
    name: 'CoreDNS',
    command: await findBinary('coredns'),
    args: ['-conf', config],
    logPath: join(plane.logsDirectory, 'coredns.log'),
    ready: { check: isReady, deadlineMs: READY_MS },
  });
}

import { setTimeout as delay } from 'node:timers/promises';
import { LABELS } from '@coxswain/api-types';
import { listPodProcesses, SYSTEM_NAMESPACE, type CoxswainSystem } from '@coxswain/local-cluster';
import type { FaultProxy } from '@coxswain/test-harness';

/** What the troubles are made with. */
export interface TroubleParts {
  readonly system: CoxswainSystem;
  /** Between operators and API server. */
  readonly proxy: FaultProxy;
  readonly namespace: string;
  /** [0, 1). */
  readonly random: () => number;
  /** A rank of that job was killed: its gang may be charged for it. */
  readonly onKilledRank: (jobName: string) => void;
}

/** Something that goes wrong and, when it resolves, is over; answers with what was done, in words. */
export type Trouble = (parts: TroubleParts) => Promise<string>;

const KILL = { graceMs: 0 };
/** Of a kind whose watch stands still. */
const WATCHED = ['trainingjobs', 'placements', 'checkpoints', 'pods', 'nodes'] as const;

export const TROUBLES: Readonly<Record<string, Trouble>> = {
  'kill the leading operator': async ({ system }) => {
    const index = await leaderOf(system);
    await system.operators[index]?.process.stop(KILL);
    await system.startOperator(index);
    return `operator ${index}`;
  },
  'kill an operator': async ({ system, random }) => {
    const index = Math.floor(random() * system.operators.length);
    await system.operators[index]?.process.stop(KILL);
    await system.startOperator(index);
    return `operator ${index}`;
  },
  'put the leading operator to sleep for twice its lease': async ({ system }) => {
    const index = await leaderOf(system);
    const pid = system.operators[index]?.process.pid;
    if (pid === undefined) return 'there is none';
    process.kill(pid, 'SIGSTOP');
    await delay(12_000);
    process.kill(pid, 'SIGCONT');
    return `operator ${index}`;
  },
  'kill the API': async ({ system }) => {
    await system.api.stop(KILL);
    await system.startApi();
    return 'and started again';
  },
  'kill the queue worker': async ({ system }) => {
    await system.worker?.stop(KILL);
    await system.startWorker();
    return 'and started again';
  },
  'kill the database': async ({ system }) => {
    await system.postgres.kill();
    await system.postgres.start();
    return 'and started again';
  },
  'take the database away': async ({ system, random }) => {
    const ms = 3_000 + random() * 12_000;
    await system.postgres.pause();
    await delay(ms);
    await system.postgres.start();
    return `for ${Math.round(ms / 1000)} s`;
  },
  'reset every connection of the operators': async ({ proxy }) => {
    proxy.resetConnections();
    return `${proxy.openWatches} watches are open`;
  },
  'let the watch of one kind stand still': async ({ proxy, random }) => {
    const kind = WATCHED[Math.floor(random() * WATCHED.length)] ?? 'pods';
    const ms = 3_000 + random() * 17_000;
    const opening = Promise.withResolvers<void>();
    const fault = proxy.add({
      match: { verbs: ['watch'], path: new RegExp(`/${kind}$`) },
      action: { kind: 'watch', script: () => (line) => [{ until: opening.promise }, { send: line }] },
    });
    // Only new watches are struck.
    proxy.resetConnections();
    await delay(ms);
    opening.resolve();
    fault.remove();
    return `${kind}, for ${Math.round(ms / 1000)} s`;
  },
  'take the API server away from the operators': async ({ proxy, random }) => {
    const ms = 2_000 + random() * 8_000;
    await proxy.stopListening();
    await delay(ms);
    await proxy.listenAgain();
    return `for ${Math.round(ms / 1000)} s`;
  },
  'kill a rank': async ({ system, namespace, random, onKilledRank }) => {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    const { items } = await system.plane.admin.json<{ readonly items: readonly PodOfJob[] }>({ method: 'GET', path });
    const running = items.filter(({ status }) => status.phase === 'Running');
    const pod = running[Math.floor(random() * running.length)];
    const ranks = pod === undefined ? [] : listPodProcesses(system.nodesDirectory, pod.metadata.uid);
    const rank = ranks.find(({ env }) => env['RANK'] !== undefined);
    if (pod === undefined || rank === undefined) return 'none runs';
    onKilledRank(pod.metadata.labels?.[LABELS.jobName] ?? '');
    process.kill(rank.pid, 'SIGKILL');
    return `of pod ${pod.metadata.name}`;
  },
};

interface PodOfJob {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly status: { readonly phase: string };
}

/** Index of the operator that holds the lease; the first where nobody does at the moment. */
async function leaderOf(system: CoxswainSystem): Promise<number> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/coxswain-operator`;
  const lease = await system.plane.admin.json<{ spec?: { holderIdentity?: string } }>({ method: 'GET', path });
  // Each start of a process adds a suffix of its own.
  return Number(/^operator-(\d+)/.exec(lease.spec?.holderIdentity ?? '')?.[1] ?? 0);
}

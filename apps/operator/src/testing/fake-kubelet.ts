import { CONTAINERS, EXIT_CODES, LABELS, type TerminationCause } from '@coxswain/api-types';
import type { AdminClient } from '@coxswain/local-cluster';
import type { RawPod } from './raw-pod.ts';
import { Repeating } from './repeating.ts';

/** What becomes of a pod once it is bound: it goes on running, or its trainer ends. */
export type Fate =
  { readonly kind: 'runs' } | { readonly kind: 'exits'; readonly code: number; readonly cause?: TerminationCause };

/** Stands in for the kubelets of made-up nodes: bound pods run at once, meet their fate, and go when they are deleted. */
export class FakeKubelet {
  /** Decides on every look, so that a test may change its mind. */
  fateOf: (pod: { readonly jobName: string; readonly epoch: number; readonly podIndex: number }) => Fate = () => ({
    kind: 'runs',
  });
  /** While it is false pods stay as they are: a kubelet that is away. */
  isAwake = true;
  /** Shown every pod of every gang, about twenty times a second. */
  onLook: (pods: readonly RawPod[]) => void = () => undefined;
  /** Nodes whose kubelet is away: what is bound to them stays as it is. */
  readonly lostNodes = new Set<string>();
  readonly #admin: AdminClient;
  readonly #looking = new Repeating(50, async () => {
    if (this.isAwake) await this.#reconcile();
  });

  constructor(admin: AdminClient) {
    this.#admin = admin;
  }

  start(): void {
    this.#looking.start();
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  async #reconcile(): Promise<void> {
    const { items } = await this.#admin.json<{ items: (RawPod & { metadata: { namespace: string } })[] }>({
      method: 'GET',
      path: `/api/v1/pods?labelSelector=${encodeURIComponent(LABELS.jobUid)}`,
    });
    this.onLook(items);
    for (const pod of items) {
      if (pod.spec.nodeName === undefined || this.lostNodes.has(pod.spec.nodeName)) continue;
      const path = `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}`;
      if (pod.metadata.deletionTimestamp !== undefined) {
        // A kubelet reports the end of what it was told to delete, and only then deletes it for good.
        if (!isOver(pod)) await this.#report(path, exitOf(STOPPED), phaseOf(STOPPED));
        else if (pod.metadata.deletionGracePeriodSeconds === 0) continue;
        const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } };
        await this.#admin.send({ method: 'DELETE', path, body });
        continue;
      }
      const { labels = {} } = pod.metadata;
      const fate = this.fateOf({
        jobName: labels[LABELS.jobName] ?? '',
        epoch: Number(labels[LABELS.epoch]),
        podIndex: Number(labels[LABELS.podIndex]),
      });
      if (pod.status.phase === 'Pending') await this.#report(path, { running: { startedAt: now() } }, 'Running');
      else if (pod.status.phase === 'Running' && fate.kind === 'exits')
        await this.#report(path, exitOf(fate), phaseOf(fate));
    }
  }

  async #report(path: string, state: Record<string, unknown>, phase: string): Promise<void> {
    const container = { name: CONTAINERS.trainer, image: 'example/image', imageID: '', ready: false, restartCount: 0 };
    await this.#admin.json({
      method: 'PATCH',
      path: `${path}/status`,
      body: { status: { phase, containerStatuses: [{ ...container, state }] } },
      contentType: 'application/merge-patch+json',
    });
  }
}

/** As a launcher ends that was asked to stop, and has saved. */
const STOPPED = { kind: 'exits', code: EXIT_CODES.stopped.code } as const;

function isOver({ status }: RawPod): boolean {
  return ['Succeeded', 'Failed'].includes(status.phase);
}

function exitOf(fate: Extract<Fate, { kind: 'exits' }>): Record<string, unknown> {
  const { code, cause } = fate;
  return {
    terminated: {
      exitCode: code,
      reason: code === 0 ? 'Completed' : 'Error',
      startedAt: now(),
      finishedAt: now(),
      ...(cause === undefined ? {} : { message: JSON.stringify(cause) }),
    },
  };
}

function phaseOf(fate: Extract<Fate, { kind: 'exits' }>): string {
  return fate.code === 0 ? 'Succeeded' : 'Failed';
}

/** Kubernetes times of pods have whole seconds. */
function now(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

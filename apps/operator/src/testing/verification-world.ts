import { ANNOTATIONS, type Checkpoint, LABELS } from '@coxswain/api-types';
import { aVerification } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import type { KubeObject } from '@coxswain/kube';
import { FakeKubeApi } from '@coxswain/kube/testing';
import { checkpointsPath, podsPath } from '../cluster/paths.ts';
import { VerificationController, type VerificationControllerParts } from '../verification/verification-controller.ts';
import { CacheScript } from './a-cluster-cache.ts';

export const namespace = 'research';
export const SOUND = aVerification({ level: 'V3', by: 'Worker' });
export const DAMAGED = aVerification({
  level: 'V3',
  verdict: 'damaged',
  findings: [{ kind: 'damaged', message: 'w has other bytes.' }],
});

export interface RawPod extends KubeObject {
  readonly spec: {
    readonly affinity?: unknown;
    readonly automountServiceAccountToken: boolean;
    readonly containers: readonly { readonly securityContext: unknown; readonly command: readonly string[] }[];
    readonly volumes: readonly unknown[];
  };
}

/** A controller of verifications on a cluster in memory. */
export class VerificationWorld {
  script = new CacheScript();
  readonly api = new FakeKubeApi();
  readonly errors: unknown[] = [];
  readonly cleared: string[] = [];
  backgroundBytesPerHour = 0;
  /** What the controller calls in place of the server. */
  client: VerificationControllerParts['client'] = this.api;
  controller = this.#another();

  #another(): VerificationController {
    return new VerificationController({
      client: this.client,
      cache: this.script.cache,
      clock: this.script.clock,
      pods: { launcherImage: 'launcher', user: 1000 },
      backgroundBytesPerHour: this.backgroundBytesPerHour,
      onCleared: (_job, note) => this.cleared.push(note),
      onError: (error) => this.errors.push(error),
    });
  }

  /** Another replica leads, which knows only what the server holds. */
  fail(): void {
    this.script = new CacheScript();
    this.see();
    this.controller = this.#another();
  }

  async checkpoint(
    more: { readonly step?: number; readonly verify?: string; readonly status?: Checkpoint['status'] } = {},
  ): Promise<string> {
    const { step = 20, verify, status = { state: 'Complete' as const } } = more;
    const made = aCheckpoint({ step });
    const annotations = verify === undefined ? {} : { annotations: { [ANNOTATIONS.verify]: verify } };
    const { name } = made.metadata;
    await this.api.create(checkpointsPath({ namespace }), {
      ...made,
      metadata: { name, namespace, creationTimestamp: '2025-12-31T00:00:00Z', ...annotations },
      status,
    });
    this.see();
    return name;
  }

  /** The watch brings what the server holds. */
  see(): void {
    for (const one of this.api.objects<Checkpoint & KubeObject>(checkpointsPath()))
      this.script.cache.checkpoints.cached.upsert(one);
  }

  async reconcile(): Promise<void> {
    await this.controller.reconcile();
    this.see();
  }

  get pods(): readonly RawPod[] {
    return this.api.objects<RawPod>(podsPath()).filter(({ metadata }) => metadata.labels?.[LABELS.worker] === 'verify');
  }

  /** The kubelet reports that the only pod ended, on that node, with that message. */
  async ends(message: unknown, node = 'node-a'): Promise<void> {
    const name = this.pods[0]?.metadata.name ?? '';
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    const status = {
      phase: 'Succeeded',
      containerStatuses: [{ state: { terminated: { message: text, reason: 'Completed' } } }],
    };
    await this.api.patch(podsPath({ namespace, name }), { spec: { nodeName: node }, status }, { type: 'merge' });
    await this.reconcile();
  }

  status(step = 20): Checkpoint['status'] {
    return this.api.objects<Checkpoint & KubeObject>(checkpointsPath()).find(({ spec }) => spec.step === step)?.status;
  }
}

import { type Checkpoint, type ConversionAnswer, LABELS, type TrainingJob } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aCheckpoint } from '@coxswain/checkpoint/testing';
import type { KubeObject } from '@coxswain/kube';
import { FakeKubeApi } from '@coxswain/kube/testing';
import { aLayout } from '@coxswain/layout/testing';
import { checkpointsPath, podsPath, trainingJobsPath } from '../cluster/paths.ts';
import { ConversionController } from '../conversion/conversion-controller.ts';
import type { RetentionParts } from '../retention/checkpoint-writes.ts';
import { CacheScript } from './a-cluster-cache.ts';

export const namespace = 'research';
export const CONVERTED: ConversionAnswer = { state: 'Converted', readBytes: 1_000, writtenBytes: 1_100, seconds: 2 };
export const FAILED: ConversionAnswer = {
  ...{ state: 'Failed', readBytes: 500, writtenBytes: 0, seconds: 1 },
  message: 'File zero_pp_rank_1_mp_rank_00_optim_states.pt is cut off.',
};

/** A pod as the test reads it. */
export interface RawPod extends KubeObject {
  readonly spec: {
    readonly automountServiceAccountToken: boolean;
    readonly containers: readonly {
      readonly command: readonly string[];
      readonly env: readonly { readonly name: string; readonly value: string }[];
      readonly securityContext: unknown;
      readonly volumeMounts: readonly { readonly name: string }[];
    }[];
  };
  readonly status?: unknown;
}

/** A controller of conversions on a cluster in memory, with a job and its save. */
export class ConversionWorld {
  script = new CacheScript();
  readonly api: FakeKubeApi;
  readonly errors: unknown[] = [];
  readonly events: string[] = [];
  /** What the controller calls in place of the server. */
  client: RetentionParts['client'];
  controller: ConversionController;

  /** `api`: the server of another world, if both are one cluster with two operators. */
  constructor(api = new FakeKubeApi()) {
    this.api = api;
    this.client = api;
    this.controller = this.#another();
  }

  #another(): ConversionController {
    return new ConversionController({
      client: this.client,
      cache: this.script.cache,
      clock: this.script.clock,
      pods: { launcherImage: 'launcher', user: 1000 },
      announce: (_regarding, reason, { note }) => this.events.push(`${reason}: ${note}`),
      onError: (error) => this.errors.push(error),
    });
  }

  /** Another replica leads, which knows only what the server holds. The clock goes on. */
  fail(): void {
    const nowMs = this.script.clock.now().getTime();
    this.script = new CacheScript();
    void this.script.clock.advance(nowMs - this.script.clock.now().getTime());
    this.see();
    this.controller = this.#another();
  }

  /** A job that waits for the conversion of its save of step 20. */
  async begin(): Promise<void> {
    await this.api.create(trainingJobsPath({ namespace }), aTrainingJob());
    const { jobUid } = this;
    const path = `tiny-gpt-${jobUid.slice(0, 8)}/epoch-1/global_step20`;
    const layout = aLayout({ dataParallelDegree: 4 });
    const made = aCheckpoint({ step: 20, jobUid, path, format: 'deepspeed', layout });
    const { name } = made.metadata;
    await this.api.create(checkpointsPath({ namespace }), { ...made, metadata: { name, namespace } });
    await this.want(true);
  }

  async want(isWanted: boolean): Promise<void> {
    const { name = '' } = this.source?.metadata ?? {};
    const wantedSince = isWanted ? '2026-01-01T00:00:00Z' : null;
    const conversion = { checkpoint: name, converted: `${name}-universal`, kind: 'DeepSpeedUniversal', because: '' };
    const status = { epoch: 1, restarts: { total: 0, charged: 0 }, conversion: { ...conversion, wantedSince } };
    await this.api.patch(trainingJobsPath({ namespace, name: 'tiny-gpt' }), { status }, { type: 'merge' });
    this.see();
  }

  get jobUid(): string {
    return this.api.objects(trainingJobsPath())[0]?.metadata.uid ?? 'gone';
  }

  get checkpoints(): readonly (Checkpoint & KubeObject)[] {
    return this.api.objects<Checkpoint & KubeObject>(checkpointsPath());
  }

  get source(): (Checkpoint & KubeObject) | undefined {
    return this.checkpoints.find(({ spec }) => spec.convertedFrom === undefined);
  }

  get converted(): (Checkpoint & KubeObject) | undefined {
    return this.checkpoints.find(({ spec }) => spec.convertedFrom !== undefined);
  }

  get conversion(): NonNullable<Checkpoint['status']>['conversion'] {
    return this.converted?.status?.conversion;
  }

  /** The watches bring what the server holds. */
  see(): void {
    const { cache } = this.script;
    for (const job of this.api.objects<TrainingJob & KubeObject>(trainingJobsPath())) cache.jobs.cached.upsert(job);
    for (const one of cache.checkpoints.cached.list())
      if (!this.checkpoints.some(({ metadata }) => metadata.uid === one.metadata.uid))
        cache.checkpoints.cached.remove(one);
    for (const one of this.checkpoints) cache.checkpoints.cached.upsert(one);
  }

  async reconcile(times = 1): Promise<void> {
    for (let round = 0; round < times; round++) {
      await this.controller.reconcile().catch((error: unknown) => this.errors.push(error));
      this.see();
    }
  }

  get pods(): readonly RawPod[] {
    return this.api
      .objects<RawPod>(podsPath())
      .filter(({ metadata }) => metadata.labels?.[LABELS.worker] === 'convert');
  }

  /** The kubelet reports that the only pod ended with that message. */
  async ends(message: unknown, phase = 'Succeeded'): Promise<void> {
    const name = this.pods[0]?.metadata.name ?? '';
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    const status = { phase, containerStatuses: [{ state: { terminated: { message: text, reason: 'Completed' } } }] };
    await this.api.patch(podsPath({ namespace, name }), { status }, { type: 'merge' });
    await this.reconcile();
  }

  /** The Checkpoint of the source goes, with its save. */
  async forgetSource(): Promise<void> {
    const { name = '', uid = '' } = this.source?.metadata ?? {};
    await this.api.delete(checkpointsPath({ namespace, name }), { uid });
  }

  async change(object: KubeObject | undefined, change: object): Promise<void> {
    const { name = '' } = object?.metadata ?? {};
    await this.api.patch(checkpointsPath({ namespace, name }), change, { type: 'merge' });
    this.see();
  }
}

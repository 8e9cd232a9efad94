import { OPERATOR_EVENTS, type OperatorEvent, type TrainingJob } from '@coxswain/api-types';
import { EventRecorder, type Clock, type KubeClient, type KubeMetrics, type KubeObject } from '@coxswain/kube';
import type { Decision } from '@coxswain/lifecycle';
import type { Logger } from '@coxswain/telemetry';
import type { OperatorMetrics } from './operator-metrics.ts';

/** What became of a checkpoint. */
interface CheckpointChange {
  /** Name of the checkpoint. */
  readonly about: string;
  readonly note: string;
}

/** Records what happens to jobs, in the log and as Kubernetes Events of the job. Best effort; never blocks or throws. */
export class JobEventRecorder {
  readonly #log: Logger;
  readonly #events: EventRecorder;
  readonly #countRefusal: () => void;
  /** Last warning about unrecorded placements of each job, by UID, oldest first. */
  readonly #reportedPlacements = new Map<string, string>();

  constructor(parts: {
    readonly client: KubeClient;
    readonly clock: Clock;
    readonly log: Logger;
    readonly metrics: KubeMetrics & Pick<OperatorMetrics, 'countRefusal'>;
    readonly identity: string;
  }) {
    const { client, clock, log, metrics, identity } = parts;
    this.#log = log;
    this.#countRefusal = () => metrics.countRefusal();
    this.#events = new EventRecorder({
      client,
      clock,
      reportingController: 'coxswain.dev/operator',
      reportingInstance: identity,
      metrics,
      onError: (error) => log.warn({ err: error }, 'a Kubernetes Event could not be written'),
    });
  }

  /** Records the events of a decision that is now in the job's status. */
  announce(job: TrainingJob, events: Decision['events']): void {
    for (const { key, type, severity, message, epoch } of events) {
      const { name, namespace } = job.metadata;
      // The first line is ours. The rest is output of a tenant's program and must not reach the operator's log.
      this.#log.info({ job: `${namespace}/${name}`, epoch, event: type }, message.split('\n', 1)[0]);
      this.#events.record({
        regarding: job,
        type: severity === 'info' ? 'Normal' : 'Warning',
        reason: type,
        action: 'Reconcile',
        note: message,
        // A job can wait for two things within a minute.
        ...(type === 'Waiting' ? { about: key } : {}),
      });
    }
  }

  /** Records that the API server rejected an action for a job, with its message. */
  warn(job: TrainingJob, note: string): void {
    const { name, namespace } = job.metadata;
    this.#log.warn({ job: `${namespace}/${name}`, note }, 'the API server rejected an action for a job');
    this.#countRefusal();
    this.#record(job, 'CannotProceed', { action: 'Reconcile', note });
  }

  /** Records that fabric labels of a running job's nodes changed. */
  recordFabricWarning(job: TrainingJob, note: string): void {
    const { name, namespace } = job.metadata;
    this.#log.warn({ job: `${namespace}/${name}`, note }, 'fabric labels of nodes changed while a job runs on them');
    this.#record(job, 'FabricChanged', { action: 'Survey', note });
  }

  /** Records what became of a save of the job, or of a Checkpoint whose job is gone. */
  recordRetention(regarding: KubeObject, reason: OperatorEvent, change: CheckpointChange): void {
    this.#recordChange(regarding, reason, { ...change, action: 'Retain' });
  }

  /** Records how the conversion of a save of the job ended. */
  recordConversion(regarding: KubeObject, reason: OperatorEvent, change: CheckpointChange): void {
    this.#recordChange(regarding, reason, { ...change, action: 'Convert' });
  }

  #recordChange(
    regarding: KubeObject,
    reason: OperatorEvent,
    { action, about, note }: CheckpointChange & { readonly action: 'Retain' | 'Convert' },
  ): void {
    const { name, namespace } = regarding.metadata;
    const what = action === 'Retain' ? 'retention of a checkpoint' : 'conversion of a checkpoint';
    this.#log.info({ job: `${namespace ?? ''}/${name}`, checkpoint: about, event: reason }, what);
    this.#events.record({ regarding, type: OPERATOR_EVENTS[reason].type, reason, action, note, about });
  }

  /** Records what a runtime does to the pods of the job's next attempt. */
  warnOfRuntime(job: TrainingJob, note: string): void {
    this.#record(job, 'RuntimeUser', { action: 'Probe', note });
  }

  /** Records a verdict that is no incident. Incidents are recorded with the job's status. */
  recordHealthWarning(job: TrainingJob, note: string): void {
    const { name, namespace } = job.metadata;
    this.#log.warn({ job: `${namespace}/${name}`, note }, 'detectors found a problem with ranks of a job');
    this.#record(job, 'RanksUnwell', { action: 'Judge', note });
  }

  /** Records that a checkpoint is no longer suspect. */
  recordClearedCheckpoint(job: TrainingJob, note: string): void {
    this.#record(job, 'CheckpointCleared', { action: 'Verify', note });
  }

  /** Records placements that claim the job but that its status does not record. Repeated only if they change. */
  recordUnrecordedPlacements(job: TrainingJob, note: string | undefined): void {
    const { name, namespace, uid } = job.metadata;
    const isKnown = this.#reportedPlacements.get(uid) === note;
    if (isKnown) return;
    this.#reportedPlacements.delete(uid);
    if (note === undefined) return;
    if (!this.#record(job, 'ForeignPlacement', { action: 'Reconcile', note })) return;
    this.#reportedPlacements.set(uid, note);
    const [oldest] = this.#reportedPlacements.keys();
    if (this.#reportedPlacements.size > MAX_REMEMBERED && oldest !== undefined) this.#reportedPlacements.delete(oldest);
    this.#log.warn({ job: `${namespace}/${name}`, note }, 'placements claim a job whose status does not record them');
  }

  #record(job: TrainingJob, reason: OperatorEvent, about: { readonly action: string; readonly note: string }): boolean {
    return this.#events.record({ regarding: job, type: OPERATOR_EVENTS[reason].type, reason, ...about });
  }

  /** Resolves when the events under way have been written or given up. */
  flush(): Promise<void> {
    return this.#events.flush();
  }
}

/** Jobs whose last warning is remembered; a job that is dropped too early gets the warning again. */
const MAX_REMEMBERED = 4_096;

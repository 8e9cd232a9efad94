import type { TrainingJob } from '@coxswain/api-types';
import { EventRecorder, type Clock, type KubeClient, type KubeMetrics } from '@coxswain/kube';
import type { Decision } from '@coxswain/lifecycle';
import type { Logger } from '@coxswain/telemetry';
import type { OperatorMetrics } from './operator-metrics.ts';

/** Tells people what happens to jobs: in the log, and as Kubernetes Events beside the job. Best effort, and never in anybody's way. */
export class JobEventRecorder {
  readonly #log: Logger;
  readonly #events: EventRecorder;
  readonly #countRefusal: () => void;
  /** What was told last of each job's strangers, by UID, oldest first. */
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
      onError: (error) => log.warn({ err: error }, 'a Kubernetes Event was not written'),
    });
  }

  /** What was decided about a job and is recorded now. */
  announce(job: TrainingJob, events: Decision['events']): void {
    for (const { type, severity, message, epoch } of events) {
      const { name, namespace } = job.metadata;
      // The first line is ours; what follows is what a tenant's program printed, which is nobody else's business.
      this.#log.info({ job: `${namespace}/${name}`, epoch, event: type }, message.split('\n', 1)[0]);
      this.#events.record({
        regarding: job,
        type: severity === 'info' ? 'Normal' : 'Warning',
        reason: type,
        action: 'Reconcile',
        note: message,
      });
    }
  }

  /** The cluster refuses what has to be done for a job, in its own words. */
  warn(job: TrainingJob, note: string): void {
    const { name, namespace } = job.metadata;
    this.#log.warn({ job: `${namespace}/${name}`, note }, 'the cluster refuses what has to be done for a job');
    this.#countRefusal();
    this.#events.record({ regarding: job, type: 'Warning', reason: 'CannotProceed', action: 'Reconcile', note });
  }

  /** What is said of a job's nodes changed under it. */
  warnOfFabric(job: TrainingJob, note: string): void {
    const { name, namespace } = job.metadata;
    this.#log.warn({ job: `${namespace}/${name}`, note }, 'labels of nodes changed under a job');
    this.#events.record({ regarding: job, type: 'Warning', reason: 'FabricChanged', action: 'Survey', note });
  }

  /** Detectors found something of the job's ranks that is no incident: those are told of when they are recorded. */
  warnOfHealth(job: TrainingJob, note: string): void {
    const { name, namespace } = job.metadata;
    this.#log.warn({ job: `${namespace}/${name}`, note }, 'ranks of a job do not go on as they should');
    this.#events.record({ regarding: job, type: 'Warning', reason: 'RanksUnwell', action: 'Judge', note });
  }

  /** Objects say to be of the job and are not. Told again only when there are others. */
  warnOfStrangers(job: TrainingJob, note: string | undefined): void {
    const { name, namespace, uid } = job.metadata;
    const isKnown = this.#reportedPlacements.get(uid) === note;
    if (isKnown) return;
    this.#reportedPlacements.delete(uid);
    if (note === undefined) return;
    const reason = 'ForeignPlacement';
    if (!this.#events.record({ regarding: job, type: 'Warning', reason, action: 'Reconcile', note })) return;
    this.#reportedPlacements.set(uid, note);
    const [oldest] = this.#reportedPlacements.keys();
    if (this.#reportedPlacements.size > MAX_REMEMBERED && oldest !== undefined) this.#reportedPlacements.delete(oldest);
    this.#log.warn({ job: `${namespace}/${name}`, note }, 'placements say to be of a job that does not record them');
  }

  /** Resolves when the events under way have been written or given up. */
  flush(): Promise<void> {
    return this.#events.flush();
  }
}

/** Jobs whose strangers are remembered; one that is forgotten too early is told of again. */
const MAX_REMEMBERED = 4_096;

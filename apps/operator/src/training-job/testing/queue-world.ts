import { LABELS, type TrainingJob, type TrainingJobStatus } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { keyOf, type KubeObject } from '@coxswain/kube';
import { ReconcilerWorld } from './reconciler-world.ts';

type Job = TrainingJob & KubeObject;

/** Jobs that each need both nodes of a cluster, and the operator that leads. The first one is `first`, with a limit of its time, so its end is known. */
export class QueueWorld extends ReconcilerWorld {
  /** Names of jobs whose pods exit with 0. */
  readonly finished = new Set<string>();
  /** Names of jobs in the order in which their first attempts were recorded. */
  readonly started: string[] = [];
  /** Called after each reconciliation. */
  afterReconciliation: () => void = () => undefined;
  /** The largest number of gangs that had a pod that runs on one node. */
  mostGangsOnANode = 0;

  constructor(spec: Partial<TrainingJob['spec']> = {}) {
    super({ maxRuntimeSeconds: 7_200, ...spec }, { name: 'first' });
  }

  submit(name: string, spec: Partial<TrainingJob['spec']> = {}): void {
    const { apiVersion, kind, metadata, spec: wanted } = aTrainingJob({ spec });
    const creationTimestamp = new Date(this.nowMs).toISOString();
    const named = { name, namespace: metadata.namespace, creationTimestamp };
    this.cluster.create('TrainingJob', { apiVersion, kind, metadata: named, spec: wanted });
  }

  jobNamed(name: string): Job {
    const job = this.cluster.list<Job>('TrainingJob').find(({ metadata }) => metadata.name === name);
    if (job === undefined) throw new Error(`the job ${name} is gone`);
    return job;
  }

  statusOf(name: string): Partial<TrainingJobStatus> {
    return this.jobNamed(name).status ?? {};
  }

  /** Another program writes the status, such as an operator of an earlier release. */
  rewriteStatus(name: string, change: (status: TrainingJobStatus) => TrainingJobStatus): void {
    this.cluster.update<Job>('TrainingJob', keyOf(this.jobNamed(name)), {
      expects: {},
      change: (job) => (job.status === undefined ? job : { ...job, status: change(job.status) }),
    });
  }

  /** So many minutes pass. Twice a minute every job is reconciled, those for which nodes are held first; what fails is repeated. */
  async minutes(count: number): Promise<void> {
    for (let half = 0; half < 2 * count; half += 1) {
      const isHead = ({ status }: Job): boolean => status?.expectedStart !== undefined;
      const jobs = this.cluster.list<Job>('TrainingJob');
      for (const job of [...jobs.filter(isHead), ...jobs.filter((one) => !isHead(one))])
        await this.#reconcile(keyOf(job));
      this.turn(({ jobName }) => (this.finished.has(jobName) ? 0 : 'runs'));
      this.nowMs += 30_000;
    }
  }

  async #reconcile(key: string): Promise<void> {
    await this.reconciler.reconcile(key).catch(() => undefined);
    this.afterReconciliation();
    for (const { metadata, status } of this.cluster.list<Job>('TrainingJob'))
      if (status?.attempts !== undefined && !this.started.includes(metadata.name)) this.started.push(metadata.name);
    const running = this.pods.filter(
      ({ status }) => (status as { readonly phase?: string } | undefined)?.phase === 'Running',
    );
    for (const ofNode of Map.groupBy(running, ({ spec }) => spec.nodeName).values()) {
      const gangs = new Set(ofNode.map(({ metadata }) => metadata.labels?.[LABELS.jobUid]));
      this.mostGangsOnANode = Math.max(this.mostGangsOnANode, gangs.size);
    }
  }

  /** The first job runs, and the named ones wait in that order. */
  async queue(...names: readonly string[]): Promise<void> {
    await this.minutes(2);
    for (const name of names) {
      this.submit(name);
      await this.minutes(1);
    }
  }
}

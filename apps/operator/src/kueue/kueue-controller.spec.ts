import type { TrainingJob } from '@coxswain/api-types';
import { aJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { KubeApiError, type KubeObject } from '@coxswain/kube';
import { FakeClock, FakeKubeApi } from '@coxswain/kube/testing';
import { kueuePath } from '../cluster/paths.ts';
import { KueueController } from './kueue-controller.ts';

const WORKLOADS = kueuePath('workloads', { namespace: 'team' });
const { layout } = aJobSpec();
const QUESTION = { epoch: 1, request: { layout, gpusPerNode: 2, acrossIslands: 'never' }, room: undefined } as const;

const DOWN = 'Internal error occurred: failed calling webhook "mworkload.kb.io": connect: connection refused';

/** A job that names a queue, and the controller over an API server in memory. */
class Office {
  readonly api = new FakeKubeApi();
  readonly clock = new FakeClock();
  readonly job: TrainingJob = aTrainingJob({
    metadata: {
      name: 'gpt',
      namespace: 'team',
      uid: '01234567-uid',
      labels: { 'kueue.x-k8s.io/queue-name': 'research' },
    },
  });
  /** What the job may do, each time that it changed. */
  readonly shown: string[] = [];
  readonly controller: KueueController;

  constructor() {
    const controller = new KueueController({
      client: this.api,
      clock: this.clock,
      jobs: { list: () => [this.job], byUid: () => this.job },
      onNews: () => this.shown.push(this.message),
      onError: () => undefined,
    });
    this.controller = controller;
  }

  get message(): string {
    const quota = this.controller.quotaOf(this.job);
    return quota === undefined || quota.kind === 'admitted' ? '' : quota.message;
  }

  /** Runs the controller, and the job asks for its pods. Resolves when the work is done. */
  async while(work: () => Promise<void>): Promise<void> {
    const stop = new AbortController();
    const ran = this.controller.run(stop.signal);
    this.controller.ask(this.job, QUESTION);
    await work();
    stop.abort();
    await this.clock.advance(10_000);
    await ran;
  }
}

describe('a job whose Workload cannot be written', () => {
  it.each<[sentence: string, status: number, reason: string, answer: string]>([
    ['says that Kueue does not answer, as while it is stopped', 500, 'InternalError', DOWN],
    [
      'says that the definitions are being removed, as while Kueue is uninstalled',
      403,
      'Forbidden',
      'workloads.kueue.x-k8s.io "coxswain-gpt" is forbidden: create not allowed while custom resource definition is terminating',
    ],
    [
      'says that the operator has no right',
      403,
      'Forbidden',
      'workloads.kueue.x-k8s.io is forbidden: User "x" cannot create resource "workloads"',
    ],
    ['says what a webhook refuses', 403, 'Forbidden', 'admission webhook "vworkload.kb.io" denied the request: no'],
  ])('%s, once, and is tried again', async (_sentence, status, reason, message) => {
    const office = new Office();
    let tries = 0;
    office.api.interfere = ({ verb }) => {
      if (verb !== 'create') return;
      tries += 1;
      throw new KubeApiError({ status, reason, message });
    };
    await office.while(async () => {
      await office.clock.advance(60_000);
      expect(tries).toBeGreaterThan(2);
      expect(office.shown).toEqual([`The Workload of the job cannot be written: ${message}`]);

      office.api.interfere = () => undefined;
      await office.clock.advance(180_000);
      expect(office.api.objects(WORKLOADS)).toHaveLength(1);
    });
    expect(office.message).toMatch(/^Kueue has not answered yet/);
  });
});

it('a job stays admitted while Kueue cannot be told that its ranks have started: a restart needs no new answer', async () => {
  const office = new Office();
  await office.while(async () => {
    await office.clock.advance(1_000);
    const [made] = office.api.objects<KubeObject>(WORKLOADS);
    const admitted = ['QuotaReserved', 'Admitted', 'PodsReady'].map((type) => ({ type, status: 'True', reason: type }));
    const path = kueuePath('workloads', { namespace: 'team', name: made?.metadata.name ?? '' });
    await office.api.patch(path, { status: { conditions: admitted } }, { type: 'merge' });
    office.api.interfere = ({ verb }) => {
      if (verb === 'patch') throw new KubeApiError({ status: 500, reason: 'InternalError', message: DOWN });
    };
    await office.clock.advance(60_000);
    expect(office.controller.quotaOf(office.job)?.kind).toBe('admitted');
  });
});

import { aTrainingJob } from '@coxswain/api-types/testing';
import type { Observed, ObservedPod } from '../observation/observed.ts';
import { aPod, World } from '../testing/index.ts';
import { anAttempt, aRunningJob, EARLIER, settled } from '../testing/jobs.ts';

const failed = anAttempt({
  stage: 'Stopping',
  outcome: 'Failed',
  reason: 'EngineFailed',
  charged: true,
  answer: 'Restart',
});

/** A gang whose attempt has failed, and whose two launchers were heard of a second ago. */
function aFailedGang(about: {
  readonly pod?: Partial<ObservedPod>;
  readonly heardMs?: number;
  readonly observed?: Partial<Observed>;
  readonly spec?: Parameters<typeof aRunningJob>[0]['spec'];
}): Observed {
  const { pod, heardMs = 1_000, observed, spec } = about;
  const seen = aRunningJob({
    status: { attempts: [failed] },
    ...(spec === undefined ? {} : { spec }),
    pods: (job) => [aPod(job, { held: true, ...pod }), aPod(job, { podIndex: 1, held: true })],
  });
  const [first, second] = seen.pods;
  const reportAgesMs = new Map([
    [first?.uid ?? '', heardMs],
    [second?.uid ?? '', 1_000],
  ]);
  return { ...seen, reportAgesMs, ...observed };
}

/** `refuse`, and the index of each pod that is deleted. */
const doneTo = (seen: Observed): readonly string[] =>
  settled(seen).actions.flatMap((action) => {
    if (action.kind === 'refuseLaunchers') return ['refuse'];
    return action.kind === 'deletePods' ? action.pods.map(({ name }) => name.replace(/^.*-/, 'delete ')) : [];
  });

describe('the pods of a gang that failed', () => {
  it.each<[string, Parameters<typeof aFailedGang>[0], readonly string[]]>([
    ['stay, and their launchers are refused', {}, ['refuse']],
    ['are deleted if their launcher has been silent', { heardMs: 31_000 }, ['refuse', 'delete 0']],
    [
      'are deleted if their container does not run',
      { pod: { running: false, phase: 'Pending' } },
      ['refuse', 'delete 0'],
    ],
    [
      'are deleted if their node does not answer',
      { observed: { nodeStates: new Map([['node-a', 'notReady']]) } },
      ['refuse', 'delete 0'],
    ],
    [
      'are deleted if their launchers have not ended in time',
      { observed: { elapsedMs: new Map([['e1/launchers-end', 10_000]]) } },
      ['refuse', 'delete 0', 'delete 1'],
    ],
    [
      'are deleted with their job',
      { spec: { metadata: { deletionTimestamp: EARLIER } } },
      ['refuse', 'delete 0', 'delete 1'],
    ],
  ])('%s', (_sentence, about, want) => {
    expect(doneTo(aFailedGang(about))).toEqual(want);
  });

  it('are looked at again when the time of their launchers is over', () => {
    const { timed, requeueAfterMs } = settled(aFailedGang({}));
    expect([timed, requeueAfterMs]).toEqual([['e1/launchers-end'], 10_000]);
  });
});

it('a job that is given up keeps every pod of its last two attempts, each ended by its launcher and none deleted', () => {
  const world = new World(aTrainingJob({ spec: { restartPolicy: { maxRestarts: 2, delaySeconds: 0 } } }));
  const turn = (times: number): void => {
    for (let round = 0; round < times; round += 1) {
      world.reconcile();
      world.tick(1_000);
    }
  };
  turn(10);
  for (const step of [1, 1, 1, 1]) {
    world.apply({ kind: 'failRank', step, pick: 0 });
    turn(15);
  }
  expect(world.job?.status?.state).toBe('Failed');
  const { epoch = 0 } = world.job?.status ?? {};
  expect(epoch).toBe(3);
  expect(world.pods.map((pod) => [pod.epoch, pod.phase, pod.deletionTimestamp])).toEqual(
    [2, 2, 3, 3].map((one) => [one, 'Failed', undefined]),
  );
  expect(world.violations).toEqual([]);
});

it('launchers that end by themselves are refused once in a reconciliation, which then waits for them', () => {
  const world = new World(aTrainingJob({ spec: { restartPolicy: { maxRestarts: 2, delaySeconds: 0 } } }));
  for (let round = 0; round < 10; round += 1) {
    world.reconcile();
    world.tick(1_000);
  }
  world.apply({ kind: 'failRank', step: 1, pick: 0 });
  while (world.job?.status?.attempts?.at(-1)?.stage !== 'Stopping') {
    world.tick(1_000);
    world.reconcile();
  }
  expect(world.refusals).toBe(1);
});

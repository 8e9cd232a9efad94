import type { Incident, TrainingJobStatus } from '@coxswain/api-types';
import { MAX_INCIDENTS_IN_STATUS } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import fc from 'fast-check';
import { decide } from '../decide/decide.ts';
import { jobEvents } from '../decide/job-events.ts';
import type { Finding, Observed } from '../observation/observed.ts';
import { anExit, aPod, live, storyOf, World, type WorldFault } from '../testing/index.ts';
import { anAttempt, aRunningJob, EARLIER, NOW } from '../testing/jobs.ts';

const RUNNING = { runningAt: EARLIER, firstStep: { step: 1, at: '2026-01-01T00:11:00Z' } };
const PROGRESS = { step: 41, reportedAt: '2026-01-01T00:19:00Z' };

/** A gang of four ranks that took its 41st step a minute ago. */
function aTrainingJobSeen(about: Partial<Observed> = {}, status: Partial<TrainingJobStatus> = {}): Observed {
  return aRunningJob({ status: { attempts: [anAttempt(RUNNING)], progress: PROGRESS, ...status }, observed: about });
}

function aFinding(changes: Partial<Finding> = {}): Finding {
  return {
    epoch: 1,
    incarnation: 1,
    kind: 'Hang',
    noticedAt: '2026-01-01T00:19:30.000Z',
    ranks: [3],
    node: 'node-b',
    message: 'Others wait for rank 3.',
    evidence: { waitedForMs: 16_000, cause: 'rankMissing' },
    ...changes,
  };
}

const incidentsAfter = (observed: Observed, now = NOW): readonly Incident[] =>
  decide(observed, now).status.incidents ?? [];

/** The same job, as it stands after one look, seen again. */
const seenAgain = (observed: Observed, changes: Partial<Observed> = {}): Observed => ({
  ...observed,
  job: { ...observed.job, status: decide(observed, NOW).status },
  ...changes,
});

describe('a rank that fails', () => {
  const failing = (): Observed => {
    const observed = aTrainingJobSeen({ progress: { epoch: 1, step: 41 } });
    const pod = aPod(observed.job, { phase: 'Failed', running: false, exit: anExit() });
    return { ...observed, pods: [pod, aPod(observed.job, { podIndex: 1 })] };
  };

  it('is one incident with rank, node, GPU, class, and what was lost so far', () => {
    expect(incidentsAfter(failing())).toMatchObject([
      {
        id: '1.1',
        kind: 'Crash',
        rank: 1,
        node: 'node-a',
        gpu: 1,
        class: 'PythonException',
        blame: 'program',
        action: 'RestartedInNewPods',
        since: PROGRESS.reportedAt,
        step: 41,
        stepMs: 12_000,
        evidence: expect.arrayContaining([
          { name: 'exitCode', value: '1' },
          { name: 'lastLine', value: 'ValueError: planted' },
        ]),
      },
    ]);
    expect(incidentsAfter(failing())[0]).not.toHaveProperty('outcome');
  });

  it('stays the same incident however often the job is looked at', () => {
    const again = seenAgain(failing());
    expect(decide(again, NOW).status.incidents).toEqual(again.job.status?.incidents);
  });

  it('is given up where no budget is left, and that is its outcome', () => {
    const seen = failing();
    const job = {
      ...seen.job,
      spec: { ...seen.job.spec, restartPolicy: { ...seen.job.spec.restartPolicy, maxRestarts: 0 } },
    };
    expect(incidentsAfter({ ...seen, job })).toMatchObject([{ action: 'GaveUp', outcome: 'GivenUp' }]);
  });
});

describe('what detectors see', () => {
  it('is an incident that advises, from the moment at which the wait began', () => {
    const incidents = incidentsAfter(aTrainingJobSeen({ findings: [aFinding()] }));
    expect(incidents).toMatchObject([
      {
        id: '1.1-standsStill',
        kind: 'Hang',
        rank: 3,
        node: 'node-b',
        gpu: 1,
        action: 'Advised',
        step: 41,
        since: '2026-01-01T00:19:14.000Z',
      },
    ]);
  });

  it('is an incident for each broken save', () => {
    const broken = (step: number): Finding =>
      aFinding({ kind: 'CheckpointTrouble', ranks: [], subject: `s${step}`, evidence: { step, directory: 'd' } });
    const seen = aTrainingJobSeen({ findings: [broken(20), broken(40)] });
    const ids = incidentsAfter(seenAgain(seen)).map(({ id, action }) => [id, action]);
    expect(ids).toEqual([
      ['1.1-checkpointTrouble-s20', 'Advised'],
      ['1.1-checkpointTrouble-s40', 'Advised'],
    ]);
  });

  it.each<[string, Partial<Finding>]>([
    ['of another epoch', { epoch: 2 }],
    ['of another incarnation', { incarnation: 2 }],
    ['that is over before it was recorded', { overAt: NOW.toISOString() }],
  ])('%s says nothing', (_what, changes) => {
    expect(incidentsAfter(aTrainingJobSeen({ findings: [aFinding(changes)] }))).toEqual([]);
  });

  it('again, by another process and of another rank that came to a halt, is the same incident', () => {
    const seen = aTrainingJobSeen({ findings: [aFinding()] });
    const findings = [aFinding({ ranks: [1], noticedAt: NOW.toISOString(), kind: 'NetworkHang' })];
    expect(incidentsAfter(seenAgain(seen, { findings }))).toEqual(incidentsAfter(seen));
  });

  it('has passed where steps come again, though the detector says no more', () => {
    const seen = aTrainingJobSeen({ findings: [aFinding()] });
    const progress = { epoch: 1, step: 43 };
    const closed = incidentsAfter(seenAgain(seen, { progress }));
    expect(closed).toMatchObject([{ outcome: 'Passed', closedAt: NOW.toISOString(), lostMs: 46_000 }]);
    const later = seenAgain(seenAgain(seen, { progress }), { findings: [aFinding()], progress });
    expect(incidentsAfter(later)).toEqual(closed);
  });

  it('that comes back after it had passed is another incident', () => {
    const seen = aTrainingJobSeen({ findings: [aFinding()] });
    const passed = seenAgain(seen, { progress: { epoch: 1, step: 43 } });
    const again = seenAgain(passed, { findings: [aFinding({ noticedAt: '2026-01-01T00:21:00.000Z' })] });
    expect(incidentsAfter(again).map(({ id, outcome }) => [id, outcome])).toEqual([
      ['1.1-standsStill', 'Passed'],
      ['1.1-standsStill.n2', undefined],
    ]);
  });

  it('and that is then acted on is one incident: the gang stood still, and was ended for it', () => {
    const seen = seenAgain(aTrainingJobSeen({ findings: [aFinding()] }));
    const verdicts = [{ epoch: 1, incarnation: 1, about: { kind: 'rank', rank: 3 } as const, message: 'Others wait.' }];
    expect(incidentsAfter({ ...seen, verdicts })).toMatchObject([
      { id: '1.1-standsStill', kind: 'Hang', rank: 3, node: 'node-b', action: 'RestartedElsewhere' },
    ]);
  });

  it('in one look with its consequence is one incident too', () => {
    const verdicts = [{ epoch: 1, incarnation: 1, about: { kind: 'rank', rank: 3 } as const, message: 'Others wait.' }];
    expect(incidentsAfter(aTrainingJobSeen({ verdicts, findings: [aFinding()] }))).toHaveLength(1);
  });

  it('of one run is bounded', () => {
    const findings = Array.from({ length: 16 }, (_, rank) => aFinding({ kind: 'SlowRank', ranks: [rank] }));
    expect(incidentsAfter(aTrainingJobSeen({ findings }))).toHaveLength(6);
  });

  it.each<[string, Partial<Finding>]>([
    ['a stall', {}],
    ['a slow rank, for which ranks save early', { kind: 'SlowRank', ranks: [3], evidence: {} }],
  ])('of one run is bounded, and %s has room beside any number of others', (_what, changes) => {
    const others = Array.from({ length: 9 }, (_, at) =>
      aFinding({ kind: 'DataStall', ranks: [at], evidence: {}, isHarmless: true }),
    );
    const incidents = incidentsAfter(aTrainingJobSeen({ findings: [...others, aFinding(changes)] }));
    expect(incidents).toHaveLength(7);
    expect(incidents.at(-1)).toMatchObject({ kind: changes.kind ?? 'Hang' });
  });

  it('is text of others: whatever it holds, the incident can be stored', () => {
    const evil = `\u0000${'x'.repeat(5_000)}`;
    const [recorded] = incidentsAfter(
      aTrainingJobSeen({ findings: [aFinding({ message: evil, evidence: { [evil]: evil }, group: evil })] }),
    );
    expect(recorded?.message.length).toBeLessThanOrEqual(1_024);
    expect(JSON.stringify(recorded)).not.toContain('\\u0000');
  });
});

describe('a failure that was answered', () => {
  const open: Incident = {
    id: '1.1',
    kind: 'Crash',
    epoch: 1,
    incarnation: 1,
    noticedAt: '2026-01-01T00:12:00.000Z',
    since: '2026-01-01T00:11:50.000Z',
    message: 'Rank 1 exited.',
    gpus: 4,
    step: 41,
    stepMs: 1_000,
    action: 'RestartedInPods',
  };
  const attempt = anAttempt({ incarnation: 2, runningAt: EARLIER, resumedFrom: { checkpoint: 'c', step: 31 } });

  it.each<[string, Partial<Observed>, Partial<TrainingJobStatus>, object]>([
    ['is open until a step beyond the checkpoint', {}, {}, {}],
    [
      'has recovered with that step: what was lost is the time without one, and the steps again',
      { progress: { epoch: 1, incarnation: 2, step: 32 } },
      {},
      { outcome: 'Recovered', closedAt: NOW.toISOString(), redoneSteps: 10, lostMs: 490_000 + 10_000 },
    ],
    [
      'is stopped where the job is',
      {},
      { attempts: [{ ...attempt, stage: 'Stopping', outcome: 'Suspended', stoppingAt: EARLIER }] },
      { outcome: 'Stopped', closedAt: EARLIER },
    ],
  ])('%s', (_what, observed, status, expected) => {
    const seen = aRunningJob({ status: { attempts: [attempt], incidents: [open], ...status }, observed });
    const [recorded] = incidentsAfter(seen);
    expect(recorded).toMatchObject(expected);
    expect(recorded?.outcome).toBe((expected as Partial<Incident>).outcome);
  });

  it('is told as an Event when it is over, and as a failure before', () => {
    const seen = aRunningJob({
      status: { attempts: [attempt], incidents: [open] },
      observed: { progress: { epoch: 1, incarnation: 2, step: 32 } },
    });
    const job = { ...seen.job, status: decide(seen, NOW).status };
    const recorded = jobEvents({ job, checkpoints: [], placements: [] }).filter(({ type }) =>
      type.startsWith('Incident'),
    );
    expect(recorded).toMatchObject([
      {
        key: 'incident/1.1/IncidentOver',
        message: 'Crash: recovered; 8 min 20 s were lost, with 10 steps trained again.',
      },
    ]);
  });
});

describe('one failure', () => {
  const fault: fc.Arbitrary<WorldFault> = fc.oneof(
    fc.record({ kind: fc.constant('failRank' as const), step: fc.nat(200), pick: fc.nat(3) }),
    fc.record({ kind: fc.constant('crash' as const), afterWrites: fc.nat(3) }),
    fc.record({ kind: fc.constant('saveCheckpoint' as const), pick: fc.nat(20) }),
  );

  it('is one incident, whoever leads, and however often the job is looked at', () => {
    let incidents = 0;
    fc.assert(
      fc.property(storyOf(fault, { tickMs: [0, 1_000, 10_000, 70_000], minLength: 20, maxLength: 50 }), (story) => {
        const world = new World(aTrainingJob({ spec: { restartPolicy: { maxRestarts: 50, delaySeconds: 1 } } }));
        const recorded = new Set<string>();
        live(world, story, () => {
          for (const { id } of world.job?.status?.incidents ?? []) recorded.add(id);
        });
        const { status } = world.job ?? {};
        const ids = (status?.incidents ?? []).map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids.length).toBeLessThanOrEqual(MAX_INCIDENTS_IN_STATUS);
        const failures = (status?.attempts ?? []).flatMap(
          ({ epoch, incarnation, outcome, reason, incarnations = [] }) => [
            ...incarnations.map((one) => `${epoch}.${one.incarnation}`),
            ...(outcome === 'Failed' && reason !== 'NotReaped' ? [`${epoch}.${incarnation ?? 1}`] : []),
          ],
        );
        expect([...recorded].toSorted()).toEqual(expect.arrayContaining(failures));
        // The one that the job is given up for is answered by no restart.
        const givenUp = (status?.attempts ?? []).filter(({ answer }) => answer === 'GiveUp').length;
        expect(recorded.size).toBeLessThanOrEqual((status?.restarts.total ?? 0) + givenUp);
        incidents += recorded.size;
      }),
      { numRuns: 20 },
    );
    expect(incidents).toBeGreaterThan(10);
  });
});

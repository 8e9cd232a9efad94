import { type Attempt, NODE_LABELS, type TrainingJobStatus } from '@coxswain/api-types';
import { aPlannedJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import { worldSize } from '@coxswain/layout';
import fc from 'fast-check';
import { crash, live, staleObservation, storyOf, World, type WorldFault } from '../testing/index.ts';

const STAGES = ['Creating', 'Released', 'Stopping', 'Ended'];

/** Faults that leave the job wanted, so that it must end as Complete or Failed. */
const mishap: fc.Arbitrary<WorldFault> = fc.oneof(
  fc.record({ kind: fc.constant('exit' as const), code: fc.constantFrom(1, 137, 70, 71, 72, 75), pick: fc.nat(9) }),
  fc.record({ kind: fc.constant('failRank' as const), step: fc.nat(100), pick: fc.nat(9) }),
  fc.record({ kind: fc.constant('failRank' as const), step: fc.nat(100), pick: fc.nat(9) }),
  fc.record({ kind: fc.constant('loseConnection' as const), ms: fc.constantFrom(1_000, 130_000), pick: fc.nat(9) }),
  fc.record({
    kind: fc.constantFrom(
      'deletePod' as const,
      'evict' as const,
      'loseNode' as const,
      'silenceKubelet' as const,
      'announce' as const,
      'hangPod' as const,
      'saveCheckpoint' as const,
    ),
    pick: fc.nat(9),
  }),
  fc.record({ kind: fc.constant('skewClock' as const), ms: fc.constantFrom(-3_600_000, 40_000, 3_600_000) }),
  fc.record({ kind: fc.constantFrom('restoreNodes' as const, 'plannerFails' as const, 'deletePlacement' as const) }),
  staleObservation,
  crash,
);
const wish: fc.Arbitrary<WorldFault> = fc.record({
  kind: fc.constantFrom(
    'suspend' as const,
    'suspend' as const,
    'resume' as const,
    'cancel' as const,
    'delete' as const,
  ),
});

const story = (fault: fc.Arbitrary<WorldFault>) =>
  storyOf(fault, { tickMs: [0, 1_000, 20_000, 90_000], maxLength: 60 });

describe('a job driven by decide()', () => {
  it('converges whatever happens to it, never runs two epochs, keeps to its budget, and then writes nothing', () => {
    fc.assert(
      fc.property(story(fc.oneof({ weight: 8, arbitrary: mishap }, { weight: 1, arbitrary: wish })), (moments) => {
        const world = new World(aTrainingJob());
        live(world, moments, expectOneEpoch);
        settle(world);
        expectPlausibleHistory(world.history, 3);
        expect(world.violations).toEqual([]);
        expect(world.job?.status?.restarts.charged ?? 0).toBeLessThanOrEqual(world.harms);
        expectRest(world);
      }),
      { numRuns: 150 },
    );
  });

  it('converges with standbys too, deletes no pod that holds ranks, and gives no rank two places', () => {
    let replacements = 0;
    fc.assert(
      fc.property(
        story(fc.oneof({ weight: 8, arbitrary: mishap }, { weight: 1, arbitrary: wish })),
        fc.constantFrom(1, 2),
        (moments, standby) => {
          const job = aTrainingJob({ spec: { standby } });
          const nodes = ['node-a', 'node-b', 'node-c', 'node-d'];
          const world = new World(job, {}, nodes);
          // Ranks move to another pod only if there is a checkpoint.
          const saves = [[], [], [], [], [{ kind: 'saveCheckpoint' as const, pick: 9 }]];
          live(world, [...saves.map((faults) => ({ faults, tickMs: 1_000 })), ...moments], expectOneEpoch);
          settle(world);
          expectPlausibleHistory(world.history, 3);
          expect(world.violations).toEqual([]);
          for (const { attempts = [] } of world.history.slice(-1))
            for (const attempt of attempts) replacements += expectSeats(attempt);
          expectRest(world);
        },
      ),
      { numRuns: 150 },
    );
    expect(replacements).toBeGreaterThan(20);
  });

  it('keeps the layout that the planner chose through every restart, and records it before any gang', () => {
    fc.assert(
      fc.property(story(mishap), (moments) => {
        const job = { ...aTrainingJob(), spec: aPlannedJobSpec() };
        const world = new World(job, { labels: { [NODE_LABELS.gpuType]: 'h100' } });
        live(world, moments, expectOneEpoch);
        settle(world);
        const ran = world.history.flatMap((status) => (status.attempts ?? []).map((attempt) => attempt.layout));
        const planned = new Set(
          world.history.flatMap(({ plan }) => (plan === undefined ? [] : JSON.stringify(plan.layout))),
        );
        expect(planned.size).toBe(1);
        expect(world.history.filter(({ plan, attempts }) => attempts !== undefined && plan === undefined)).toEqual([]);
        expect(new Set(ran.map((layout) => JSON.stringify(layout)))).toEqual(planned);
        expect(ran.every((layout) => worldSize(layout) === 4)).toBe(true);
        expectRest(world);
      }),
      { numRuns: 40 },
    );
  });

  it('runs the layout that the user gave, with its prediction or without, whatever the planner does', () => {
    fc.assert(
      fc.property(story(mishap), (moments) => {
        const world = new World(aTrainingJob(), { labels: { [NODE_LABELS.gpuType]: 'h100' } });
        live(world, moments, expectOneEpoch);
        settle(world);
        expect(['Complete', 'Failed']).toContain(world.job?.status?.state);
        expect(world.violations).toEqual([]);
        expectRest(world);
      }),
      { numRuns: 40 },
    );
  });

  it('ends as Complete or Failed when nobody asks it to stop', () => {
    fc.assert(
      fc.property(story(mishap), (moments) => {
        const world = new World(aTrainingJob());
        live(world, moments, expectOneEpoch);
        settle(world);
        expect(['Complete', 'Failed']).toContain(world.job?.status?.state);
        expect(world.computingPods()).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });

  it('never reuses an epoch even when its status is lost', () => {
    const loss: fc.Arbitrary<WorldFault> = fc.record({ kind: fc.constant('loseStatus' as const) });
    fc.assert(
      fc.property(story(fc.oneof({ weight: 6, arbitrary: mishap }, { weight: 1, arbitrary: loss })), (moments) => {
        const world = new World(aTrainingJob());
        live(world, moments, expectOneEpoch);
        settle(world);
        expect(['Complete', 'Failed']).toContain(world.job?.status?.state);
        // A gang that is taken up again is released again, so only the order of attempts is asked for.
        expect(world.violations.filter((sentence) => sentence.includes('started after'))).toEqual([]);
        expectRest(world);
      }),
      { numRuns: 80 },
    );
  });
});

describe('a job whose status is lost', () => {
  const lost: WorldFault = { kind: 'loseStatus' };
  const rounds = (faults: readonly (readonly WorldFault[])[], tickMs: number): Parameters<typeof live>[1] =>
    faults.map((one) => ({ faults: one, tickMs }));

  it('begins nothing beside a gang that no cache shows', () => {
    const world = new World(aTrainingJob());
    const stale: WorldFault = { kind: 'staleObservation', looksAgo: 4, of: ['pods', 'placements', 'nodes'] };
    live(world, [...rounds([[], [lost]], 0), ...rounds([[]], 90_000), ...rounds([[]], 0)], expectOneEpoch);
    live(world, rounds([[lost, stale], [], []], 0), expectOneEpoch);
    live(world, rounds([[], []], 1_000), expectOneEpoch);
    expect(world.violations.filter((sentence) => sentence.includes('started after'))).toEqual([]);
  });

  it('does not begin from scratch because no cache shows its checkpoints', () => {
    const world = new World(aTrainingJob());
    live(world, rounds([[], [], [{ kind: 'saveCheckpoint', pick: 9 }], [{ kind: 'suspend' }], []], 90_000));
    expect(world.job?.status?.state).toBe('Suspended');
    const stale: WorldFault = { kind: 'staleObservation', looksAgo: 9, of: ['pods', 'placements', 'checkpoints'] };
    live(world, rounds([[lost, { kind: 'resume' }, stale]], 0));
    expect(world.job?.status?.attempts?.at(-1)).toMatchObject({ epoch: 2, resumedFrom: { step: 9 } });
  });

  it('gives no number again that only a Placement tells of, which no cache shows', () => {
    const world = new World(aTrainingJob());
    live(world, rounds([[], [], [{ kind: 'suspend' }], []], 90_000));
    expect(world.job?.status?.state).toBe('Suspended');
    world.pods = [];
    const stale: WorldFault = { kind: 'staleObservation', looksAgo: 9, of: ['pods', 'placements'] };
    live(world, rounds([[lost, { kind: 'resume' }, stale]], 0));
    expect(world.job?.status?.attempts?.at(-1)).toMatchObject({ epoch: 2 });
  });
});

/** The faults are over: nodes are back, the engine finishes, the operator looks as often as it likes. */
function settle(world: World): void {
  world.apply({ kind: 'restoreNodes' });
  for (let quiet = 0, rounds = 0; quiet < 3; rounds++) {
    expect(rounds).toBeLessThan(500);
    const wrote = world.reconcile();
    world.tick(wrote ? 100 : 120_000, true);
    quiet = wrote ? 0 : quiet + 1;
    expectOneEpoch(world);
  }
}

/** Each standby takes one place at most, and no pod loses its ranks twice. Answers with how many did. */
function expectSeats({ standbys = 0, replacements = [], incarnation = 1 }: Attempt): number {
  expect(replacements.length).toBeLessThanOrEqual(standbys);
  expect(new Set(replacements.map((one) => one.standby)).size).toBe(replacements.length);
  expect(new Set(replacements.map((one) => one.podIndex)).size).toBe(replacements.length);
  for (const one of replacements) expect(one.incarnation).toBeLessThanOrEqual(incarnation);
  return replacements.length;
}

function expectOneEpoch(world: World): void {
  const epochs = new Set(world.computingPods().map((pod) => pod.epoch));
  expect(epochs.size).toBeLessThanOrEqual(1);
}

function expectRest(world: World): void {
  for (let round = 0; round < 10; round++) {
    world.tick(60_000, true);
    expect(world.reconcile()).toBe(false);
  }
}

function expectPlausibleHistory(history: readonly TrainingJobStatus[], maxRestarts: number): void {
  const failed = new Set<string>();
  history.forEach((status, index) => {
    const earlier = history[index - 1];
    for (const attempt of status.attempts ?? []) {
      if (attempt.answer === 'Restart') failed.add(`${attempt.epoch}`);
      for (const { incarnation } of attempt.incarnations ?? []) failed.add(`${attempt.epoch}i${incarnation}`);
      const before = earlier?.attempts?.find((one) => one.epoch === attempt.epoch);
      if (before === undefined) continue;
      expect(attempt.incarnation ?? 1).toBeGreaterThanOrEqual(before.incarnation ?? 1);
      expect(STAGES.indexOf(attempt.stage)).toBeGreaterThanOrEqual(STAGES.indexOf(before.stage));
      if (before.outcome !== undefined)
        expect([attempt.outcome, attempt.reason]).toEqual([before.outcome, before.reason]);
    }
    expect(status.restarts.charged).toBeLessThanOrEqual(maxRestarts);
    expect(status.restarts.total).toBe(failed.size);
    expect(status.epoch).toBeGreaterThanOrEqual(earlier?.epoch ?? 0);
    expect(status.checkpoint?.step ?? 0).toBeGreaterThanOrEqual(earlier?.checkpoint?.step ?? 0);
    expect(endsOf(status).length).toBeLessThanOrEqual(1);
    if (earlier !== undefined && endsOf(earlier).length > 0) expect(endsOf(status)).toEqual(endsOf(earlier));
  });
}

function endsOf(status: TrainingJobStatus): readonly string[] {
  return (status.conditions ?? [])
    .filter(({ type, status: holds }) => (type === 'Complete' || type === 'Failed') && holds === 'True')
    .map(({ type, reason }) => `${type}/${reason}`);
}

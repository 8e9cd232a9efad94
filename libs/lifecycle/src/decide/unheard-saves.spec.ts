import { findCondition } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import fc from 'fast-check';
import { crash, live, settleWithAnswers, staleObservation, storyOf, World, type WorldFault } from '../testing/index.ts';

const pick = fc.nat(9);
const trouble: fc.Arbitrary<WorldFault> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('saveUnheard' as const), step: fc.integer({ min: 1, max: 90 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('exit' as const), code: fc.constantFrom(0, 1, 71), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('evict' as const, 'deletePod' as const), pick }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('loseNode' as const, 'hangPod' as const), pick }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('refuseCheckpoints' as const, 'acceptCheckpoints' as const) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('suspend' as const, 'resume' as const, 'restoreNodes' as const) }),
  },
  { weight: 2, arbitrary: staleObservation },
  { weight: 1, arbitrary: crash },
);
const story = storyOf(trouble, { tickMs: [0, 1_000, 20_000, 300_000], maxLength: 50 });

const lenient = (): World =>
  new World(aTrainingJob({ spec: { restartPolicy: { maxRestarts: 1000, delaySeconds: 0 } } }));

/** Nodes are well again and nobody suspends the job; a person answers when asked. */
function settle(world: World): void {
  world.apply({ kind: 'resume' });
  settleWithAnswers(world, 700_000);
}

describe('checkpoints that only termination messages tell of', () => {
  it('are all recorded when the API server takes them at last, and none after the end of its attempt unless status kept it', () => {
    fc.assert(
      fc.property(story, (moments) => {
        const world = lenient();
        live(world, moments);
        world.apply({ kind: 'acceptCheckpoints' });
        settle(world);
        const names = new Set(world.checkpoints.map(({ metadata }) => metadata.name));
        expect([...world.reportedCheckpoints].filter((name) => !names.has(name))).toEqual([]);
        expect(world.violations).toEqual([]);
        expect(world.job?.status?.unrecordedCheckpoints).toBeUndefined();
        expect(findCondition(world.job?.status?.conditions, 'CheckpointsRecorded')).toBeUndefined();
      }),
      { numRuns: 40 },
    );
  });

  it('hold up neither gang nor end where the API server never takes them', () => {
    fc.assert(
      fc.property(story, (moments) => {
        const world = lenient();
        live(world, moments);
        world.apply({ kind: 'refuseCheckpoints' });
        settle(world);
        expect(world.job?.status?.state).toBe('Complete');
        expect(world.violations.filter((sentence) => !sentence.includes('from scratch'))).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});

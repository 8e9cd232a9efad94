import { findCondition } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import fc from 'fast-check';
import { LAGGING, World, type WorldFault } from '../testing/index.ts';

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
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('staleLook' as const),
      looksAgo: fc.integer({ min: 1, max: 6 }),
      of: fc.subarray([...LAGGING], { minLength: 1 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), afterWrites: fc.nat(3) }) },
);
const story = fc.array(
  fc.record({ faults: fc.array(trouble, { maxLength: 2 }), tickMs: fc.constantFrom(0, 1_000, 20_000, 300_000) }),
  { maxLength: 50 },
);
type Story = readonly { readonly faults: readonly WorldFault[]; readonly tickMs: number }[];

const lenient = (): World =>
  new World(aTrainingJob({ spec: { restartPolicy: { maxRestarts: 1000, delaySeconds: 0 } } }));

function live(world: World, moments: Story): void {
  for (const { faults, tickMs } of moments) {
    for (const one of faults) world.apply(one);
    world.reconcile();
    world.tick(tickMs);
  }
}

/** Nodes are well again and nobody suspends the job; a person answers when asked. */
function settle(world: World): void {
  world.apply({ kind: 'restoreNodes' });
  world.apply({ kind: 'resume' });
  for (let quiet = 0, looks = 0; quiet < 3; looks++) {
    expect(looks).toBeLessThan(800);
    const wrote = world.reconcile();
    world.tick(wrote ? 100 : 700_000, true);
    quiet = wrote ? 0 : quiet + 1;
    if (quiet === 2 && isStuck(world)) {
      world.apply({ kind: 'askFor', from: 'scratch' });
      quiet = 0;
    }
  }
}

function isStuck({ job }: World): boolean {
  return findCondition(job?.status?.conditions, 'Placed')?.reason === 'CheckpointsUnusable';
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
        expect([...world.told].filter((name) => !names.has(name))).toEqual([]);
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

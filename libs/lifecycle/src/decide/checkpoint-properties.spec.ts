import { findCondition } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import fc from 'fast-check';
import { LAGGING, World, type WorldFault } from '../testing/index.ts';

const pick = fc.nat(9);
const fault = <K extends 'saveCheckpoint' | 'damage' | 'evict'>(kind: K) =>
  fc.record({ kind: fc.constant(kind), pick });
const breakMount = (as: 'FileUnreadable' | 'MountBroken' | 'ContentDiffers', node = pick): fc.Arbitrary<WorldFault> =>
  fc.record({ kind: fc.constant('breakMount' as const), pick: node, as: fc.constant(as) });

const usual: fc.Arbitrary<WorldFault> = fc.oneof(
  { weight: 4, arbitrary: fault('saveCheckpoint') },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('exit' as const), code: fc.constantFrom(1, 71), pick }) },
  { weight: 1, arbitrary: fault('evict') },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restoreNodes' as const) }) },
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
const story = (extra: fc.Arbitrary<WorldFault>) =>
  fc.array(
    fc.record({
      faults: fc.array(fc.oneof({ weight: 2, arbitrary: usual }, { weight: 1, arbitrary: extra }), { maxLength: 2 }),
      tickMs: fc.constantFrom(0, 1_000, 20_000, 300_000),
    }),
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

/** Nodes and mounts are well again; a person answers when asked. */
function settle(world: World): void {
  world.apply({ kind: 'restoreNodes' });
  for (let quiet = 0, looks = 0; quiet < 3; looks++) {
    expect(looks).toBeLessThan(800);
    const wrote = world.reconcile();
    world.tick(wrote ? 100 : 300_000, true);
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

const condemned = ({ checkpoints }: World): readonly string[] =>
  checkpoints.filter(({ status }) => status?.state === 'Damaged').map(({ metadata }) => metadata.name);
const scratches = (world: World): readonly string[] => world.violations.filter((one) => one.includes('from scratch'));

describe('whatever happens to mounts and files', () => {
  it('training never begins from scratch while a checkpoint is known, unless a person asks for it', () => {
    const trouble = fc.oneof(breakMount('FileUnreadable'), breakMount('MountBroken'), fault('damage'));
    fc.assert(
      fc.property(story(trouble), (moments) => {
        const world = lenient();
        live(world, moments);
        settle(world);
        expect(scratches(world)).toEqual([]);
        expect(world.job?.status?.state).toBe('Complete');
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    ['mounts that do not work, of any nodes', fc.oneof(breakMount('MountBroken'), fault('damage'))],
    ['content that one node reads wrong', fc.oneof(breakMount('ContentDiffers', fc.constant(0)), fault('damage'))],
    ['files that one node cannot read', fc.oneof(breakMount('FileUnreadable', fc.constant(0)), fault('damage'))],
  ])('no good checkpoint is condemned by %s', (_what, trouble) => {
    fc.assert(
      fc.property(story(trouble), (moments) => {
        const world = lenient();
        live(world, moments);
        settle(world);
        expect(condemned(world).filter((name) => !world.cutOff.has(name))).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it('status never speaks of a later step than the one that the gang under way began from or has saved', () => {
    fc.assert(
      fc.property(story(fc.oneof(breakMount('MountBroken'), fault('damage'))), (moments) => {
        const world = lenient();
        live(world, moments);
        settle(world);
        for (const { attempts, checkpoint } of world.history) {
          const last = attempts?.at(-1);
          if (last?.stage !== 'Creating' || checkpoint === undefined || last.epoch === 1) continue;
          expect(last.resumedFrom?.step).toBe(checkpoint.step);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('the last complete checkpoint is never lost or moved back, however few objects are kept', () => {
    const trouble = fc.oneof(breakMount('FileUnreadable'), breakMount('ContentDiffers'), fault('damage'));
    let collected = 0;
    fc.assert(
      fc.property(story(trouble), (moments) => {
        const world = lenient();
        world.retention = { checkpoints: 2, checkpointsOfFinished: 2 };
        live(world, moments);
        settle(world);
        collected += world.collected.length;
        expect(world.violations.filter((one) => one.includes('was collected') || one.includes('from scratch'))).toEqual(
          [],
        );
        const complete = world.checkpoints.filter(({ status }) => status?.state === 'Complete');
        expect(complete.length).toBeLessThanOrEqual(2 + 3);
      }),
      { numRuns: 50 },
    );
    expect(collected).toBeGreaterThan(0);
  });
});

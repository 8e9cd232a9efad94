import { aTrainingJob } from '@coxswain/api-types/testing';
import fc from 'fast-check';
import { crash, live, settleWithAnswers, staleObservation, storyOf, World, type WorldFault } from '../testing/index.ts';

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
  { weight: 2, arbitrary: staleObservation },
  { weight: 1, arbitrary: crash },
);
const story = (extra: fc.Arbitrary<WorldFault>) =>
  storyOf(fc.oneof({ weight: 2, arbitrary: usual }, { weight: 1, arbitrary: extra }), {
    tickMs: [0, 1_000, 20_000, 300_000],
    maxLength: 50,
  });

const lenient = (): World =>
  new World(aTrainingJob({ spec: { restartPolicy: { maxRestarts: 1000, delaySeconds: 0 } } }));

const settle = (world: World): void => settleWithAnswers(world, 300_000);
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
    ['files that cannot be read, of any nodes', fc.oneof(breakMount('FileUnreadable'), fault('damage'))],
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

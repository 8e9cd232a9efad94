import fc from 'fast-check';
import { LAGGING, type WorldFault } from '../testing/index.ts';
import { PriorityTown } from '../testing/room-for-others.ts';

const NAMES = ['low', 'high', 'second', 'third'];

const trouble: fc.Arbitrary<WorldFault> = fc.oneof(
  fc.record({ kind: fc.constant('exit' as const), code: fc.constantFrom(1, 137), pick: fc.nat(9) }),
  fc.record({ kind: fc.constantFrom('deletePod' as const, 'evict' as const, 'loseNode' as const), pick: fc.nat(9) }),
  fc.record({ kind: fc.constant('saveCheckpoint' as const), pick: fc.integer({ min: 1, max: 5_000 }) }),
  fc.record({ kind: fc.constantFrom('restoreNodes' as const, 'suspend' as const, 'resume' as const) }),
  fc.record({
    kind: fc.constant('staleObservation' as const),
    looksAgo: fc.integer({ min: 1, max: 12 }),
    of: fc.subarray([...LAGGING], { minLength: 1 }),
  }),
  fc.record({
    kind: fc.constant('crash' as const),
    afterWrites: fc.nat(6),
    lateMs: fc.constantFrom(0, 1_000, 10_000, 60_000),
  }),
);

const story = fc.array(
  fc.record({
    job: fc.constantFrom(...NAMES),
    faults: fc.array(trouble, { maxLength: 1 }),
    tickMs: fc.constantFrom(0, 0, 1_000, 20_000, 70_000),
    finishes: fc.subarray(NAMES),
  }),
  { maxLength: 60 },
);

describe('jobs of several priorities in a small cluster', () => {
  it('make room only for claims that name them, have no GPU in common, and all of them end', () => {
    fc.assert(
      fc.property(story, (moments) => {
        const town = new PriorityTown(
          [
            { name: 'low', className: 'low' },
            { name: 'high', className: 'high' },
            { name: 'second', className: 'high', namespace: 'other' },
            { name: 'third', className: 'low', namespace: 'other' },
          ],
          ['node-a', 'node-b', 'node-c', 'node-d', 'node-e'],
        );
        town.chooseAsScheduled();
        for (const { job, faults, tickMs, finishes } of moments) {
          for (const fault of faults) town.world(job).apply(fault);
          town.reconcile(job);
          town.tick(tickMs, finishes.slice(0, 1));
        }
        for (const name of NAMES)
          for (const kind of ['resume', 'restoreNodes'] as const) town.world(name).apply({ kind });
        for (
          let rounds = 0;
          rounds < 400 && NAMES.some((name) => town.job(name).status?.state !== 'Complete');
          rounds += 1
        ) {
          const before = town.writes();
          town.reconcile();
          town.tick(town.writes() > before ? 1_000 : 60_000, NAMES);
        }
        expect(town.allViolations()).toEqual([]);
        expect(town.states()).toEqual(Object.fromEntries(NAMES.map((name) => [name, 'Complete'])));
        for (const name of NAMES) {
          expect(town.job(name).status?.claim?.state ?? 'Ended').toBe('Ended');
          expect(
            town.world(name).placements.filter(({ metadata }) => metadata.labels !== undefined).length,
          ).toBeLessThanOrEqual(town.job(name).status?.attempts?.length ?? 0);
        }
      }),
      { numRuns: 30 },
    );
  });
});

/** What befalls a job, moment by moment, and how is it lived through? For property tests over a {@link World}. */
import { findCondition } from '@coxswain/api-types';
import fc from 'fast-check';
import { LAGGING, type World, type WorldFault } from './world.ts';

/** What happens before one pass of the operator, and how much time passes after it. */
interface Moment {
  readonly faults: readonly WorldFault[];
  readonly tickMs: number;
}
type Story = readonly Moment[];

/** Some kinds are seen as they were some looks ago. */
export const staleObservation: fc.Arbitrary<WorldFault> = fc.record({
  kind: fc.constant('staleObservation' as const),
  looksAgo: fc.integer({ min: 1, max: 6 }),
  of: fc.subarray([...LAGGING], { minLength: 1 }),
});

/** The operator dies in one of its next writes. */
export const crash: fc.Arbitrary<WorldFault> = fc.record({
  kind: fc.constant('crash' as const),
  afterWrites: fc.nat(3),
});

export function storyOf(
  fault: fc.Arbitrary<WorldFault>,
  about: {
    readonly tickMs: readonly number[];
    readonly maxFaults?: number;
    readonly minLength?: number;
    readonly maxLength: number;
  },
): fc.Arbitrary<Story> {
  const { tickMs, maxFaults = 2, minLength = 0, maxLength } = about;
  const faults = fc.array(fault, { maxLength: maxFaults });
  return fc.array(fc.record({ faults, tickMs: fc.constantFrom(...tickMs) }), { minLength, maxLength });
}

/** `afterEach` looks at the world after each moment. */
export function live(world: World, story: Story, afterEach: (world: World) => void = () => undefined): void {
  for (const { faults, tickMs } of story) {
    for (const fault of faults) world.apply(fault);
    world.reconcile();
    world.tick(tickMs);
    afterEach(world);
  }
}

const MAX_OBSERVATIONS = 800;

/** Nodes and mounts are well again, and a person answers when asked; throws where the job comes to no rest. After a look that wrote nothing `idleMs` pass. */
export function settleWithAnswers(world: World, idleMs: number): void {
  world.apply({ kind: 'restoreNodes' });
  for (let quiet = 0, rounds = 0; quiet < 3; rounds++) {
    if (rounds >= MAX_OBSERVATIONS) throw new Error(`the job came to no rest in ${MAX_OBSERVATIONS} looks`);
    const wrote = world.reconcile();
    world.tick(wrote ? 100 : idleMs, true);
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

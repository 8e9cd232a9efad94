/** What do users see while the cluster denies what a job needs? */
import { FINALIZER, findCondition } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { World } from '../testing/world.ts';
import type { Call, FailedAnswer, FailureCause } from './calls.ts';

const POLICY = `ValidatingAdmissionPolicy 'oc-no-update' with binding 'oc-no-update' denied request: image signature service says no`;
const DOWN = 'failed calling webhook "sig.example.com": connection refused';
const QUOTA = 'exceeded quota: placements, requested: count/placements=1, used: 0, limited: 0';

function denying(kinds: readonly Call['kind'][], cause: FailureCause, message: string) {
  return (call: Call): FailedAnswer | undefined =>
    kinds.includes(call.kind) ? { kind: 'failed', error: new Error(message), cause, message } : undefined;
}

function aWorld(): World {
  return new World(aTrainingJob({ metadata: { finalizers: [FINALIZER] } }));
}

/** As the operator does: a call that fails ends the pass, and the next one comes soon. */
function pass(world: World, passes = 6): void {
  for (let count = 0; count < passes; count += 1) {
    try {
      world.reconcile();
    } catch {
      // Tried again.
    }
    world.tick(1_000);
  }
}

describe('a job to which the cluster denies', () => {
  it.each<[string, readonly Call['kind'][], FailureCause, string, string]>([
    ['a webhook that is down the first pod', ['probePod'], 'unadmitted', DOWN, 'Placed/PodsRefused'],
    ['a policy the first pod', ['probePod'], 'refused', POLICY, 'Placed/PodsRefused'],
    ['a right the first pod', ['probePod'], 'needsPerson', 'User "x" cannot create', 'Placed/PodsRefused'],
    ['a quota its Placement', ['createPlacement'], 'refused', QUOTA, 'Placed/PodsRefused'],
    ['a webhook that is down every other pod', ['createPod'], 'unadmitted', DOWN, 'Running/Denied'],
    ['a policy the end of its gates', ['liftGate'], 'refused', POLICY, 'Running/Denied'],
  ])('%s says so in the words of the cluster, blames no node, and goes on once it may', (...row) => {
    const [, kinds, cause, message, where] = row;
    const world = aWorld();
    world.denies = denying(kinds, cause, message);
    pass(world);
    const { status } = world.job ?? {};
    const [type, reason] = where.split('/') as ['Placed' | 'Running', string];
    const condition = findCondition(status?.conditions, type);
    expect([condition?.reason, condition?.message]).toEqual([reason, expect.stringContaining(message)]);
    expect(status?.summary).toContain(message);
    expect([status?.avoidedNodes ?? [], status?.restarts?.charged]).toEqual([[], 0]);
    world.denies = () => undefined;
    pass(world, 120);
    expect([world.job?.status?.state, world.violations]).toEqual(['Running', []]);
    expect(world.job?.status?.summary).not.toContain(message);
  });

  it.each<[string, readonly Call['kind'][]]>([
    ['of its pods', ['deletePod']],
    ['of the finalizers of its pods', ['releasePod']],
    ['of its finalizer', ['removeFinalizer']],
  ])('a policy the end %s says so while it is deleted', (_what, kinds) => {
    const world = aWorld();
    pass(world, 3);
    world.denies = denying(kinds, 'refused', POLICY);
    world.apply({ kind: 'delete' });
    pass(world, 120);
    expect(world.job?.status?.summary).toContain(POLICY);
    const placed = findCondition(world.job?.status?.conditions, 'Placed');
    // Before the end of its pods is recorded, the gang is placed still.
    expect(['GangPlaced', 'WaitingForPreviousEpoch']).toContain(placed?.reason);
    if (placed?.status === 'False') expect(placed.message).toContain(POLICY);
    world.denies = () => undefined;
    pass(world, 120);
    expect(world.job).toBeUndefined();
  });
});

describe('a job whose claim does not exist', () => {
  const problem = {
    kind: 'PersistentVolumeClaim',
    name: 'nowhere',
    field: 'spec.checkpoint.claimName',
    problem: 'missing',
  } as const;
  it('says so at once, also while there is no room, takes no GPUs and blames no node; it starts once there is one', () => {
    const world = aWorld();
    world.unusable = [problem];
    pass(world, 2);
    const { status } = world.job ?? {};
    const placed = findCondition(status?.conditions, 'Placed');
    expect([placed?.reason, placed?.message]).toEqual([
      'ObjectMissing',
      'PersistentVolumeClaim nowhere (spec.checkpoint.claimName) does not exist in namespace research. The job starts once pods can use it.',
    ]);
    expect([status?.state, status?.summary, status?.epoch]).toEqual(['Queued', placed?.message, 0]);
    pass(world, 60);
    expect([world.pods, world.placements, world.job?.status?.avoidedNodes]).toEqual([[], [], undefined]);
    world.unusable = [];
    pass(world, 15);
    expect([world.job?.status?.state, world.violations]).toEqual(['Running', []]);
  });
});

import { NODE_LABELS } from '@coxswain/api-types';
import { aPlannedJobSpec, aRuntime } from '@coxswain/api-types/testing';
import { readRuntime } from '@coxswain/runtime';
import { decide } from '../decide/decide.ts';
import type { ObservedRuntime } from '../observation/observed.ts';
import { aCapacity, aNode, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, aStatus, NOW } from '../testing/jobs.ts';

const TEMPLATE = { spec: { containers: [{ name: 'trainer', resources: { limits: { 'rdma/ib': 8 } } }] } };
const found = (
  more: Parameters<typeof aRuntime>[1] & { readonly isFresh?: boolean; readonly isBeingRead?: boolean } = {},
): ObservedRuntime => {
  const { isFresh = true, isBeingRead = false } = more;
  return { kind: 'found', runtime: readRuntime(aRuntime(TEMPLATE, more)), isFresh, isBeingRead };
};
const answer = (of: Pick<ObservedRuntime, 'kind'> & object): ObservedRuntime =>
  ({ isFresh: true, isBeingRead: false, ...of }) as ObservedRuntime;

const job = aJob({ spec: { runtimeRef: { name: 'fabric' } } });
const decideWith = (runtime: ObservedRuntime | undefined, more: Parameters<typeof observe>[0] = {}) => {
  const decision = decide(observe({ job, ...(runtime === undefined ? {} : { runtime }), ...more }), NOW);
  const reasonOf = (type: string) => decision.status.conditions?.find((condition) => condition.type === type);
  return {
    decision,
    accepted: reasonOf('Accepted')?.reason,
    placed: reasonOf('Placed')?.reason,
    summary: decision.status.summary,
    actions: decision.actions.map(({ kind }) => kind),
  };
};

describe('a job that names a runtime', () => {
  it('has it read before anything is planned or placed', () => {
    const { accepted, placed, actions } = decideWith(undefined);
    expect({ accepted, placed, actions }).toEqual({
      accepted: 'SpecValid',
      placed: 'ReadingRuntime',
      actions: ['readRuntime'],
    });
  });

  it.each<[string, ObservedRuntime | undefined, readonly string[]]>([
    ['it is not read', undefined, ['readRuntime']],
    ['it cannot be read', answer({ kind: 'unreadable', problem: 'away' } as never), []],
    ['there is none', answer({ kind: 'missing' }), []],
    ['it can be used', found(), ['planJob']],
  ])('has a layout chosen by the nodes that its runtime takes, and by no others: %s', (_what, runtime, actions) => {
    const spec = { ...aPlannedJobSpec(), runtimeRef: { kind: 'ClusterTrainingRuntime' as const, name: 'fabric' } };
    const labels = { [NODE_LABELS.gpuType]: 'h100' };
    const seen = decideWith(runtime, { job: { ...job, spec }, capacity: () => aCapacity([aNode({ labels })]) });
    expect(seen.actions).toEqual(actions);
    expect(seen.decision.status.plan).toBeUndefined();
  });

  it('waits while it is being read', () => {
    expect(decideWith(answer({ kind: 'unknown' as never, isFresh: false, isBeingRead: true } as never))).toMatchObject({
      placed: 'ReadingRuntime',
      actions: [],
    });
  });

  it('is placed with what the runtime holds then, and that alone', () => {
    const { decision } = decideWith(found());
    expect(decision.reserve?.runtime).toEqual({
      kind: 'ClusterTrainingRuntime',
      name: 'fabric',
      uid: 'uid-of-fabric',
      generation: 1,
      template: TEMPLATE,
    });
  });

  it('is placed with the NIC class of each node, where variables of the runtime depend on it', () => {
    const nicEnvironments = [{ nicClass: 'roce', env: [{ name: 'NCCL_IB_TC', value: '106' }] }];
    const labels = { ...aNode().labels, [NODE_LABELS.nicType]: 'RoCE' };
    const capacity = () => aCapacity([aNode({ labels }), aNode({ name: 'node-b' })]);
    const runtime: ObservedRuntime = {
      kind: 'found',
      runtime: readRuntime(aRuntime({}, { spec: { nicEnvironments } })),
      isFresh: true,
      isBeingRead: false,
    };
    const { decision } = decideWith(runtime, { capacity });
    expect(decision.reserve).toMatchObject({ nodes: ['node-a', 'node-b'], nicClasses: ['roce', ''] });
    expect(decision.reserve?.runtime?.nicEnvironments).toEqual(nicEnvironments);
  });

  it('is not placed by what was read long ago: it is read again first', () => {
    const { decision, actions } = decideWith(found({ isFresh: false }));
    expect(decision.reserve).toBeUndefined();
    expect(actions).toEqual(['readRuntime']);
    expect(decideWith(found({ isFresh: false, isBeingRead: true })).actions).toEqual([]);
  });

  it('waits for GPUs in the same words while the runtime is read again', () => {
    const capacity = { capacity: () => aCapacity([]) };
    expect(decideWith(found({ isFresh: false }), capacity).summary).toBe(decideWith(found(), capacity).summary);
  });

  it.each<[string, ObservedRuntime, RegExp]>([
    [
      'there is none',
      answer({ kind: 'missing' }),
      /^there is no ClusterTrainingRuntime fabric; `kubectl get clustertrainingruntimes` lists/,
    ],
    ['it is not for its namespace', found({ spec: { namespaces: [] } }), /is not for namespace/],
    [
      'it cannot be used by anybody',
      found({ spec: { sourceScript: 'setup.sh' } }),
      /sourceScript must be an absolute path/,
    ],
  ])('is not accepted where %s, and is looked at again', (_what, runtime, summary) => {
    const refused = decideWith(runtime);
    expect(refused).toMatchObject({ accepted: 'RuntimeRefused', placed: 'NotAccepted' });
    expect(refused.summary).toMatch(summary);
    expect(refused.decision.requeueAfterMs).toBe(30_000);
    expect(decideWith({ ...runtime, isFresh: false }).actions).toEqual(['readRuntime']);
  });

  it('waits where it cannot be read, and says why', () => {
    const unread = decideWith(answer({ kind: 'unreadable', problem: 'the server is away' } as never));
    expect(unread).toMatchObject({ accepted: 'SpecValid', placed: 'ReadingRuntime' });
    expect(unread.summary).toMatch(/could not be read; Coxswain retries: the server is away/);
  });

  it('runs on whatever becomes of its runtime', () => {
    const running = aJob({ spec: { runtimeRef: { name: 'fabric' } }, status: aStatus() });
    const gang = {
      job: running,
      placements: [aPlacement(running)],
      pods: [aPod(running), aPod(running, { podIndex: 1 })],
    };
    for (const runtime of [undefined, answer({ kind: 'missing' }), found({ isFresh: false })]) {
      const { decision, actions, accepted } = decideWith(runtime, gang);
      expect([decision.status.state, accepted, actions]).toEqual(['Running', 'SpecValid', []]);
    }
  });
});

describe('a process that has not read the runtime yet', () => {
  const being = answer({ kind: 'unknown', isFresh: false, isBeingRead: true } as never);

  it.each<[string, ObservedRuntime, Parameters<typeof decideWith>[1]]>([
    ['waits for GPUs', found(), { capacity: () => aCapacity([]) }],
    ['is refused for its runtime', answer({ kind: 'missing' }), {}],
  ])('says the same as the one before of a job that %s', (_what, runtime, more) => {
    const { status } = decideWith(runtime, more).decision;
    for (const unread of [undefined, being]) {
      expect(decideWith(unread, { ...more, job: { ...job, status } }).decision.status).toEqual(status);
    }
    const edited = { ...job, status, metadata: { ...job.metadata, generation: 2 } };
    expect(decideWith(undefined, { ...more, job: edited }).placed).toBe('ReadingRuntime');
  });

  it('makes a Placement that is recorded and not created, as soon as it has read', () => {
    const { status, reserve } = decideWith(found()).decision;
    const begun = { ...job, status };
    expect(reserve).toBeDefined();
    expect(decideWith(undefined, { job: begun })).toMatchObject({
      actions: ['readRuntime'],
      decision: { requeueAfterMs: 30_000 },
    });
    expect(decideWith(being, { job: begun }).decision).toMatchObject({
      actions: [],
      status: { attempts: [{ stage: 'Creating' }] },
    });
    const { decision, actions } = decideWith(found(), { job: begun });
    expect(actions).toEqual(['createPlacement']);
    expect(decision.reserve).toEqual(reserve);
    const lost = decideWith(answer({ kind: 'missing' }), { job: begun }).decision.status.attempts?.[0];
    expect(lost).toMatchObject({ stage: 'Ended', reason: 'PlacementLost', charged: false });
  });

  it('makes the Placement of a gang that runs again, where somebody deleted it', () => {
    const { status, reserve } = decideWith(found()).decision;
    const attempts = (status.attempts ?? []).map((attempt) => ({ ...attempt, stage: 'Released' as const }));
    const running = { ...job, status: { ...status, attempts } };
    const pods = [aPod(running), aPod(running, { podIndex: 1 })];
    expect(decideWith(undefined, { job: running, pods }).actions).toEqual(['readRuntime']);
    const again = decideWith(found(), { job: running, pods }).decision.actions;
    expect(again).toMatchObject([{ kind: 'createPlacement', spec: reserve }]);
  });
});

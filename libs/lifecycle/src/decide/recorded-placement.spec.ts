import type { Placement } from '@coxswain/api-types';
import { decide } from './decide.ts';
import type { Observed } from '../observation/observed.ts';
import { placementSha256 } from '@coxswain/scheduling';
import { aCapacity, aNode, aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, kinds, NOW, settled } from '../testing/jobs.ts';

/** A job whose first attempt is recorded, and the placement that is to be created. */
function recorded(leaderTerm?: number): { readonly seen: Observed; readonly placement: Placement } {
  const seen = observe(leaderTerm === undefined ? {} : { leaderTerm });
  const { status, reserve } = decide(seen, NOW);
  if (reserve === undefined) throw new Error('nothing is placed');
  const job = { ...seen.job, status };
  const name = status.attempts?.[0]?.placement ?? '';
  const placement = { ...aPlacement(job), metadata: { name, uid: 'made' }, spec: reserve };
  return { seen: { ...seen, job }, placement };
}

const small = (): ReturnType<typeof aCapacity> => aCapacity([aNode()]);
const larger = (): ReturnType<typeof aCapacity> =>
  aCapacity([aNode({ name: 'node-0' }), aNode(), aNode({ name: 'node-b' })]);
const lastAttempt = (observed: Observed) => settled(observed).status.attempts?.at(-1);

describe('an attempt', () => {
  it('is recorded with the hash of its placement and the term of its leader before anything is created', () => {
    const { status, reserve } = decide(observe({ leaderTerm: 7 }), NOW);
    const placementHash = reserve === undefined ? '' : placementSha256(reserve);
    expect(status.attempts).toMatchObject([
      { epoch: 1, stage: 'Creating', placementSha256: placementHash, leaderTerm: 7 },
    ]);
  });

  it('then has the very placement created that was reserved, wherever the free GPUs are by now', () => {
    const { seen, placement } = recorded();
    const { actions } = settled({ ...seen, reserved: placement.spec, capacity: larger });
    expect(actions).toEqual([{ kind: 'createPlacement', name: placement.metadata.name, spec: placement.spec }]);
  });

  it('whose leader died before the create goes on where the same cluster gives the same placement', () => {
    const { seen, placement } = recorded();
    expect(settled(seen).actions).toEqual([
      { kind: 'createPlacement', name: placement.metadata.name, spec: placement.spec },
    ]);
  });

  it.each([
    ['the GPUs are taken', small],
    ['other nodes would be taken now', larger],
  ])(
    'whose leader died before the create, and %s: is looked for in the cluster before anything is concluded',
    (_sentence, capacity) => {
      const { seen, placement } = recorded();
      const { actions, status } = decide({ ...seen, capacity, isProven: false }, NOW);
      expect(actions).toMatchObject([{ kind: 'readLive', placement: placement.metadata.name }]);
      expect(status.attempts).toMatchObject([{ epoch: 1, stage: 'Creating' }]);
    },
  );

  it.each([
    ['is not there', small, () => ({})],
    ['is not there, and other nodes would be taken now', larger, () => ({})],
    [
      'has a name that somebody else took',
      larger,
      (name: string) => ({ placements: [{ ...aPlacement(aJob()), metadata: { name, uid: 'forged' } }] }),
    ],
  ])('whose placement %s ends uncharged, and the next epoch is another one', (_sentence, capacity, found) => {
    const { seen, placement } = recorded();
    const observed = { ...seen, isProven: true, capacity, ...found(placement.metadata.name) };
    const { status } = decide(observed, NOW);
    expect(status.attempts).toMatchObject([
      { epoch: 1, stage: 'Ended', outcome: 'Failed', reason: 'PlacementLost', charged: false, answer: 'Restart' },
    ]);
    expect(status.restarts).toEqual({ total: 1, charged: 0 });
    const elapsedMs = new Map([['e1/delay', 5_000]]);
    const next = decide({ ...seen, job: { ...observed.job, status }, elapsedMs }, NOW).status;
    expect(next.attempts?.at(-1)).toMatchObject({ epoch: 2, stage: 'Creating' });
  });

  it('of a release that recorded no hash goes on with the placement of its name', () => {
    const job = aJob({ status: aStatus({ attempts: [anAttempt({ stage: 'Creating' })] }) });
    expect(kinds(settled(observe({ job, placements: [aPlacement(job)] })).actions)).toEqual(['createPod', 'createPod']);
  });
});

describe('a placement that is seen late, of a leader before', () => {
  it.each([
    ['goes on while its GPUs are free', 2, true, 'Creating'],
    ['ends uncharged where they went to others meanwhile, as a live read proves', 2, false, 'Ended'],
    ['ends uncharged where a stranger took them from the leader that reserved them', 1, false, 'Ended'],
  ])('%s', (_sentence, leaderTerm, fits, stage) => {
    const { seen, placement } = recorded(1);
    const observed = { ...seen, placements: [placement], leaderTerm, takenNodes: () => (fits ? [] : ['node-a']) };
    const attempt = decide(observed, NOW).status.attempts?.[0];
    expect(attempt).toMatchObject({ epoch: 1, stage });
    if (stage === 'Ended') expect(attempt).toMatchObject({ reason: 'PlacementLost', charged: false });
  });

  it('loses the pods that it had behind their gates before it is over', () => {
    const { seen, placement } = recorded(1);
    const pod = aPod(seen.job, { gated: true, phase: 'Pending', running: false });
    const observed = { ...seen, placements: [placement], pods: [pod], leaderTerm: 2, takenNodes: () => ['node-a'] };
    expect(lastAttempt(observed)).toMatchObject({ epoch: 1, stage: 'Stopping', reason: 'PlacementLost' });
    expect(kinds(settled(observed).actions)).toEqual(['refuseLaunchers', 'deletePods']);
  });

  it('is not ended once a gate was lifted: what runs, runs', () => {
    const observed = aRunningJob({ observed: { leaderTerm: 2, takenNodes: () => ['node-a'] } });
    expect(lastAttempt(observed)).toMatchObject({ stage: 'Released' });
  });
});

describe('a placement that status does not record', () => {
  const forged = (spec: Partial<Placement['spec']>): Placement => {
    const placement = aPlacement(aJob(), spec);
    return { ...placement, metadata: { ...placement.metadata, name: 'forged', uid: 'forged' } };
  };
  const every = [...Array.from({ length: 20 }, (_, index) => index + 1), 999].map((epoch) => forged({ epoch }));

  it('begins no attempt and is given no pods: the job is placed where it belongs', () => {
    const { status, actions } = settled(observe({ placements: every }));
    expect(status.attempts).toHaveLength(1);
    expect(kinds(actions)).toEqual(['createPlacement', 'deletePlacements']);
  });

  it('does not touch a gang that runs, whatever epoch it says', () => {
    const seen = aRunningJob({});
    const { status, actions } = settled({ ...seen, placements: [...seen.placements, ...every] });
    expect(status).toMatchObject({ epoch: 1, attempts: [{ epoch: 1, stage: 'Released' }] });
    expect(actions).toEqual([]);
  });
});

describe('a placement that somebody deleted while its gang is up', () => {
  const attemptOf = (stage: 'Released' | 'Stopping', { metadata, spec }: Placement) =>
    anAttempt({ stage, placement: metadata.name, placementSha256: placementSha256(spec) });
  /** A gang that runs, as one sees it who knows of its placement only what `found` says. */
  const bereft = (found: Partial<Observed> = {}, stage: 'Released' | 'Stopping' = 'Released'): Observed => {
    const { placement } = recorded();
    return aRunningJob({
      status: { attempts: [attemptOf(stage, placement)] },
      observed: { placements: [], leaderTerm: 2, takenNodes: () => ['node-a'], ...found },
    });
  };
  const again = (): unknown => {
    const { metadata, spec } = recorded().placement;
    return { kind: 'createPlacement', name: metadata.name, spec };
  };

  it.each<readonly [string, () => Observed]>([
    ['by whoever saw it', () => bereft({ keptPlacement: recorded().placement.spec, pods: [] })],
    ['from its pods, by whoever never saw it', () => bereft()],
  ])('is made again as it was, %s; status stays, and nothing is reserved', (_sentence, seen) => {
    const { actions, reserve, status } = settled(seen());
    expect(actions.filter(({ kind }) => kind === 'createPlacement')).toEqual([again()]);
    expect([reserve, status.attempts?.[0]?.stage]).toEqual([undefined, 'Released']);
  });

  it.each<readonly [string, () => Observed]>([
    [
      'pods are not where the recorded one put them',
      () =>
        bereft({
          pods: bereft().pods.map((pod, index, { length }) => ({
            ...pod,
            nodeName: `node-${'ab'[length - 1 - index]}`,
          })),
        }),
    ],
    [
      'what is remembered has another hash',
      () => bereft({ pods: [], keptPlacement: { ...recorded().placement.spec, nodes: ['node-a', 'node-c'] } }),
    ],
    ['its gang is stopping', () => bereft({ keptPlacement: recorded().placement.spec }, 'Stopping')],
  ])('is not made again where %s', (_sentence, seen) => {
    expect(kinds(settled(seen()).actions)).not.toContain('createPlacement');
  });
});

describe('the names of a gang’s pods', () => {
  const creating = (found: (names: readonly string[]) => Partial<Observed>) => {
    const { seen, placement } = recorded();
    const observed = { ...seen, placements: [placement] };
    const names = settled(observed).actions.flatMap((action) => (action.kind === 'createPod' ? [action.name] : []));
    return { names, placement, decided: decide({ ...observed, ...found(names) }, NOW) };
  };

  it('end in digits of the hash that is recorded, so that nobody can take them before', () => {
    const { names, placement } = creating(() => ({}));
    const hash = placementSha256(placement.spec).slice(0, 6);
    expect(names).toEqual([`tiny-gpt-3f1c2b9e-e1-${hash}-0`, `tiny-gpt-3f1c2b9e-e1-${hash}-1`]);
  });

  it('that a stranger has taken all the same end the attempt uncharged, and the next epoch has others', () => {
    const stranger = (name: string) => ({ ...aPod(aJob()), name, ours: false });
    const { decided } = creating(([name = '']) => ({ pods: [stranger(name)] }));
    expect(decided.status.attempts?.[0]).toMatchObject({ reason: 'NameConflict', charged: false, answer: 'Restart' });
    expect(decided.status.restarts.charged).toBe(0);
  });

  it('of another hash are not the gang’s, whoever owns the pod', () => {
    const { decided } = creating(() => ({ pods: [aPod(aJob(), { name: 'tiny-gpt-3f1c2b9e-e1-abcdef-0' })] }));
    expect(decided.actions.flatMap((action) => (action.kind === 'createPod' ? [action.podIndex] : []))).toEqual([0, 1]);
  });
});

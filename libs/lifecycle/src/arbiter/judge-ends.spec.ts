import { type EndsInSight, type GrantedEnd, judgeEnd, type JobProposal, type Ruling } from './judge-ends.ts';

const NOW_MS = 10_000_000;

const hang = (jobUid: string, changes: Partial<JobProposal> = {}): JobProposal => ({
  jobUid,
  namespace: 'team',
  cause: 'hang',
  run: 'e1i1',
  isDue: true,
  beganAtMs: NOW_MS - 61_000,
  nodes: [`node-of-${jobUid}`],
  switches: [`leaf-of-${jobUid}`],
  claims: [`ns/claim-of-${jobUid}`],
  ...changes,
});

const granted = (jobUid: string, changes: Partial<GrantedEnd> = {}): GrantedEnd => ({
  jobUid,
  namespace: 'team',
  run: 'e1i1',
  cause: 'hang',
  nodes: [`node-of-${jobUid}`],
  atMs: NOW_MS - 1_000,
  neededGpus: 0,
  blames: true,
  ...changes,
});

const team = (gangs: number): ReadonlyMap<string, number> => new Map([['team', gangs]]);

const many = (count: number, changes: Partial<JobProposal> = {}): readonly JobProposal[] =>
  Array.from({ length: count }, (_, at) => hang(`other-${at}`, { isDue: false, ...changes }));

function ruling(proposal: JobProposal, inSight: Partial<EndsInSight> = {}): Ruling {
  const proposals = [proposal, ...(inSight.proposals ?? [])];
  return judgeEnd(proposal, { granted: [], gangs: team(50), nowMs: NOW_MS, ...inSight, proposals });
}

const GRANTED = { kind: 'granted', blames: true };
const ROOM = { neededGpus: 2, freeGpus: 2 };
const SLOW = { cause: 'slow', room: ROOM } as const;
const LEAVING = { cause: 'leaving', room: ROOM } as const;

describe('an end that nobody asked for', () => {
  it.each<[string, JobProposal, Partial<EndsInSight>]>([
    ['one hang of fifty gangs', hang('a'), {}],
    ['the hang of the only gang', hang('a'), { gangs: team(1) }],
    [
      'a hang beside another of three gangs that shares nothing with it',
      hang('a'),
      { proposals: many(1), gangs: team(3) },
    ],
    [
      'a hang beside one on the same claim that began much earlier',
      hang('a'),
      { proposals: many(1, { claims: hang('a').claims, beganAtMs: 0 }) },
    ],
    [
      'a hang whose node makes another gang hang too',
      hang('a'),
      { proposals: many(1, { nodes: ['node-of-a'], switches: ['leaf-of-a'] }) },
    ],
    [
      'the second gang on the node of one that was just ended',
      hang('b', { nodes: ['node-of-a'] }),
      { granted: [granted('a')], gangs: team(2) },
    ],
    [
      'a second hang after the window',
      hang('b'),
      { granted: [granted('a', { atMs: NOW_MS - 300_001 })], gangs: team(2) },
    ],
    ['a hang while gangs move', hang('b'), { granted: [granted('a', { cause: 'leaving' })], gangs: team(2) }],
    [
      'an end that was granted before',
      hang('a'),
      { granted: [granted('a')], gangs: team(2), proposals: many(9, { claims: hang('a').claims }) },
    ],
    ['a slow rank that another node can replace', hang('a', SLOW), {}],
    ['a move that has room', hang('a', LEAVING), {}],
    [
      'a move without room right before the announced time',
      hang('a', { ...LEAVING, room: { neededGpus: 2, freeGpus: 0 }, isUrgent: true }),
      {},
    ],
    [
      'a move without room off a node that an administrator asked to empty',
      hang('a', { ...LEAVING, room: { neededGpus: 2, freeGpus: 0 }, isRequested: true }),
      {},
    ],
    [
      'a move without room of a gang that saves only at its end',
      hang('a', { ...LEAVING, room: { neededGpus: 2, freeGpus: 0 }, savesOnlyAtEnd: true }),
      {},
    ],
    [
      'a move beside growth, if both have room',
      hang('b', { ...LEAVING, room: { neededGpus: 16, freeGpus: 24 } }),
      { granted: [granted('a', { cause: 'growth', neededGpus: 8 })] },
    ],
    [
      'moves of half of the gangs',
      hang('z', LEAVING),
      { granted: ['a', 'b', 'c'].map((job) => granted(job, { cause: 'leaving' })), gangs: team(8) },
    ],
  ])('is granted: %s', (_what, proposal, inSight) => {
    expect(ruling(proposal, inSight)).toEqual(GRANTED);
  });

  it.each<[string, JobProposal, Partial<EndsInSight>, RegExp]>([
    ['what was only noticed', hang('a', { isDue: false }), {}, /may pass by itself/],
    [
      'a hang beside another on the same claim',
      hang('a'),
      { proposals: many(1, { claims: ['ns/claim-of-a'] }) },
      /^other gangs that use storage claim ns\/claim-of-a stand still too/,
    ],
    [
      'a hang beside another below the same switch',
      hang('a'),
      { proposals: many(1, { switches: ['leaf-of-a'] }) },
      /^other gangs below switch leaf-of-a stand still too/,
    ],
    [
      'a hang beside six of fifty gangs',
      hang('a'),
      { proposals: many(6) },
      /^other gangs of the cluster stand still too/,
    ],
    [
      'a hang of all three of three gangs',
      hang('a'),
      { proposals: many(2, { switches: [], claims: [] }), gangs: team(3) },
      /of the cluster stand still/,
    ],
    [
      'a second hang of two gangs within the window',
      hang('b'),
      { granted: [granted('a')], gangs: team(2) },
      /as many gangs that hang/,
    ],
    [
      'a sixth hang of fifty gangs within the window',
      hang('z'),
      { granted: ['a', 'b', 'c', 'd', 'e'].map((job) => granted(job)) },
      /as many gangs that hang/,
    ],
    [
      'slow ranks of six of fifty gangs',
      hang('a', SLOW),
      { proposals: many(6, { cause: 'slow' }) },
      /have slow ranks too/,
    ],
    [
      'a slow rank that nothing can replace',
      hang('a', { ...SLOW, room: { neededGpus: 2, freeGpus: 1 } }),
      {},
      /keeps training with the slow rank/,
    ],
    [
      'a move without room',
      hang('a', { ...LEAVING, room: { neededGpus: 2, freeGpus: 0 } }),
      {},
      /keeps training until one has/,
    ],
    [
      'a move into room that another was granted',
      hang('b', LEAVING),
      { granted: [granted('a', { cause: 'leaving', neededGpus: 1 })] },
      /no other node has room/,
    ],
    [
      'a move beside growth that takes a single GPU of the last place',
      hang('b', { ...LEAVING, room: { neededGpus: 16, freeGpus: 16 } }),
      { granted: [granted('a', { cause: 'growth', neededGpus: 1 })] },
      /no other node has room/,
    ],
    [
      'growth into GPUs that a move of two pods of eight was granted',
      hang('b', { cause: 'growth', nodes: [], room: { neededGpus: 8, freeGpus: 20 } }),
      { granted: [granted('a', { cause: 'leaving', neededGpus: 16 })] },
      /about to be used by other gangs/,
    ],
    [
      'a move that an administrator asked for, beyond half of all gangs within the window',
      hang('z', { ...LEAVING, isRequested: true }),
      { granted: ['a', 'b'].map((job) => granted(job, { cause: 'leaving' })), gangs: team(4) },
      /whose nodes go away/,
    ],
    [
      'moves without room of all gangs, which save only at their end',
      hang('a', { ...LEAVING, room: { neededGpus: 2, freeGpus: 0 }, savesOnlyAtEnd: true }),
      { proposals: many(3, { cause: 'leaving' }), gangs: team(4) },
      /keeps training until one has/,
    ],
    [
      'a claim after the gangs of a quarter of the cluster have made room',
      hang('z', { cause: 'room' }),
      { granted: ['a', 'b'].map((job) => granted(job, { cause: 'room' })), gangs: team(8) },
      /to make room for others/,
    ],
    [
      'growth beside another',
      hang('b', { cause: 'growth', nodes: [] }),
      { granted: [granted('a', { cause: 'growth' })], gangs: team(5) },
      /that grow/,
    ],
  ])('is held: %s', (_what, proposal, inSight, why) => {
    const answer = ruling(proposal, inSight);
    expect(answer).toMatchObject({ kind: 'held', why: expect.stringMatching(why) });
  });

  /** Ten gangs in each of ten namespaces. */
  const TEN = new Map(Array.from({ length: 10 }, (_, at) => [at === 0 ? 'team' : `team-${at}`, 10]));
  const ofTeams = (count: number): readonly JobProposal[] =>
    many(count).map((one, at) => ({ ...one, namespace: `team-${1 + (at % 9)}` }));

  it.each<[string, Partial<EndsInSight>, Ruling['kind']]>([
    ['is held if gangs of many namespaces stand still', { proposals: ofTeams(20) }, 'held'],
    [
      'is granted if all gangs of one other namespace stand still',
      { proposals: many(20, { namespace: 'team-1' }) },
      'granted',
    ],
    ['is held if the gangs of its own namespace do', { proposals: many(4) }, 'held'],
    [
      'is granted if one other namespace had its share',
      { granted: many(30).map(({ jobUid }) => granted(jobUid, { namespace: 'team-1' })) },
      'granted',
    ],
    ['is held if its own namespace had the share', { granted: many(30).map(({ jobUid }) => granted(jobUid)) }, 'held'],
  ])('of one of ten namespaces %s', (_what, inSight, kind) => {
    expect(ruling(hang('a'), { gangs: TEN, ...inSight }).kind).toBe(kind);
  });

  describe('with a common cause of ten minutes', () => {
    const beganAtMs = NOW_MS - 600_000;
    const proposals = many(40, { beganAtMs });
    const one = hang('a', { beganAtMs });
    const probeOf = 'moment of team';

    it('is held at first if the gang was restarted for it and stands still again, and never blames its node', () => {
      const restarted = granted('a', {
        blames: false,
        atMs: NOW_MS - 700_000,
        probe: { of: probeOf, hasTrained: true },
      });
      const again = hang('a', { run: 'e2i1' });
      expect(ruling(again, { granted: [restarted] })).toMatchObject({
        why: expect.stringMatching(/^it was restarted/),
      });
      expect(ruling({ ...again, beganAtMs }, { granted: [restarted] })).toMatchObject({
        kind: 'granted',
        blames: false,
      });
    });

    it('is granted to one gang, and blames no node', () => {
      expect(ruling(one, { proposals })).toEqual({ kind: 'granted', blames: false, probeOf });
    });

    it.each<[string, readonly GrantedEnd[], Ruling['kind']]>([
      [
        'until the gang that was restarted trains',
        [granted('b', { blames: false, probe: { of: probeOf, hasTrained: false } })],
        'held',
      ],
      [
        'no more once that gang trains',
        [
          granted('b', { probe: { of: probeOf, hasTrained: true } }),
          granted('c', { probe: { of: probeOf, hasTrained: false } }),
        ],
        'granted',
      ],
      [
        'no more after half an hour',
        [granted('b', { atMs: NOW_MS - 1_800_000, probe: { of: probeOf, hasTrained: false } })],
        'granted',
      ],
      [
        'not for a gang of another namespace',
        [granted('b', { probe: { of: 'moment of other', hasTrained: false } })],
        'granted',
      ],
      ['if the share of the window is spent', ['b', 'c', 'd', 'e', 'f'].map((job) => granted(job)), 'held'],
    ])('is held for the others, %s', (_what, ends, kind) => {
      expect(ruling(one, { proposals, granted: ends }).kind).toBe(kind);
    });
  });
});

import { aFabricNode } from '@coxswain/fabric/testing';
import { findNodes } from '@coxswain/fabric';
import { aLayout } from '@coxswain/layout/testing';
import fc from 'fast-check';
import type { GangRequest } from '../gang-request.ts';
import { DEFAULT_CLAIM_RULES } from './claim-rules.ts';
import type { ClaimChoice, ClaimQuestion, RunningGang } from './claim.ts';
import { chooseVictims } from './choose-victims.ts';
import { priceOf } from './price.ts';
import { usedWithout } from './scopes.ts';

const NOW = new Date('2026-01-02T00:00:00Z');
const hoursAgo = (hours: number): Date => new Date(NOW.getTime() - hours * 3_600_000);
const ofPods = (pods: number): GangRequest => ({ layout: aLayout({ dataParallelDegree: 8 * pods }), gpusPerNode: 8 });

/** A gang of whole nodes that has run for a day, saves when asked, and costs 240 s of its GPUs. */
function aGang(name: string, nodes: readonly string[], about: Partial<RunningGang> = {}): RunningGang {
  return {
    job: { uid: name, name, namespace: 'team' },
    epoch: 1,
    priority: 0,
    gpus: new Map(nodes.map((node) => [node, 8])),
    startedAt: hoursAgo(24),
    isStopping: false,
    graceSeconds: 60,
    savesWhenAsked: true,
    unsavedSeconds: 600,
    stallSeconds: 60,
    restartSeconds: 180,
    madeRoomFor: [],
    request: ofPods(nodes.length),
    smaller: [],
    ...about,
  };
}

interface Drawn {
  readonly islands?: readonly number[];
  readonly pods?: number;
  readonly gangs: readonly RunningGang[];
  readonly about?: Partial<ClaimQuestion>;
  readonly claimant?: Partial<ClaimQuestion['claimant']>;
}

/** A job of priority 1 that would start in ten hours, in islands of whole nodes of 8 GPUs: `a0`, `a1`, ..., `b0`, ... */
function aQuestion({ islands = [4], pods = 1, gangs, about = {}, claimant = {} }: Drawn): ClaimQuestion {
  const nodes = islands.flatMap((count, island) =>
    Array.from({ length: count }, (_, at) => {
      const name = `${'abc'[island] ?? ''}${at}`;
      return aFabricNode({ name, gpus: 8, island: `island-${island}` });
    }),
  );
  const usedGpus = new Map<string, number>();
  for (const { gpus } of gangs) for (const [name, count] of gpus) usedGpus.set(name, (usedGpus.get(name) ?? 0) + count);
  return {
    claimant: {
      job: { uid: 'urgent', name: 'urgent', namespace: 'team' },
      priority: 1,
      request: ofPods(pods),
      startWithout: hoursAgo(-10),
      ...claimant,
    },
    gangs,
    fabric: { fabric: { nodes } },
    usedGpus,
    standing: [],
    now: NOW,
    rules: DEFAULT_CLAIM_RULES,
    ...about,
  };
}

function namesOf(choice: ClaimChoice): readonly string[] {
  return choice.kind === 'none' ? [] : choice.victims.map(({ name }) => name).toSorted();
}

const four = ['a0', 'a1', 'a2', 'a3'];
const onEach = (about: (index: number) => Partial<RunningGang>): readonly RunningGang[] =>
  four.map((node, index) => aGang(`on-${node}`, [node], about(index)));

describe('of the gangs that may leave, those make room', () => {
  it.each<[string, Drawn, readonly string[]]>([
    [
      'that lose the least training',
      { gangs: onEach((index) => ({ savesWhenAsked: false, unsavedSeconds: 900 - 100 * index })) },
      ['on-a3'],
    ],
    [
      'that can save when asked',
      { gangs: onEach((index) => ({ savesWhenAsked: index === 2, unsavedSeconds: 1 + index })) },
      ['on-a2'],
    ],
    [
      'whose own next save is near, if none saves when asked',
      {
        gangs: onEach((index) => ({
          savesWhenAsked: false,
          nextSave: { seconds: index === 1 ? 60 : 700, afterStep: 5 },
        })),
      },
      ['on-a1'],
    ],
    ['that start again sooner', { gangs: onEach((index) => ({ restartSeconds: index === 1 ? 60 : 300 })) }, ['on-a1']],
    [
      'that made room less often today, although their start takes longer',
      { gangs: onEach((index) => ({ restartSeconds: index === 3 ? 400 : 180, madeRoomFor: index === 3 ? [] : [1] })) },
      ['on-a3'],
    ],
    [
      'that are one gang instead of two of the same price',
      {
        pods: 2,
        gangs: [
          aGang('one', ['a0']),
          aGang('two', ['a1']),
          aGang('both', ['a2', 'a3'], { stallSeconds: 60, restartSeconds: 180 }),
        ],
      },
      ['both'],
    ],
    [
      'in the island that holds the whole gang',
      {
        islands: [3, 2],
        pods: 2,
        gangs: [
          aGang('keeps', ['a0', 'a1'], { priority: 1 }),
          aGang('cheap', ['a2'], { restartSeconds: 1 }),
          aGang('left', ['b0']),
          aGang('right', ['b1']),
        ],
      },
      ['left', 'right'],
    ],
    [
      'that leave the most GPUs together, of equal prices and numbers',
      {
        islands: [2, 3],
        pods: 2,
        gangs: [
          aGang('half', ['a0'], { restartSeconds: 420 }),
          aGang('whole', ['b0', 'b1', 'b2'], { restartSeconds: 100 }),
        ],
      },
      ['whole'],
    ],
    ['beside what is free', { pods: 2, gangs: [aGang('wide', ['a0', 'a1']), aGang('small', ['a2'])] }, ['small']],
  ])('%s', (_sentence, drawn, want) => {
    expect(namesOf(chooseVictims(aQuestion(drawn)))).toEqual(want);
  });

  it('with the price of each, what is lost, and the time in which they have to stop', () => {
    const gang = aGang('slow', four, { savesWhenAsked: false, graceSeconds: 3_600, madeRoomFor: [2] });
    expect(chooseVictims(aQuestion({ gangs: [gang] }))).toEqual({
      kind: 'claim',
      placement: { nodes: ['a0'], ranksPerPod: 8 },
      victims: [
        {
          namespace: 'team',
          name: 'slow',
          uid: 'slow',
          epoch: 1,
          wayOut: 'Wait',
          priceGpuSeconds: 32 * (60 + 180 + 600) * 2,
          lostSeconds: 600,
          savesWhenAsked: false,
          deadlineSeconds: 900,
        },
      ],
      gainGpuSeconds: 8 * (36_000 - 900),
      expiresAfterSeconds: 900 + 300,
    });
  });
});

describe('a gang that saves by its own count of steps', () => {
  const asks = (seconds: number, pods: number): ClaimChoice => {
    const nextSave = { seconds, afterStep: 5 };
    return chooseVictims(aQuestion({ pods, gangs: [aGang('slow', four, { savesWhenAsked: false, nextSave })] }));
  };

  it.each<[string, ClaimChoice, object]>([
    ['stops after its next save', asks(60, 1), { lostSeconds: 0, waitsForSave: { seconds: 60, afterStep: 5 } }],
    ['does not wait longer than for a save that is asked for', asks(601, 1), { lostSeconds: 600 }],
    ['does not wait if that costs the other job more', asks(600, 4), { lostSeconds: 600 }],
  ])('%s', (_what, choice, victim) => {
    expect(choice).toMatchObject({ victims: [victim] });
    if (!('waitsForSave' in victim)) expect(JSON.stringify(choice)).not.toContain('waitsForSave');
  });
});

describe('a gang that has returned', () => {
  it.each<[string, Partial<RunningGang>, readonly string[]]>([
    ['does not make room for the same job at once', { lastMadeRoomFor: 'urgent', startedAt: hoursAgo(0.2) }, []],
    ['may make room for another job', { lastMadeRoomFor: 'other', startedAt: hoursAgo(0.2) }, ['back']],
    ['may make room for the same job later', { lastMadeRoomFor: 'urgent', startedAt: hoursAgo(0.3) }, ['back']],
  ])('%s, where no time of protection is stated', (_what, about, names) => {
    const rules = { ...DEFAULT_CLAIM_RULES, leastProtectedSeconds: 0, protectedStarts: 0 };
    const question = aQuestion({ gangs: [aGang('back', four, about)], about: { rules } });
    expect(namesOf(chooseVictims(question))).toEqual(names);
  });
});

describe('a gang goes on', () => {
  const elastic = { smaller: [4, 2, 1].map((pods) => ({ gpus: 8 * pods, request: ofPods(pods) })) };
  it.each<[string, Drawn, readonly unknown[]]>([
    [
      'elsewhere, if other nodes hold all of it',
      {
        islands: [2, 2],
        pods: 2,
        gangs: [aGang('moves', ['a0'], { restartSeconds: 1 }), aGang('stays', ['b0'])],
      },
      [['moves', 'Move', undefined]],
    ],
    [
      'on fewer GPUs, if it accepts them and they are left',
      { pods: 2, gangs: [aGang('shrinks', four, elastic)] },
      [['shrinks', 'Shrink', 16]],
    ],
    [
      'in line, if no size that it accepts is left',
      { pods: 4, gangs: [aGang('waits', four, elastic)] },
      [['waits', 'Wait', undefined]],
    ],
    ['in line, if it is not elastic', { pods: 2, gangs: [aGang('waits', four)] }, [['waits', 'Wait', undefined]]],
    [
      'on what is left by those of a higher priority, which choose first',
      {
        islands: [5],
        pods: 4,
        gangs: [
          aGang('low', ['a0', 'a1'], { ...elastic, priority: -1 }),
          aGang('higher', ['a2', 'a3', 'a4'], { ...elastic, priority: 0 }),
        ],
      },
      [
        ['higher', 'Shrink', 8],
        ['low', 'Wait', undefined],
      ],
    ],
  ])('%s', (_sentence, drawn, want) => {
    const choice = chooseVictims(aQuestion(drawn));
    const ways =
      choice.kind === 'claim' ? choice.victims.map(({ name, wayOut, toGpus }) => [name, wayOut, toGpus]) : choice;
    expect(ways).toEqual(want);
  });
});

describe('no job makes room', () => {
  const standing = (job: string, victim: string): ClaimQuestion['standing'] => [
    {
      job: { uid: job, name: job, namespace: 'team' },
      priority: 1,
      epoch: 1,
      victims: [{ uid: victim, epoch: 1 }],
      gpus: new Map(),
    },
  ];
  const all = (about: Partial<RunningGang>): readonly RunningGang[] => [aGang('only', four, about)];
  it.each<[string, Drawn, string]>([
    ['for a job of the same priority', { gangs: all({ priority: 1 }) }, 'of 1 running job 1 has no lower priority.'],
    ['while it already stops', { gangs: all({ isStopping: true }) }, 'of 1 running job 1 stops already.'],
    [
      'for two jobs at once',
      { gangs: all({}), about: { standing: standing('other', 'only') } },
      'of 1 running job 1 already makes room for another job.',
    ],
    [
      'in the first 15 min of its run',
      { gangs: all({ startedAt: hoursAgo(0.24), stallSeconds: 1, restartSeconds: 1 }) },
      'of 1 running job 1 started too recently to be stopped again.',
    ],
    [
      'in the first ten times of what its save and start take',
      { gangs: all({ startedAt: hoursAgo(0.66) }) },
      'of 1 running job 1 started too recently to be stopped again.',
    ],
    [
      'four times a day for the same priority',
      { gangs: all({ madeRoomFor: [1, 0, 0] }) },
      'of 1 running job 1 made room too often today.',
    ],
    [
      'while others do for the same job',
      { gangs: all({}), about: { standing: standing('urgent', 'other') } },
      'other jobs make room for it already.',
    ],
    [
      'if the job is not first in line',
      { gangs: all({}), claimant: { startWithout: undefined } },
      'nodes are held for another job of its priority first, and only for the first in line jobs make room.',
    ],
    ['where none runs', { gangs: [], pods: 5 }, 'no other job runs.'],
    [
      'if that would not be enough',
      { gangs: [...all({}), aGang('beside', ['a3'], { priority: 1 })], pods: 4 },
      'even without the only job that could stop, no nodes would be free for it (of the others 1 has no lower priority).',
    ],
    [
      'if it loses more than the other gains',
      { gangs: all({}), claimant: { startWithout: hoursAgo(-0.25) } },
      'stopping 1 job of lower priority would cost 2.1 GPU hours, and its earlier start would gain 1.7.',
    ],
    [
      'beside other claims, if they take more than a tenth of the GPUs together',
      {
        gangs: [aGang('one', ['a0', 'a1', 'a2']), aGang('asked', ['a3'])],
        about: { standing: standing('other', 'asked') },
      },
      'other jobs make room already, and together they may give up at most 10 % of the GPUs.',
    ],
    [
      'if too many had to',
      { gangs: onEach(() => ({})), pods: 4, about: { rules: { ...DEFAULT_CLAIM_RULES, mostVictims: 3 } } },
      'more than 3 jobs would have to stop.',
    ],
  ])('%s', (_sentence, drawn, want) => {
    expect(chooseVictims(aQuestion(drawn))).toEqual({ kind: 'none', reason: `No job makes room: ${want}` });
  });

  it.each<[string, Partial<RunningGang>]>([
    ['after the first 15 min of its run', { startedAt: hoursAgo(0.26), stallSeconds: 1, restartSeconds: 1 }],
    ['four times a day for a higher priority than before', { madeRoomFor: [0, 0, 0] }],
  ])('but one does %s', (_sentence, about) => {
    expect(namesOf(chooseVictims(aQuestion({ gangs: all(about) })))).toEqual(['only']);
  });
});

describe('in every small cluster', () => {
  const aDrawnGang = fc.record({
    pods: fc.integer({ min: 1, max: 4 }),
    priority: fc.constantFrom(0, 0, 0, 1),
    restartSeconds: fc.integer({ min: 0, max: 600 }),
    savesWhenAsked: fc.boolean(),
    unsavedSeconds: fc.nat(1_000),
  });
  const aCluster = fc.record({
    islands: fc.array(fc.integer({ min: 2, max: 9 }), { minLength: 1, maxLength: 2 }),
    gangs: fc.array(aDrawnGang, { minLength: 3, maxLength: 7 }),
    pods: fc.integer({ min: 2, max: 6 }),
    free: fc.array(fc.constantFrom(0, 0, 0, 1), { maxLength: 7 }),
  });
  /** Each gang in turn takes the next nodes, and leaves some free after it. */
  const question = ({
    islands,
    gangs,
    pods,
    free,
  }: typeof aCluster extends fc.Arbitrary<infer T> ? T : never): ClaimQuestion => {
    const names = islands.flatMap((count, island) =>
      Array.from({ length: count }, (_, at) => `${'abc'[island] ?? ''}${at}`),
    );
    let next = 0;
    const placed = gangs.flatMap(({ pods: wants, ...about }, index) => {
      const nodes = names.slice(next, next + wants);
      next += wants + (free[index] ?? 0);
      return nodes.length < wants ? [] : [aGang(`g${index}`, nodes, about)];
    });
    return aQuestion({ islands, pods, gangs: placed });
  };
  const subsets = (gangs: readonly RunningGang[]): readonly (readonly RunningGang[])[] =>
    gangs.reduce<readonly (readonly RunningGang[])[]>(
      (sets, gang) => [...sets, ...sets.map((set) => [...set, gang])],
      [[]],
    );

  it('no set of gangs of lower priority that leaves room is cheaper, and none of the same price is smaller', () => {
    let claims = 0;
    fc.assert(
      fc.property(aCluster, (drawn) => {
        const asked = question(drawn);
        const { request } = asked.claimant;
        const fits = (set: readonly RunningGang[]): boolean =>
          findNodes(request, { ...asked.fabric, usedGpus: usedWithout(asked.usedGpus, set) }) !== undefined;
        fc.pre(!fits([]));
        const price = (set: readonly RunningGang[]): number => set.reduce((sum, gang) => sum + priceOf(gang), 0);
        const enough = subsets(asked.gangs.filter(({ priority }) => priority < 1)).filter(fits);
        const least = enough.toSorted((one, other) => price(one) - price(other) || one.length - other.length)[0];
        const choice = chooseVictims(asked);
        expect(choice.kind).toBe(least === undefined ? 'none' : 'claim');
        if (choice.kind === 'none' || least === undefined) return;
        claims += 1;
        expect(choice.victims.reduce((sum, { priceGpuSeconds }) => sum + priceGpuSeconds, 0)).toBeCloseTo(
          price(least),
          3,
        );
        expect(choice.victims).toHaveLength(least.length);
        const chosen = asked.gangs.filter(({ job }) => choice.victims.some(({ uid }) => uid === job.uid));
        const used = usedWithout(asked.usedGpus, chosen);
        for (const name of choice.placement.nodes) expect(used.get(name) ?? 0).toBe(0);
      }),
      { numRuns: 150 },
    );
    expect(claims).toBeGreaterThan(30);
  });
});

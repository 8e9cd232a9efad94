import type { FabricNode } from '@coxswain/fabric';
import { aFabricNode } from '@coxswain/fabric/testing';
import type { EndBasis } from '@coxswain/api-types';
import { derivePromises, MAX_PROMISES, promisesOf } from './derive-promises.ts';
import type { NodePromise } from './node-promise.ts';
import type { Holder, PromiseInput, WaitingGang } from './promise-input.ts';

const MINUTE = 60_000;
const NOW = Date.parse('2026-01-01T00:00:00Z');
const after = (minutes: number): Date => new Date(NOW + minutes * MINUTE);

/** Nodes n0, n1, ... of eight GPUs under one leaf switch. */
function nodes(count: number, changes: (at: number) => Partial<FabricNode> = () => ({})): readonly FabricNode[] {
  return Array.from({ length: count }, (_, at) => aFabricNode({ name: `n${at}`, ...changes(at) }));
}

function aGang(name: string, pods: number, facts: Partial<WaitingGang> & { namespace?: string } = {}): WaitingGang {
  const { namespace = 'x', ...rest } = facts;
  const layout = { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 8 * pods };
  return {
    job: { uid: name, name, namespace },
    priority: 0,
    pool: '',
    request: { layout, gpusPerNode: 8 },
    requestKey: `${pods}`,
    ...rest,
  };
}

/** A job on whole nodes that is predicted to end after so many minutes. */
function onNodes(name: string, names: readonly string[], minutes: number, basis: EndBasis = 'Measured'): Holder {
  const at = after(minutes);
  return {
    job: { uid: name, name, namespace: 'x' },
    gpus: new Map(names.map((node) => [node, 8])),
    end: { at, earliest: at, ...(basis === 'Assumed' ? {} : { latest: after(minutes + 5) }), restsOn: basis },
  };
}

function input(parts: {
  readonly nodes: readonly FabricNode[];
  readonly waiting: readonly WaitingGang[];
  readonly holders?: readonly Holder[];
  readonly kept?: readonly NodePromise[];
  readonly strangers?: Readonly<Record<string, number>>;
  readonly minutes?: number;
}): PromiseInput {
  const { holders = [], kept = [], waiting, strangers = {}, minutes = 0 } = parts;
  const usedGpus = new Map(Object.entries(strangers));
  for (const { gpus } of holders)
    for (const [name, count] of gpus) usedGpus.set(name, (usedGpus.get(name) ?? 0) + count);
  return {
    waiting,
    holders,
    kept,
    usedGpus,
    withClosed: (used) => used,
    capacityOf: () => ({ fabric: { nodes: parts.nodes } }),
    now: after(minutes),
  };
}

function raise(): never {
  throw new Error('nothing is promised');
}

const shown = (promises: readonly NodePromise[]): readonly unknown[] =>
  promises.map(({ job, gpus, start }) => [
    job.name,
    [...gpus.keys()].sort().join(' '),
    (start.getTime() - NOW) / MINUTE,
  ]);

describe('nodes are promised to', () => {
  const full = [onNodes('a', ['n0', 'n1'], 10), onNodes('b', ['n2'], 20), onNodes('c', ['n3'], 30)];
  it.each<[string, PromiseInput, readonly unknown[]]>([
    ['no job, while none waits', input({ nodes: nodes(4), waiting: [], holders: full }), []],
    [
      'the first in line, from the earliest end at which it fits',
      input({ nodes: nodes(4), waiting: [aGang('big', 3), aGang('next', 1)], holders: full }),
      [['big', 'n0 n1 n2', 20]],
    ],
    [
      'nodes that are free already, together with nodes that will be',
      input({ nodes: nodes(5), waiting: [aGang('big', 3)], holders: full }),
      [['big', 'n0 n1 n4', 10]],
    ],
    [
      'the first of each priority, beside the nodes of higher ones',
      input({
        nodes: nodes(4),
        waiting: [aGang('urgent', 2, { priority: 9 }), aGang('usual', 1), aGang('other', 1)],
        holders: full,
      }),
      [
        ['urgent', 'n0 n1', 10],
        ['usual', 'n2', 20],
      ],
    ],
    [
      'the first of each kind of GPU',
      input({
        nodes: nodes(4),
        waiting: [aGang('big', 2, { pool: 'h100' }), aGang('small', 1, { pool: 'a100' })],
        holders: full,
      }),
      [
        ['big', 'n0 n1', 10],
        ['small', 'n2', 20],
      ],
    ],
    [
      'the next one, where the first would not fit if all jobs ended',
      input({ nodes: nodes(4), waiting: [aGang('huge', 5), aGang('big', 4)], holders: full }),
      [['big', 'n0 n1 n2 n3', 30]],
    ],
    [
      'no job, where other pods use the nodes',
      input({ nodes: nodes(2), waiting: [aGang('big', 2)], strangers: { n0: 1 } }),
      [],
    ],
    [
      'the gang that fits when two islands have merged no capacity: one island must hold it',
      input({
        nodes: nodes(4, (at) => ({ island: at < 2 ? 'left' : 'right' })),
        waiting: [aGang('big', 2)],
        holders: [
          onNodes('a', ['n0'], 10),
          onNodes('b', ['n2'], 20),
          onNodes('c', ['n1'], 40),
          onNodes('d', ['n3'], 30),
        ],
      }),
      [['big', 'n2 n3', 30]],
    ],
    [
      'no more jobs than the limit',
      input({
        nodes: nodes(20),
        waiting: Array.from({ length: 20 }, (_, at) => aGang(`j${at}`, 1, { priority: -at })),
        holders: [
          onNodes(
            'a',
            nodes(20).map(({ name }) => name),
            10,
          ),
        ],
      }),
      Array.from({ length: MAX_PROMISES }, (_, at) => [`j${at}`, expect.stringMatching(/^n\d+$/), 10]),
    ],
  ])('%s', (_sentence, about, want) => {
    expect(shown(promisesOf(about))).toEqual(want);
  });
});

describe('what is promised', () => {
  const [big, waiting] = [aGang('big', 2), [aGang('big', 2)]];
  const before = (): readonly NodePromise[] =>
    promisesOf(
      input({ nodes: nodes(4), waiting, holders: [onNodes('a', ['n0', 'n1'], 10), onNodes('b', ['n2', 'n3'], 30)] }),
    );
  it.each<[string, Omit<Parameters<typeof input>[0], 'waiting' | 'kept'>, unknown]>([
    [
      'keeps its nodes while others are free no earlier',
      { nodes: nodes(4), holders: [onNodes('a', ['n0', 'n1'], 10), onNodes('b', ['n2', 'n3'], 10)] },
      { nodes: 'n0 n1', start: 10 },
    ],
    [
      'changes to nodes that are free earlier',
      { nodes: nodes(4), holders: [onNodes('a', ['n0', 'n1'], 10), onNodes('b', ['n2', 'n3'], 5)] },
      { nodes: 'n2 n3', start: 5 },
    ],
    [
      'moves when a job on its nodes runs over, and names it',
      { nodes: nodes(4), holders: [onNodes('a', ['n0', 'n1'], 25), onNodes('b', ['n2', 'n3'], 30)] },
      { nodes: 'n0 n1', start: 25, moved: 'Job "a" runs longer than was predicted.' },
    ],
    [
      'moves when a node of it is lost, and names the node',
      {
        nodes: nodes(4, (at) => ({ usable: at !== 1 })),
        holders: [onNodes('a', ['n0', 'n1'], 10), onNodes('b', ['n2', 'n3'], 30)],
      },
      { nodes: 'n0 n2', start: 30, moved: 'Node n1, which was held for this job, cannot be used any more.' },
    ],
    [
      'moves when pods of others take a node',
      { nodes: nodes(4), holders: [onNodes('b', ['n2', 'n3'], 30)], strangers: { n1: 8 } },
      { nodes: 'n0 n2', start: 30, moved: 'Other pods use nodes that were held for this job.' },
    ],
  ])('%s', (_sentence, now, want) => {
    const kept = before();
    const [promise] = promisesOf(input({ ...now, waiting, kept }));
    const { gpus, start, moved, firstStart, promisedAt } = promise ?? raise();
    expect({
      nodes: [...gpus.keys()].sort().join(' '),
      start: (start.getTime() - NOW) / MINUTE,
      ...(moved === undefined ? {} : { moved }),
    }).toEqual(want);
    expect([firstStart, promisedAt]).toEqual([after(10), after(0)]);
  });

  it('is made anew for another request of the job', () => {
    const holders = [onNodes('a', ['n0', 'n1'], 10), onNodes('b', ['n2', 'n3'], 30)];
    const other = { ...big, requestKey: 'other' };
    const [promise] = promisesOf(input({ nodes: nodes(4), waiting: [other], holders, kept: before(), minutes: 1 }));
    expect(promise?.promisedAt).toEqual(after(1));
  });

  it('rests on the end that it waits for longest, or on nothing if the end of any job is unknown', () => {
    const of = (basis: EndBasis): unknown => {
      const holders = [onNodes('a', ['n0'], 10, basis), onNodes('b', ['n1'], 20, 'Predicted')];
      const [promise] = promisesOf(input({ nodes: nodes(2), waiting, holders }));
      return [promise?.restsOn, promise?.latest];
    };
    expect([of('Measured'), of('Assumed')]).toEqual([
      ['Predicted', after(25)],
      ['Assumed', undefined],
    ]);
  });

  it('names no job of another project', () => {
    const kept = before();
    const [late] = [onNodes('a', ['n0', 'n1'], 25)].map((holder) => ({
      ...holder,
      job: { ...holder.job, namespace: 'y' },
    }));
    const [promise] = promisesOf(input({ nodes: nodes(2), waiting, kept, holders: late === undefined ? [] : [late] }));
    expect(promise?.moved).toBe('A job of another project runs longer than was predicted.');
  });
});

it('a derivation pauses before and after each pass for each kind of GPU, so that no stretch of it grows with their number', () => {
  const waiting = ['a', 'b', 'c'].map((pool) => aGang(pool, 9, { pool, requestKey: pool }));
  const deriving = derivePromises(input({ nodes: nodes(4), waiting }));
  const yielded: unknown[] = [];
  for (let step = deriving.next(); step.done !== true; step = deriving.next()) yielded.push(step.value);
  expect(yielded.filter((one) => one === 'pause')).toHaveLength(9);
});

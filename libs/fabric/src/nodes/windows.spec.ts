import type { FabricWindow } from '@coxswain/api-types';
import { windowInTheWay, windowProblems, windowsOfNode } from './windows.ts';

const FROM = '2026-12-01T22:00:00Z';
const node = { name: 'gpu-1', labels: { rack: 'r1' } };
const window = (rest: Partial<FabricWindow> = {}): FabricWindow => ({
  name: 'firmware',
  nodes: ['gpu-1'],
  from: FROM,
  until: '2026-12-02T04:00:00Z',
  ...rest,
});
const at = (text: string): number => Date.parse(text);

describe('a window of the Fabric', () => {
  it.each<[string, Partial<FabricWindow>, boolean]>([
    ['lies over a node that it names', {}, true],
    ['does not lie over another one', { nodes: ['gpu-2'] }, false],
    ['lies over a node whose labels it selects', { nodes: undefined, nodeSelector: { rack: 'r1' } }, true],
    ['does not lie over a node that only its names fit', { nodeSelector: { rack: 'r2' } }, false],
  ])('%s', (_sentence, rest, want) => {
    expect(windowsOfNode(node, [window(rest)]).length).toBe(want ? 1 : 0);
  });

  it.each<[string, Partial<FabricWindow>, { now: string; end?: string; namespace?: string }, boolean]>([
    ['lets a job in that ends before it', {}, { now: '2026-12-01T12:00:00Z', end: '2026-12-01T21:00:00Z' }, false],
    ['keeps a job out that would still run', {}, { now: '2026-12-01T12:00:00Z', end: '2026-12-01T22:30:00Z' }, true],
    ['keeps a job out whose end is unknown', {}, { now: '2026-12-01T12:00:00Z' }, true],
    ['lets every job in until a day before', {}, { now: '2026-11-30T21:59:00Z' }, false],
    ['lets every job in for as long as it says', { heldForSeconds: 3_600 }, { now: '2026-12-01T20:00:00Z' }, false],
    [
      'keeps every job out while gangs leave for it',
      { heldForSeconds: 0 },
      { now: '2026-12-01T21:50:00Z', end: '2026-12-01T21:55:00Z' },
      true,
    ],
    ['keeps every job out while it is open', {}, { now: '2026-12-02T03:00:00Z', end: '2026-12-02T03:30:00Z' }, true],
    ['lets every job in after it', {}, { now: '2026-12-02T04:00:00Z' }, false],
    [
      'lets jobs of its project in',
      { namespace: 'team-a' },
      { now: '2026-12-01T23:00:00Z', namespace: 'team-a' },
      false,
    ],
    ['keeps jobs of others out', { namespace: 'team-a' }, { now: '2026-12-01T23:00:00Z', namespace: 'team-b' }, true],
  ])('%s', (_sentence, rest, { now, end, namespace = 'team-b' }, want) => {
    const stay = { namespace, nowMs: at(now), endMs: end === undefined ? Infinity : at(end) };
    expect(windowInTheWay(windowsOfNode(node, [window(rest)]), stay) !== undefined).toBe(want);
  });

  it('is not hidden by an earlier one that lets the job in', () => {
    const windows = [
      window({ name: 'theirs', namespace: 'team-b' }),
      window({ name: 'ours', from: '2026-12-01T23:00:00Z' }),
    ];
    const stay = { namespace: 'team-b', nowMs: at('2026-12-01T22:50:00Z'), endMs: Infinity };
    expect(windowInTheWay(windowsOfNode(node, windows), stay)?.name).toBe('ours');
  });
});

/** Kinds of the problems of these windows over gpu-1 and gpu-2, an hour before they open. */
function problemsOf(windows: readonly FabricWindow[], now = '2026-12-01T21:00:00Z'): readonly string[] {
  const nodes = [node, { name: 'gpu-2', labels: {} }];
  const byNode = new Map(nodes.map((one) => [one.name, windowsOfNode(one, windows)]));
  return windowProblems(windows, byNode, at(now)).map(({ kind }) => kind);
}

describe('windows of the Fabric are a problem where they', () => {
  it.each<[string, readonly FabricWindow[], readonly string[]]>([
    ['select no node', [window({ nodes: ['gpu-9'] })], ['WindowWithoutNodes']],
    [
      'keep jobs of both projects out',
      [window({ namespace: 'a' }), window({ name: 'other', namespace: 'b' })],
      ['WindowsOverlap'],
    ],
    [
      'repair a node in the time of a project',
      [window(), window({ name: 'other', namespace: 'b' })],
      ['WindowsOverlap'],
    ],
  ])('%s', (_sentence, windows, want) => {
    expect(problemsOf(windows)).toEqual(want);
  });

  it.each<[string, readonly FabricWindow[]]>([
    ['overlap for one purpose', [window(), window({ name: 'other' })]],
    [
      'follow each other',
      [
        window(),
        window({ name: 'other', namespace: 'b', from: '2026-12-02T04:00:00Z', until: '2026-12-03T00:00:00Z' }),
      ],
    ],
    ['lie over different nodes', [window(), window({ name: 'other', namespace: 'b', nodes: ['gpu-2'] })]],
  ])('not where they %s', (_sentence, windows) => {
    expect(problemsOf(windows)).toEqual([]);
  });

  it('not once they are over', () => {
    const windows = [
      window({ nodes: ['gpu-9'] }),
      window({ name: 'other' }),
      window({ name: 'third', namespace: 'b' }),
    ];
    expect([problemsOf(windows).length, problemsOf(windows, '2026-12-02T04:00:00Z')]).toEqual([2, []]);
  });
});

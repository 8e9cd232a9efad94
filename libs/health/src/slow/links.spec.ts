import { gangOf } from '../gang/gang.ts';
import { HEALTH_SETTINGS } from '../settings.ts';
import { linkWindow } from './links.ts';

const MEMBERS = 2;
/** Six groups of two ranks. */
const gang = gangOf({
  kind: 'header',
  version: 1,
  layout: { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 12 },
  nodes: [],
  reportEveryMs: 5_000,
});
for (let group = 0; group < 6; group += 1) {
  gang.declare({
    kind: 'group',
    group: `data-${group}`,
    name: 'data',
    ranks: `${MEMBERS * group}-${MEMBERS * group + 1}`,
  });
}

/** What ranks of whom nobody is silent, or those that are left, say of a minute: the second of each group comes last, and waits for nobody. */
function collectives(silent: readonly number[], transferMs: (group: number) => number) {
  const ranks = Array.from({ length: 6 * MEMBERS }, (_, rank) => rank).filter((rank) => !silent.includes(rank));
  return {
    kind: 'collectives' as const,
    atMs: 0,
    ranks: ranks.map((rank) => {
      const group = Math.floor(rank / MEMBERS);
      const medianMs = transferMs(group) + (rank % MEMBERS === 0 ? 50 : 0);
      return {
        rank,
        groups: [{ group: `data-${group}`, operation: 'all_reduce', bytes: 1e6, count: 10, medianMs, maxMs: medianMs }],
      };
    }),
  };
}

describe('groups that need longer than their peers', () => {
  const usual = (): number => 10;
  it.each<[string, readonly number[], (group: number) => number, readonly string[]]>([
    ['are found', [], (group) => (group === 2 ? 30 : 10), ['data-2']],
    ['are none where all are alike', [], usual, []],
    ['are none where whoever came last was not heard', [5], usual, []],
    ['are found though somebody of another was not heard', [5], (group) => (group === 4 ? 30 : 10), ['data-4']],
  ])('%s', (_sentence, silent, transferMs, want) => {
    const window = linkWindow(gang, HEALTH_SETTINGS);
    const close = () => window.close(() => false).map(({ group }) => group);
    window.add(collectives([], usual));
    close();
    window.add(collectives(silent, transferMs));
    expect(close()).toEqual(want);
  });

  it('are found where one member alone ever tells of its group', () => {
    const window = linkWindow(gang, HEALTH_SETTINGS);
    const evens = [0, 2, 4, 6, 8, 10];
    window.add(collectives(evens, (group) => (group === 2 ? 30 : 10)));
    expect(window.close(() => false).map(({ group }) => group)).toEqual(['data-2']);
  });
});

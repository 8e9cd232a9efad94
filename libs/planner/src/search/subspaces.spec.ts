import { aCluster, aSpace } from '../testing/runs.ts';
import { denseMeshesOf, pipelineChoicesOf, stateChoicesOf, type DenseMesh } from '../space/search-space.ts';
import { Subspaces } from './subspaces.ts';

const SPACES = [
  aSpace(),
  aSpace({ cluster: aCluster(16, { gpusPerNode: 4, scaleUpDomainGpus: 4 }), flashAttention: false }),
  aSpace({ pinned: { recompute: 'half' }, allow: { zeroStages: [0, 3], offload: false } }),
  aSpace({ pinned: { shardGroup: 2 } }),
  aSpace({ allow: { evenOnly: true, schedules: ['1f1b', 'interleaved-1f1b'] } }),
];
const meshesOf = (space: (typeof SPACES)[number]): readonly DenseMesh[] => [
  ...denseMeshesOf(space, (_mesh, [first]) => first ?? 'ring'),
];

describe.each(SPACES.map((space, index) => [index + 1, space] as const))(
  'the subspaces of space %i',
  (_index, space) => {
    it('hold each choice of states and each pipeline of their mesh once, under its number in the list of the space', () => {
      const subspaces = new Subspaces(space);
      for (const mesh of meshesOf(space)) {
        const { groups, schedules, pipelines, size } = subspaces.of(mesh);
        const [states, all] = [stateChoicesOf(space, mesh), pipelineChoicesOf(space, mesh)];
        const members = groups.flatMap((group) => group.members).sort((a, b) => a.index - b.index);
        const numbered = schedules.flatMap((schedule) => schedule.pipelines).sort((a, b) => a.index - b.index);
        const plain = (places: readonly { readonly choice: unknown; readonly index: number }[]) =>
          places.map(({ choice, index }) => ({ choice, index }));
        expect(plain(members)).toEqual(states.map((choice, index) => ({ choice, index })));
        expect(plain(numbered)).toEqual(all.map((choice, index) => ({ choice, index })));
        expect([pipelines, size]).toEqual([all.length, states.length * all.length]);
      }
    });

    it('group pipelines of one schedule with as many chunks', () => {
      const subspaces = new Subspaces(space);
      for (const mesh of meshesOf(space)) {
        const { schedules } = subspaces.of(mesh);
        const names = schedules.map(({ schedule, chunks }) => `${schedule} of ${chunks}`);
        expect(new Set(names).size).toBe(names.length);
        for (const { schedule, chunks, pipelines } of schedules) {
          expect(pipelines.every(({ choice }) => choice.schedule === schedule && choice.chunks === chunks)).toBe(true);
        }
      }
    });
  },
);

describe('subspaces', () => {
  it('are one object for meshes with the same choices, and several in all', () => {
    const [space] = SPACES;
    if (space === undefined) throw new Error('no space');
    const subspaces = new Subspaces(space);
    const meshes = meshesOf(space);
    const distinct = new Set(meshes.map((mesh) => subspaces.of(mesh)));
    expect(distinct.size).toBeGreaterThan(1);
    expect(distinct.size).toBeLessThan(meshes.length / 2);
  });
});

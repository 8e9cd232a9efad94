import type { CandidateLayout, ClusterFacts } from '../facts.ts';
import { gpuOf } from '../presets/index.ts';
import { aCluster, aRun } from '../testing/runs.ts';
import { islandsOfRanks, meanOverGpus, relativeSpeedsOf, wholeStagesOfIslands } from './islands.ts';

const island = (gpus: number, relativeSpeed = 1) =>
  ({ gpus, relativeSpeed, scaleOutGbPerS: 50, nicKind: 'infiniband' }) as const;

const onIslands = (
  candidate: Partial<CandidateLayout>,
  islands: ClusterFacts['islands'] & {},
  whole: Pick<ClusterFacts, 'stagesInOneIsland'> = {},
) => {
  const run = aRun({ candidate });
  return { ...run, cluster: aCluster(run.cluster.gpus, { islands, ...whole }) };
};

describe('the islands of a pipeline rank', () => {
  const sizes = [4, 8, 4];
  it.each<[string, Partial<CandidateLayout>, number, readonly number[]]>([
    ['the first one holds the first stage', { pipeline: 4, data: 4 }, 0, [0]],
    ['stages that end where an island does lie in that one', { pipeline: 4, data: 4 }, 2, [1]],
    ['the last one holds the last stage', { pipeline: 4, data: 4 }, 3, [2]],
    ['a stage that an island does not hold lies in two', { pipeline: 2, data: 8 }, 0, [0, 1]],
    [
      'stages of which every replica is beside the next lie in all',
      { pipeline: 4, data: 4, rankOrder: 'tp-pp-cp-dp' },
      3,
      [0, 1, 2],
    ],
    [
      'replicas of stages of two GPUs reach the islands where these begin',
      { tensor: 2, pipeline: 4, data: 2, rankOrder: 'tp-pp-cp-dp' },
      0,
      [0, 1],
    ],
  ])('%s', (_sentence, candidate, rank, want) => {
    expect(
      islandsOfRanks(
        onIslands(
          candidate,
          sizes.map((gpus) => island(gpus)),
        ),
      )[rank],
    ).toEqual(want);
  });

  it('are none where the network is one', () => {
    expect(islandsOfRanks(aRun({ candidate: { pipeline: 4 } }))).toEqual([]);
  });
});

describe('islands that hold whole stages', () => {
  it.each<[string, readonly number[], readonly number[]]>([
    ['of unequal islands the larger takes more', [40, 24], [5, 3]],
    ['GPUs that are too few for a stage stay idle', [44, 24], [5, 3]],
    ['an island is filled before the next one begins', [48, 48], [6, 2]],
    ['an island that holds no stage takes none', [40, 4, 24], [5, 0, 3]],
    ['what has no room is missing', [40, 20], [5, 2]],
  ])('%s: eight stages of eight GPUs on %j', (_sentence, sizes, want) => {
    const cluster = aCluster(64, { islands: sizes.map((size) => island(size)), stagesInOneIsland: true });
    expect(wholeStagesOfIslands(cluster, { pipeline: 8 })).toEqual(want);
  });

  it('hold the stages in their order', () => {
    const run = onIslands({ pipeline: 8, data: 8 }, [island(44), island(24)], { stagesInOneIsland: true });
    expect(islandsOfRanks(run).flat()).toEqual([0, 0, 0, 0, 0, 1, 1, 1]);
  });
});

describe('the mean over the GPUs of a run', () => {
  const withMemory = (memoryGib: number) => ({ ...gpuOf('h100'), memoryGib });
  const islands = [
    { ...island(12), gpu: withMemory(80) },
    { ...island(4), gpu: withMemory(40) },
  ];
  it.each<[string, Partial<CandidateLayout>, number]>([
    ['counts the stages of each island', { pipeline: 4, data: 4 }, 70],
    ['counts a stage in two islands by half', { pipeline: 1, data: 16 }, 60],
  ])('%s', (_sentence, candidate, want) => {
    expect(meanOverGpus(onIslands(candidate, islands), ({ memoryGib }) => memoryGib)).toBe(want);
  });

  it('is that of the cluster where no island says more', () => {
    const run = onIslands({ pipeline: 4, data: 4 }, [island(12), island(4)]);
    expect(meanOverGpus(run, ({ name }) => name.length)).toBe(run.cluster.gpu.name.length);
  });
});

describe('the speed of a pipeline rank', () => {
  const islands = [island(4, 1), island(8, 0.5), island(4, 2)];
  it.each<[string, Partial<CandidateLayout>, number, number]>([
    ['of its island', { pipeline: 4, data: 4 }, 1, 0.5],
    [
      'of the slowest island of a stage that has GPUs in several',
      { pipeline: 4, data: 4, rankOrder: 'tp-pp-cp-dp' },
      3,
      0.5,
    ],
  ])('is that %s', (_sentence, layout, rank, want) => {
    expect(relativeSpeedsOf(onIslands(layout, islands))[rank]).toBe(want);
  });

  it('is said of none without islands', () => {
    expect(relativeSpeedsOf(aRun({ candidate: { pipeline: 4 } }))).toEqual([]);
  });
});

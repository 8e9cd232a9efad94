import { aCluster, aSpace } from '../testing/runs.ts';
import type { Mesh, SpaceFacts } from './search-space.ts';
import { gatherGroupsOf, shardGroupsOf } from './shard-groups.ts';

function aMesh(overrides: Partial<Mesh>): Parameters<typeof shardGroupsOf>[1] {
  return { tensor: 1, context: 1, pipeline: 1, data: 8, rankOrder: 'tp-cp-dp-pp', ...overrides };
}

describe('ranks that share states are', () => {
  it.each<[string, Partial<SpaceFacts>, Partial<Mesh>, readonly number[]]>([
    ['all replicas, on one node', {}, {}, [8]],
    ['all, or those of a node', { cluster: aCluster(32) }, { data: 32 }, [32, 8]],
    ['of two data ranks per node beside tensor', { cluster: aCluster(32) }, { tensor: 4, data: 8 }, [8, 2]],
    ['with context ranks', { cluster: aCluster(32) }, { context: 2, data: 16 }, [32, 8]],
    ['no group of one', { cluster: aCluster(32) }, { tensor: 8, data: 4 }, [4]],
    ['no group that does not divide the replicas', { cluster: aCluster(24) }, { tensor: 2, data: 12 }, [12, 4]],
    ['none that would not', { cluster: aCluster(24, { gpusPerNode: 5 }) }, { data: 24 }, [24, 8]],
    [
      'of a rack and of a node',
      { cluster: aCluster(288, { gpusPerNode: 4, scaleUpDomainGpus: 72 }) },
      { data: 288 },
      [288, 72, 4],
    ],
    ['what is pinned', { cluster: aCluster(32), pinned: { shardGroup: 16 } }, { data: 32 }, [16]],
  ])('%s', (_, overrides, mesh, want) => {
    expect(shardGroupsOf(aSpace(overrides), aMesh(mesh))).toEqual(want);
  });
});

describe('ranks that gather weights of each other', () => {
  it.each<[string, Partial<SpaceFacts>, Partial<Mesh>, readonly number[]]>([
    ['are all that share states, where there is no pipeline', { cluster: aCluster(32) }, { data: 32 }, [32, 8]],
    ['stay in a node beside one', { cluster: aCluster(32) }, { pipeline: 2, data: 16 }, [8]],
    ['are all, where a node holds all', {}, { pipeline: 2, data: 4 }, [4]],
    [
      'are none, where the replicas lie on different nodes',
      { cluster: aCluster(32) },
      { tensor: 8, pipeline: 2, data: 2 },
      [],
    ],
    [
      'nor where stages lie between them',
      { cluster: aCluster(32) },
      { pipeline: 8, data: 4, rankOrder: 'tp-pp-cp-dp' },
      [],
    ],
    [
      'stay in a rack where it is one domain',
      { cluster: aCluster(288, { gpusPerNode: 4, scaleUpDomainGpus: 72 }) },
      { pipeline: 2, data: 144 },
      [72, 4],
    ],
    [
      'are all, where the stage is pinned',
      { cluster: aCluster(32), pinned: { zeroStage: 3 } },
      { pipeline: 2, data: 16 },
      [16, 8],
    ],
    [
      'or the engine has no way to share less',
      { cluster: aCluster(32), allow: { zeroStages: [0, 3] } },
      { pipeline: 2, data: 16 },
      [16, 8],
    ],
    ['or the group', { cluster: aCluster(32), pinned: { shardGroup: 16 } }, { pipeline: 2, data: 16 }, [16]],
  ])('%s', (_, overrides, mesh, want) => {
    expect(gatherGroupsOf(aSpace(overrides), aMesh(mesh))).toEqual(want);
  });
});

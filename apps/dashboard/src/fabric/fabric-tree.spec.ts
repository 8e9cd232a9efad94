import type { FabricPlace } from '@coxswain/api-types';
import { countGpus, freeGpusOf, nodesOf, treeOf } from './fabric-tree.ts';
import { aClusterFabric, aFabricPlace } from './testing/a-cluster-fabric.ts';

const JOB = { id: '3f1c2b9e-0000-4000-8000-000000000001', project: 'research', name: 'rowing' };
const HERE = aFabricPlace({ island: 'ib', spine: 0, leaf: 0 });

describe('the tree of a fabric', () => {
  it('is island, spine and leaf, with numbers in names counted as numbers and domains together', () => {
    const fabric = aClusterFabric({
      a: aFabricPlace({ island: 'ib', spine: 10, leaf: 1 }),
      b: aFabricPlace({ island: 'ib', spine: 2, leaf: 12, nvlinkDomain: 'nvl-b' }),
      c: aFabricPlace({ island: 'ib', spine: 2, leaf: 3 }),
      d: aFabricPlace({ island: 'ib', spine: 2, leaf: 12, nvlinkDomain: 'nvl-a' }),
      e: aFabricPlace({ island: 'ib', spine: 2, leaf: 12, nvlinkDomain: 'nvl-b' }),
      f: { island: 'alone', nvlinkDomain: null, switches: [] },
    });
    expect(
      treeOf(nodesOf(fabric)).map(({ island, leaves }) => [
        island,
        leaves.map(({ spine, leaf, nodes }) => [spine?.name, leaf?.name, nodes.map(({ name }) => name).join('')]),
      ]),
    ).toEqual([
      ['alone', [[undefined, undefined, 'f']]],
      [
        'ib',
        [
          ['s2', 'l3', 'c'],
          ['s2', 'l12', 'dbe'],
          ['s10', 'l1', 'a'],
        ],
      ],
    ]);
  });

  it('says of each node which jobs hold how many GPUs, each pod by itself', () => {
    const fabric = aClusterFabric({ a: HERE, b: HERE, c: HERE }, [
      { ...JOB, nodes: [0, 0, 1], gpus: [2, 2, 8] },
      { ...JOB, name: 'sculling', nodes: [0], gpus: [3] },
    ]);
    const nodes = nodesOf({ ...fabric, nodes: { ...fabric.nodes, usable: [true, true, false] } });
    expect(nodes.map(({ takenGpus }) => takenGpus)).toEqual([7, 8, 0]);
    expect(nodes[0]?.holds).toEqual([
      { job: 0, gpus: 2 },
      { job: 0, gpus: 2 },
      { job: 1, gpus: 3 },
    ]);
    expect(countGpus(nodes)).toEqual({ nodes: 3, taken: 15, others: 0, free: 1, unusable: 8 });
  });

  it('counts GPUs that pods of others hold as busy, on nodes that take jobs and on others', () => {
    const fabric = aClusterFabric({ a: HERE, b: HERE, c: HERE }, [{ ...JOB, nodes: [0], gpus: [6] }]);
    const heldByOthers = [8, 3, 1];
    const nodes = nodesOf({ ...fabric, nodes: { ...fabric.nodes, usable: [true, true, false], heldByOthers } });
    expect(nodes.map(freeGpusOf)).toEqual([0, 5, 7]);
    expect(countGpus(nodes)).toEqual({ nodes: 3, taken: 6, others: 6, free: 5, unusable: 7 });
  });

  it('counts no GPU twice where two placements claim it', () => {
    const claim = { ...JOB, nodes: [0], gpus: [8] };
    expect(countGpus(nodesOf(aClusterFabric({ a: HERE }, [claim, claim])))).toEqual({
      nodes: 1,
      taken: 8,
      others: 0,
      free: 0,
      unusable: 0,
    });
  });

  it('keeps switches apart that are called alike, and takes what no label names for none', () => {
    const place = (...switches: readonly string[]): FabricPlace => ({
      island: 'ib',
      nvlinkDomain: null,
      switches: [...switches],
    });
    const fabric = aClusterFabric({
      a: place('tier-1=p1/tier-0=l1', 'tier-1=p1'),
      b: place('tier-1=p2/tier-0=l1', 'tier-1=p2'),
      c: place('tier-1=p2/?node:c', 'tier-1=p2'),
      d: place('tier-1=p2/?node:d', 'tier-1=p2'),
      e: place('?t:tier-0=l1/tier-0=l1', '?t:tier-0=l1'),
    });
    const [tree] = treeOf(nodesOf(fabric));
    expect(
      tree?.leaves.map(({ spine, leaf, nodes }) => [spine?.name, leaf?.name, nodes.map(({ name }) => name).join('')]),
    ).toEqual([
      [undefined, 'l1', 'e'],
      ['p1', 'l1', 'a'],
      ['p2', undefined, 'cd'],
      ['p2', 'l1', 'b'],
    ]);
    expect(new Set(tree?.leaves.map(({ leaf }) => leaf?.id)).size).toBe(4);
  });
});

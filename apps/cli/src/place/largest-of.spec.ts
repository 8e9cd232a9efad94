import { aFabricNode } from '@coxswain/fabric/testing';
import { largestOf } from './largest-of.ts';

describe('the largest of a cluster', () => {
  it('is the node with most GPUs, and the NVLink domain', () => {
    const rack = ['a', 'b', 'c'].map((name) => aFabricNode({ name, nvlinkDomain: 'rack', gpus: 4 }));
    expect(largestOf([...rack, aFabricNode({ name: 'd' })])).toEqual({ gpusPerNode: 8, scaleUpDomainGpus: 12 });
  });

  it('is found among more nodes than a call has arguments', () => {
    const node = aFabricNode({ gpus: 4 });
    const nodes = Array.from({ length: 150_000 }, (_, index) => ({ ...node, nvlinkDomain: `d${index >> 1}` }));
    expect(largestOf(nodes)).toEqual({ gpusPerNode: 4, scaleUpDomainGpus: 8 });
  });
});

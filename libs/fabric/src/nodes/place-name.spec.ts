import { namedSwitch, ownNameOf, placeName } from './place-name.ts';
import { fabricOf, topograph } from '../testing/labelled-nodes.ts';

describe('the name of a place', () => {
  it.each([
    ['ib-leaf-0', 'ib-leaf-0'],
    ['topograph:core=c/topograph:leaf=l-7', 'l-7'],
    ['region=eu/zone=a/topograph:tier-1=s1/tier-0=l1', 'l1'],
    ['node:gpu-1', 'node:gpu-1'],
    ['nvidia.com/gpu.clique=8f3a1c52-60d4-4b7e-9a0f-1d2e3c4b5a61.1', '8f3a1c52…-1d2e3c4b5a61.1'],
  ])('of %s is %s, and short enough for a table', (name, want) => {
    expect(placeName(name)).toBe(want);
    expect(placeName(name).length).toBeLessThanOrEqual(24);
  });

  it('is none where no label names a switch, wherever that lies', () => {
    const [whole, leafOnly, spineOnly] = fabricOf(topograph('l1', 's1', 'c'), topograph('l2'), {
      'fabric.topograph.run/tier-1': 's2',
    });
    expect(whole?.switches.map(ownNameOf)).toEqual(['l1', 's1', 'c']);
    expect(leafOnly?.switches.map(ownNameOf)).toEqual(['l2']);
    expect(spineOnly?.switches.map(ownNameOf)).toEqual(['-', 's2']);
    expect([0, 1, 2].map((tier) => namedSwitch(spineOnly?.switches ?? [], tier))).toEqual([
      undefined,
      'topograph:tier-1=s2',
      undefined,
    ]);
    const inZone = fabricOf(topograph('l1', 's1'), { ...topograph('l2'), 'topology.kubernetes.io/zone': 'z' });
    expect(inZone[1]?.switches.map(ownNameOf)).toEqual(['l2', '-', 'z']);
  });
});

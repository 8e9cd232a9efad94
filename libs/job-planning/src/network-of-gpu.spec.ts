import { aFabricNode } from '@coxswain/fabric/testing';
import type { FabricNode } from '@coxswain/fabric';
import { nicKindOf, scaleOutGbPerSOf } from './network-of-gpu.ts';

describe('the network of one GPU', () => {
  it.each<[string, Partial<FabricNode>, number | undefined]>([
    ['is not known where nobody says how fast a NIC is', { nicCount: 8 }, undefined],
    ['is not known of a node whose GPUs are not there yet', { nicSpeedGbps: 400, gpus: 0 }, undefined],
    ['is one NIC where nobody says how many there are', { nicSpeedGbps: 400 }, 50],
    ['is one of eight NICs', { nicSpeedGbps: 400, nicCount: 8 }, 50],
    ['is half a NIC where four serve eight GPUs', { nicSpeedGbps: 400, nicCount: 4 }, 25],
    ['is one NIC where pods share its functions', { nicType: 'roce', nicSpeedGbps: 400, nicCount: 16 }, 50],
    ['is four EFA cards of a P5 instance', { nicType: 'efa', nicSpeedGbps: 100, nicCount: 32 }, 50],
    ['is half an EFA card of a P4d instance', { nicType: 'EFA', nicSpeedGbps: 100, nicCount: 4 }, 6.25],
  ])('%s', (_sentence, facts, want) => {
    const { nicType: _type, nicSpeedGbps: _speed, nicCount: _count, ...bare } = aFabricNode({ name: 'a', gpus: 8 });
    expect(scaleOutGbPerSOf({ ...bare, ...facts })).toBe(want);
  });

  it.each([
    ['InfiniBand', 'infiniband'],
    ['RoCE', 'roce'],
    ['efa', 'efa'],
    ['OmniPath', 'omnipath'],
    ['slingshot', 'other'],
  ])('on %s is what the planner calls %s', (nicType, kind) => {
    expect(nicKindOf(nicType)).toBe(kind);
  });
});

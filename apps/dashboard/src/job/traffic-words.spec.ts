import type { RankTraffic } from '@coxswain/api-types';
import { trafficRows } from './traffic-words.ts';

const MIB = 1024 * 1024;
const NOTHING: RankTraffic = {
  source: 'planned',
  gpu: 0,
  node: 0,
  nvlinkDomain: 0,
  leaf: 0,
  spine: 0,
  core: 0,
  island: 0,
};

describe('what a step sends', () => {
  it('is told of each boundary that something crosses, near to far, with its share of all', () => {
    const traffic = { ...NOTHING, gpu: 8 * MIB, node: 4 * MIB, nvlinkDomain: 2 * MIB, leaf: MIB };
    expect(trafficRows(traffic)).toEqual([
      { where: 'between GPUs', bytes: '8.0 MiB', share: 1 },
      { where: 'between nodes', bytes: '4.0 MiB', share: 0.5 },
      { where: 'between NVLink domains', bytes: '2.0 MiB', share: 0.25 },
      { where: 'between leaves', bytes: '1.0 MiB', share: 0.125 },
    ]);
  });

  it('is nothing where a rank is alone', () => {
    expect(trafficRows(NOTHING)).toEqual([]);
  });
});

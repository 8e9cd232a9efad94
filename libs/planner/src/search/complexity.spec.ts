import { aCluster } from '../testing/runs.ts';
import { aCandidate } from '../testing/candidates.ts';
import { meshComplexity } from './complexity.ts';

const points = (degrees: Partial<ReturnType<typeof aCandidate>>, cluster = aCluster(2048)): number =>
  meshComplexity(aCandidate(degrees), cluster);
const pipelined = (expert: number): number => points({ tensor: 2, pipeline: 8, expert });

describe('experts over many ranks', () => {
  it('are as plain inside an NVLink rack as inside a node', () => {
    const rack = aCluster(288, { gpusPerNode: 4, scaleUpDomainGpus: 72 });
    expect(points({ expert: 64 }, rack)).toBe(points({ expert: 8 }));
    expect(points({ expert: 8 }, aCluster(64, { scaleUpDomainGpus: 2 }))).toBe(points({ expert: 8 }));
  });

  it.each<[string, number, number]>([
    [
      'over two nodes are plainer than a pipeline with them inside one',
      points({ expert: 16 }),
      points({ pipeline: 2, expert: 8 }),
    ],
    ['over eight nodes are plainer than over nine', points({ expert: 64 }), points({ expert: 72 })],
    [
      'with a pipeline and inside four nodes are plainer than over 32 nodes without',
      pipelined(32),
      points({ tensor: 4, expert: 256 }),
    ],
    [
      'count the ranks that share one',
      points({ expert: 32, expertTensor: 2 }),
      points({ expert: 64, expertTensor: 2 }),
    ],
  ])('%s', (_sentence, plainer, exotic) => {
    expect(plainer).toBeLessThan(exotic);
  });
});

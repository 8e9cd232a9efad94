import type { PreflightReport } from '@coxswain/api-types';
import { preflightOfGang, type GangPreflight } from './gang.ts';

const done = (torch: string, more: Partial<PreflightReport> = {}): PreflightReport => ({
  outcome: 'Done',
  facts: { torch, driver: '570.1' },
  pairs: [],
  tookMs: 812.4,
  ...more,
});

function preflight(reports: readonly PreflightReport[], avoidedNodes: readonly string[] = []): GangPreflight {
  const pods = reports.map((report, podIndex) => ({ podIndex, node: `node-${podIndex}`, ranks: 8, report }));
  return preflightOfGang({ pods, avoidedNodes, image: 'registry/trainer:1' });
}

const oneIsOdd = [done('2.9'), done('2.9'), done('2.8', { tookMs: 900 })];

describe('the preflight of a gang', () => {
  it('passes where nothing speaks against anybody, and says what it runs on', () => {
    expect(preflight([done('2.9'), done('2.9')])).toEqual({
      outcome: 'Passed',
      tookMs: 812,
      notes: [],
      fingerprint: { image: 'registry/trainer:1', torch: '2.9', driver: '570.1' },
      named: { nodes: [], message: '' },
    });
  });

  it('names who differs, and runs on what most have', () => {
    expect(preflight(oneIsOdd)).toMatchObject({
      outcome: 'NodesNamed',
      tookMs: 900,
      fingerprint: { torch: '2.9' },
      named: { nodes: ['node-2'], message: 'Node node-2: PyTorch is 2.8 where most of this gang have 2.9.' },
    });
  });

  it('names nobody a second time: whoever is used again for want of others may run', () => {
    expect(preflight(oneIsOdd, ['node-2'])).toMatchObject({
      outcome: 'Passed',
      notes: [
        'node node-2 is used again because too few other nodes are free: PyTorch is 2.8 where most of this gang have 2.9',
      ],
      named: { nodes: [] },
    });
  });

  it('names nobody where a pod could not look around', () => {
    const skipped: PreflightReport = { outcome: 'Skipped', note: 'no python3', facts: {}, pairs: [], tookMs: 2 };
    expect(preflight([...oneIsOdd, skipped])).toMatchObject({
      outcome: 'Skipped',
      notes: ['pod 3: no python3'],
      named: { nodes: [] },
    });
  });

  it('records what a pod wrote as safe text, and no more than fits', () => {
    const { notes, fingerprint } = preflight([done('2\u001b[31m.9', { note: `a\u0000${'x'.repeat(500)}` })]);
    expect(fingerprint.torch).toBe('2.9');
    expect(notes).toEqual([expect.stringMatching(/^pod 0: a\ufffdx+…$/)]);
    expect(notes[0]).toHaveLength(256);
  });
});

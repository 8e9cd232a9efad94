import { aTrainingJob } from '@coxswain/api-types/testing';
import type { NodeWindow } from '@coxswain/fabric';
import { closedNodes, describeClosed } from './closed-nodes.ts';

const NOW = new Date('2026-12-01T12:00:00Z');
const HOUR_MS = 3_600_000;

const window = (inHours: number, rest: Partial<NodeWindow> = {}): NodeWindow => ({
  name: 'firmware',
  fromMs: NOW.getTime() + inHours * HOUR_MS,
  untilMs: NOW.getTime() + (inHours + 6) * HOUR_MS,
  heldFromMs: 0,
  ...rest,
});

describe('a job that waits', () => {
  const ending = (inHours: number): ReturnType<typeof aTrainingJob> => {
    const job = aTrainingJob();
    return { ...job, spec: { ...job.spec, maxRuntimeSeconds: inHours * 3_600 } };
  };
  const unknown = aTrainingJob();
  it.each<[string, ReturnType<typeof aTrainingJob>, readonly NodeWindow[], boolean]>([
    ['may use a node without windows', ending(5), [], false],
    ['may use a node whose window begins after its limit', ending(5), [window(6)], false],
    ['may not use a node whose window begins before its limit', ending(5), [window(4)], true],
    ['may use a node whose window is far away, if its end is not known', unknown, [window(2)], false],
    ['may not use a node whose window begins soon, if its end is not known', unknown, [window(0.9)], true],
    ['may not use a node in its window', ending(1), [window(-1)], true],
  ])('%s', (_sentence, job, windows, want) => {
    const byNode = new Map(windows.length === 0 ? [] : [['gpu-1', windows]]);
    expect([...closedNodes(byNode, job, NOW).keys()]).toEqual(want ? ['gpu-1'] : []);
  });

  it('reads which windows keep it off how many nodes', () => {
    const later = window(8, { name: 'power', namespace: 'team-a' });
    const byNode = new Map([
      ['gpu-1', [window(1)]],
      ['gpu-2', [later]],
      ['gpu-3', [later]],
    ]);
    expect(describeClosed(closedNodes(byNode, ending(20), NOW))).toBe(
      'Windows of the Fabric keep this job off 1 node from 2026-12-01T13:00:00Z until 2026-12-01T19:00:00Z (firmware, maintenance); ' +
        '2 nodes from 2026-12-01T20:00:00Z until 2026-12-02T02:00:00Z (power, kept for a project).',
    );
    expect(describeClosed(new Map())).toBeUndefined();
  });
});

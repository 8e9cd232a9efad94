import { aTrainingJob } from '@coxswain/api-types/testing';
import { type NodeWindow, windowInTheWay } from '@coxswain/fabric';
import { describeClosed, stayOf } from './closed-windows.ts';

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
  const { checkpoint: _, ...withoutSaves } = unknown.spec;
  it.each<[string, ReturnType<typeof aTrainingJob>, NodeWindow, boolean]>([
    ['may use a node whose window begins after its limit', ending(5), window(6), false],
    ['may not use a node whose window begins before its limit', ending(5), window(4), true],
    ['may use a node whose window is far away, if its end is not known', unknown, window(2), false],
    ['may not use a node whose window begins soon, if its end is not known', unknown, window(0.9), true],
    ['may not use a node before its window, if it saves nothing', { ...unknown, spec: withoutSaves }, window(2), true],
    ['may not use a node in its window', ending(1), window(-1), true],
  ])('%s', (_sentence, job, over, want) => {
    expect(windowInTheWay([over], stayOf(job, NOW)) !== undefined).toBe(want);
  });

  it('reads which windows keep it off how many nodes, without names of other projects', () => {
    const later = window(8, { name: 'secret', namespace: 'team-a' });
    const closed = [
      { window: window(1), nodes: 1 },
      { window: later, nodes: 2 },
    ];
    expect(describeClosed(closed)).toBe(
      'Windows of the Fabric keep this job off 1 node from 2026-12-01T13:00:00Z until 2026-12-01T19:00:00Z (firmware, maintenance); ' +
        '2 nodes from 2026-12-01T20:00:00Z until 2026-12-02T02:00:00Z (kept for a project).',
    );
    expect(describeClosed([])).toBeUndefined();
  });
});

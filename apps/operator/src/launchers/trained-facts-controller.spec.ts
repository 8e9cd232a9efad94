import type { Attempt } from '@coxswain/api-types';
import { ParallelLayout } from '@coxswain/layout';
import type { NewestGang } from './launcher-controller.ts';
import type { PodTrainedReport } from '../ingest/session-ports.ts';
import { TrainedFactsController } from './trained-facts-controller.ts';

const layout = ParallelLayout.parse({ dataParallelDegree: 4 });
const gang = { attempt: { epoch: 2, layout } as Attempt } as NewestGang;

function word(more: Partial<PodTrainedReport> = {}, worldSize = 4): PodTrainedReport {
  const facts = {
    worldSize,
    backend: 'gloo',
    mesh: [],
    groups: [],
    wrappers: [],
    parameterBytes: 1,
    optimizerBytes: 1,
  };
  return { jobUid: 'a', epoch: 2, incarnation: 1, podIndex: 0, rank: 0, facts, ...more };
}

type Seen = NewestGang | 'gone' | undefined;

function aSetup(): { readonly controller: TrainedFactsController; readonly see: (next: Seen) => void } {
  let now: Seen = gang;
  return { controller: new TrainedFactsController({ gangOf: () => now }), see: (next) => (now = next) };
}

describe('what ranks train is held against the layout of their gang', () => {
  it('as the first word of each pod says it', () => {
    const { controller } = aSetup();
    expect(controller.receive([word()])).toEqual(['a']);
    const seen = 'Rank 0 trains with 4 ranks over gloo; 1 B of parameters and 1 B of optimizer states on it.';
    expect(controller.ofJob('a')).toEqual({ epoch: 2, incarnation: 1, seen, differences: [] });
    // The same pod says something else: its job's status would change each second.
    expect(controller.receive([word({}, 2)])).toEqual([]);
    expect(controller.receive([word({ podIndex: 1, rank: 2 }, 2)])).toEqual(['a']);
    // Of the first that told.
    expect(controller.ofJob('a')?.seen).toBe(seen);
    expect(controller.ofJob('a')?.differences).toEqual([expect.stringMatching(/^Rank 2 is in a process group of 2/)]);
  });

  it('of the newest incarnation alone', () => {
    const { controller } = aSetup();
    controller.receive([word({}, 2)]);
    expect(controller.receive([word({ incarnation: 2 })])).toEqual(['a']);
    expect(controller.receive([word({ podIndex: 1 }, 2)])).toEqual([]);
    expect(controller.ofJob('a')).toMatchObject({ epoch: 2, incarnation: 2, differences: [] });
  });

  it('once the gang is seen, and not as that of another epoch', () => {
    const { controller, see } = aSetup();
    see(undefined);
    controller.receive([word()]);
    expect(controller.ofJob('a')).toBeUndefined();
    see({ ...gang, attempt: { ...gang.attempt, epoch: 3 } });
    expect(controller.ofJob('a')).toBeUndefined();
    see(gang);
    expect(controller.ofJob('a')).toBeDefined();
  });

  it('of so many pods that a gang of thousands takes no more memory than one of sixteen', () => {
    const { controller } = aSetup();
    const pods = Array.from({ length: 4000 }, (_, podIndex) => word({ podIndex, rank: podIndex }, 2));
    controller.receive(pods);
    expect(controller.ofJob('a')?.differences).toHaveLength(4);
    expect(controller.receive([word({ podIndex: 4001 })])).toEqual([]);
  });

  it('and forgotten with the job', () => {
    const { controller, see } = aSetup();
    controller.receive([word()]);
    see('gone');
    expect(controller.ofJob('a')).toBeUndefined();
    expect(controller.receive([word({ podIndex: 3 })])).toEqual([]);
    see(gang);
    expect(controller.ofJob('a')).toBeUndefined();
  });
});

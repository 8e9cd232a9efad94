import type { Attempt } from '@coxswain/api-types';
import { ParallelLayout } from '@coxswain/layout';
import type { NewestGang } from './launcher-controller.ts';
import type { TrainedWord } from '../ingest/session-ports.ts';
import { TrainedDesk } from './trained-facts-controller.ts';

const layout = ParallelLayout.parse({ dataParallelDegree: 4 });
const gang = { attempt: { epoch: 2, layout } as Attempt } as NewestGang;

function word(more: Partial<TrainedWord> = {}, worldSize = 4): TrainedWord {
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

function aDesk(): { readonly desk: TrainedDesk; readonly see: (next: Seen) => void } {
  let now: Seen = gang;
  return { desk: new TrainedDesk({ gangOf: () => now }), see: (next) => (now = next) };
}

describe('what ranks train is held against the layout of their gang', () => {
  it('as the first word of each pod says it', () => {
    const { desk } = aDesk();
    expect(desk.hear([word()])).toEqual(['a']);
    const seen = 'Rank 0 trains with 4 ranks over gloo; 1 B of parameters and 1 B of optimizer states on it.';
    expect(desk.ofJob('a')).toEqual({ epoch: 2, incarnation: 1, seen, differences: [] });
    // The same pod says something else: its job's status would change each second.
    expect(desk.hear([word({}, 2)])).toEqual([]);
    expect(desk.hear([word({ podIndex: 1, rank: 2 }, 2)])).toEqual(['a']);
    // Of the first that told.
    expect(desk.ofJob('a')?.seen).toBe(seen);
    expect(desk.ofJob('a')?.differences).toEqual([expect.stringMatching(/^Rank 2 is in a process group of 2/)]);
  });

  it('of the newest incarnation alone', () => {
    const { desk } = aDesk();
    desk.hear([word({}, 2)]);
    expect(desk.hear([word({ incarnation: 2 })])).toEqual(['a']);
    expect(desk.hear([word({ podIndex: 1 }, 2)])).toEqual([]);
    expect(desk.ofJob('a')).toMatchObject({ epoch: 2, incarnation: 2, differences: [] });
  });

  it('once the gang is seen, and not as that of another epoch', () => {
    const { desk, see } = aDesk();
    see(undefined);
    desk.hear([word()]);
    expect(desk.ofJob('a')).toBeUndefined();
    see({ ...gang, attempt: { ...gang.attempt, epoch: 3 } });
    expect(desk.ofJob('a')).toBeUndefined();
    see(gang);
    expect(desk.ofJob('a')).toBeDefined();
  });

  it('of so many pods that a gang of thousands takes no more memory than one of sixteen', () => {
    const { desk } = aDesk();
    const pods = Array.from({ length: 4000 }, (_, podIndex) => word({ podIndex, rank: podIndex }, 2));
    desk.hear(pods);
    expect(desk.ofJob('a')?.differences).toHaveLength(4);
    expect(desk.hear([word({ podIndex: 4001 })])).toEqual([]);
  });

  it('and forgotten with the job', () => {
    const { desk, see } = aDesk();
    desk.hear([word()]);
    see('gone');
    expect(desk.ofJob('a')).toBeUndefined();
    expect(desk.hear([word({ podIndex: 3 })])).toEqual([]);
    see(gang);
    expect(desk.ofJob('a')).toBeUndefined();
  });
});

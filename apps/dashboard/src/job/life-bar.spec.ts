import { GOODPUT_CATEGORIES, type GoodputCategory, type JobGoodput, type JobIncident } from '@coxswain/api-types';
import { lifeBarOf } from './life-bar.ts';

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + 1000 * seconds).toISOString();

/** 100 s: 20 waiting, 30 of start, 50 of steps, on four GPUs. */
const GOODPUT: JobGoodput = {
  asOf: at(100),
  gpuSeconds: 320,
  goodput: 0.625,
  shares: (Object.keys(GOODPUT_CATEGORIES) as GoodputCategory[]).map((category) => {
    const gpuSeconds = { initialisation: 120, productive: 200 }[category as string] ?? 0;
    return { category, gpuSeconds, share: gpuSeconds / 320 };
  }),
  heldSeconds: 80,
  waitingSeconds: 20,
  suspendedSeconds: 0,
  spans: [
    { from: at(0), to: at(20), spent: 'waiting', gpus: 0, epoch: null },
    { from: at(20), to: at(50), spent: 'initialisation', gpus: 4, epoch: 1 },
    { from: at(50), to: at(100), spent: 'productive', gpus: 4, epoch: 1 },
  ],
  attemptsLeftOut: 0,
};

const INCIDENT: JobIncident = {
  id: '1.1',
  jobId: 'j',
  job: 'tiny',
  project: 'research',
  kind: 'Crash',
  epoch: 1,
  incarnation: 1,
  noticedAt: at(75),
  message: 'Rank 3 exited.',
  rank: 3,
  node: 'b',
  gpus: 4,
  action: 'RestartedInPods',
};

describe('the bar of a job', () => {
  it('has a piece for each span, which fill it without a gap', () => {
    const { pieces } = lifeBarOf(GOODPUT, []);
    expect(pieces).toEqual([
      { spent: 'waiting', left: 0, width: 20, label: 'waiting: 20.0 s' },
      { spent: 'initialisation', left: 20, width: 30, label: 'initialisation: 30.0 s, 4 GPUs' },
      { spent: 'productive', left: 50, width: 50, label: 'productive: 50.0 s, 4 GPUs' },
    ]);
  });

  it('marks incidents where they were noticed, and those of another time at its edge', () => {
    const late = { ...INCIDENT, id: '2.1', noticedAt: at(500) };
    expect(lifeBarOf(GOODPUT, [INCIDENT, late]).marks).toEqual([
      { id: '1.1', left: 75, label: 'Crash of rank 3 on node b' },
      { id: '2.1', left: 100, label: 'Crash of rank 3 on node b' },
    ]);
  });

  it('has a legend of what took time, and says the whole in a sentence', () => {
    const { legend, sentence } = lifeBarOf(GOODPUT, [INCIDENT]);
    expect(legend.map(({ words, share }) => [words, share])).toEqual([
      ['productive', '62.5 %'],
      ['initialisation', '37.5 %'],
      ['waiting', ''],
    ]);
    expect(sentence).toBe('62.5 % of 5 min 20 s of GPU time were productive steps; 1 incident.');
  });

  it('is empty before anything has lasted', () => {
    const none = { ...GOODPUT, goodput: null, gpuSeconds: 0, spans: [], shares: [], waitingSeconds: 0 };
    expect(lifeBarOf(none, [INCIDENT])).toEqual({
      pieces: [],
      marks: [],
      legend: [],
      sentence: 'The job has held no GPUs yet; 1 incident.',
    });
  });
});

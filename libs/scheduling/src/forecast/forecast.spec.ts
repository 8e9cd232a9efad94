import { type ForecastOfJob, forecast } from './forecast.ts';
import type { ForecastInput, ForecastNode, RestedTime, RunningGang, WaitingGang } from './forecast-input.ts';
import { smallestChanges } from './smallest-changes.ts';
import { timeline } from './timeline.ts';

const HOUR = 3_600_000;

const exactly = (hours: number, restsOn: RestedTime['restsOn'] = 'Measured'): RestedTime => ({
  atMs: hours * HOUR,
  earliestMs: hours * HOUR,
  latestMs: hours * HOUR,
  restsOn,
});
const nodes = (count: number, type = 'H100', from = 0): readonly ForecastNode[] =>
  Array.from({ length: count }, (_, index) => ({ name: `${type}-${from + index}`, gpus: 8, type }));
/** A gang on whole nodes from that one on. */
const runs = (from: number, count: number, end: RestedTime, type = 'H100'): RunningGang => ({
  uid: `r-${type}-${from}`,
  pods: Array.from({ length: count }, (_, index) => ({ node: `${type}-${from + index}`, gpus: 8 })),
  end,
});
const waits = (
  uid: string,
  gpus: number,
  more: Partial<WaitingGang> & { readonly type?: string } = {},
): WaitingGang => {
  const { type, ...rest } = more;
  return { uid, parts: [{ type, gpus, gpusPerPod: undefined }], hold: exactly(1), ...rest };
};
const cluster = (changes: Partial<ForecastInput>): ForecastInput => ({
  nowMs: 0,
  nodes: nodes(4),
  running: [],
  waiting: [],
  ...changes,
});
/** `uid start constraint`, in hours. */
const shortly = ({ uid, start, constraint }: ForecastOfJob): string =>
  `${uid} ${start === undefined ? 'never' : `${start.atMs / HOUR}h`} ${constraint.kind}`;

describe('the expected start', () => {
  it.each<[string, Partial<ForecastInput>, readonly string[]]>([
    ['is now if enough is free', { waiting: [waits('a', 32)] }, ['a 0h Placement']],
    [
      'is the end of the gang that holds the GPUs',
      { running: [runs(0, 4, exactly(3))], waiting: [waits('a', 8)] },
      ['a 3h Gpus'],
    ],
    [
      'counts empty nodes, not GPUs that are spread over nodes',
      {
        running: [0, 1, 2, 3].map((node) => ({
          uid: `r${node}`,
          pods: [{ node: `H100-${node}`, gpus: 4 }],
          end: exactly(node + 1),
        })),
        waiting: [waits('a', 16)],
      },
      ['a 2h Nodes'],
    ],
    [
      'of a small job is now where nodes are partly free',
      {
        running: [{ uid: 'r', pods: [{ node: 'H100-0', gpus: 4 }], end: exactly(9) }, runs(1, 3, exactly(9))],
        waiting: [waits('a', 4)],
      },
      ['a 0h Placement'],
    ],
    [
      'of a job behind waits for the job before it, if it would delay that one',
      { running: [runs(0, 2, exactly(2))], waiting: [waits('big', 32), waits('long', 8, { hold: exactly(5) })] },
      ['big 2h Gpus', 'long 3h JobsAhead'],
    ],
    [
      'of a job behind is now, if it ends before the job in front can start',
      { running: [runs(0, 2, exactly(2))], waiting: [waits('big', 32), waits('short', 8, { hold: exactly(2) })] },
      ['big 2h Gpus', 'short 0h Placement'],
    ],
    [
      'is on the type that the job needs',
      {
        nodes: [...nodes(1), ...nodes(2, 'A100')],
        running: [runs(0, 1, exactly(4))],
        waiting: [waits('typed', 8, { type: 'H100' }), waits('any', 8)],
      },
      ['typed 4h Gpus', 'any 0h Placement'],
    ],
    [
      'of several types is the moment at which all are free',
      {
        nodes: [...nodes(1), ...nodes(1, 'A100')],
        running: [runs(0, 1, exactly(2)), runs(0, 1, exactly(3), 'A100')],
        waiting: [
          {
            ...waits('a', 8),
            parts: [
              { type: 'H100', gpus: 8, gpusPerPod: undefined },
              { type: 'A100', gpus: 8, gpusPerPod: undefined },
            ],
          },
        ],
      },
      ['a 3h Gpus'],
    ],
    [
      'is none for a job larger than the cluster',
      { waiting: [waits('a', 40), waits('b', 8)] },
      ['a never Gpus', 'b 0h Placement'],
    ],
    [
      'is none over a quota, and jobs behind do not wait for it',
      { waiting: [waits('a', 32, { isOverQuota: true }), waits('b', 32)] },
      ['a never Quota', 'b 0h Placement'],
    ],
    [
      'is the one that the operator recorded, also for what others may use until then',
      {
        running: [runs(0, 3, exactly(1))],
        waiting: [waits('held', 32, { promised: exactly(2) }), waits('small', 8, { hold: exactly(3) })],
      },
      ['held 2h Gpus', 'small 3h JobsAhead'],
    ],
    [
      'that the operator recorded is on the type on which the job can start first',
      {
        nodes: [...nodes(1), ...nodes(2, 'A100')],
        running: [runs(0, 1, exactly(9))],
        waiting: [waits('held', 16, { promised: exactly(1) }), waits('small', 8, { hold: exactly(1) })],
      },
      ['held 1h JobsAhead', 'small 0h Placement'],
    ],
    [
      'does not use GPUs that pods of other owners hold',
      { otherUse: new Map([['H100', 9]]), waiting: [waits('a', 24), waits('b', 16)] },
      ['a never Gpus', 'b 0h Placement'],
    ],
    [
      'of an end that is overdue is now',
      { nowMs: HOUR, running: [runs(0, 4, exactly(0))], waiting: [waits('a', 8)] },
      [`a ${1 + 1 / HOUR}h Gpus`],
    ],
    ['is none without nodes', { nodes: [], waiting: [waits('a', 8)] }, ['a never Gpus']],
  ])('%s', (_sentence, changes, want) => {
    expect(forecast(cluster(changes)).map(shortly)).toEqual(want);
  });

  const unsure: RestedTime = { atMs: 4 * HOUR, earliestMs: 3 * HOUR, latestMs: 6 * HOUR, restsOn: 'Predicted' };
  it.each<[string, RestedTime, Partial<ForecastOfJob['start']>]>([
    [
      'has the interval of the end that it rests on',
      unsure,
      { earliestMs: 3 * HOUR, latestMs: 6 * HOUR, restsOn: 'Predicted' },
    ],
    [
      'has no latest time if that end has none',
      { ...unsure, latestMs: undefined, restsOn: 'Assumed' },
      { latestMs: undefined, restsOn: 'Assumed' },
    ],
  ])('%s', (_sentence, end, want) => {
    const [first] = forecast(cluster({ running: [runs(0, 4, end)], waiting: [waits('a', 32)] }));
    expect(first?.start).toMatchObject({ atMs: 4 * HOUR, ...want });
  });

  it('rests on nothing if enough is free now', () => {
    expect(forecast(cluster({ waiting: [waits('a', 8)] }))[0]?.start).toEqual({
      ...{ atMs: 0, earliestMs: 0, latestMs: 0, restsOn: null, isPromised: false },
    });
  });
});

describe('the timeline', () => {
  it('has ends and starts of the next day, soonest first', () => {
    const input = cluster({
      running: [runs(0, 2, exactly(2)), runs(2, 2, exactly(30))],
      waiting: [waits('a', 16), waits('b', 16), waits('far', 32)],
    });
    const events = timeline(input, forecast(input), 24 * HOUR);
    expect(events.map(({ kind, uid, atMs, gpus }) => `${atMs / HOUR}h ${kind} ${uid} ${gpus}`)).toEqual([
      '2h End r-H100-0 16',
      '2h Start a 16',
      '3h Start b 16',
    ]);
  });
});

describe('the smallest change', () => {
  const busy = { running: [runs(0, 3, exactly(5))] };
  it.each<[string, Partial<ForecastInput>, readonly number[], readonly string[]]>([
    ['is none for a job that starts now', { waiting: [waits('a', 8)] }, [4], []],
    [
      'is more nodes, or the largest smaller size that starts now',
      { ...busy, waiting: [waits('a', 32)] },
      [4, 8, 16],
      ['MoreNodes 3 0h', 'FewerGpus 8 0h'],
    ],
    [
      'is a size that starts earlier if none starts now',
      { running: [runs(0, 3, exactly(5)), runs(3, 1, exactly(1))], waiting: [waits('a', 32)] },
      [8],
      ['MoreNodes 4 0h', 'FewerGpus 8 1h'],
    ],
    [
      'is to be first in line',
      { waiting: [waits('big', 32, { hold: exactly(9) }), waits('a', 8)] },
      [],
      ['MoreNodes 1 0h', 'HigherPriority null 0h'],
    ],
    ['is none over a quota', { waiting: [waits('a', 8, { isOverQuota: true })] }, [4], []],
    ['is none of a job that does not wait', {}, [], []],
  ])('%s', (_sentence, changes, sizes, want) => {
    const found = smallestChanges(cluster(changes), 'a', sizes);
    expect(found.map(({ kind, amount, startMs }) => `${kind} ${amount} ${startMs / HOUR}h`)).toEqual(want);
  });
});

describe('a large cluster', () => {
  /** 10,000 nodes under 1,500 gangs, and 2,000 jobs that wait: mostly small ones, some of 64 nodes and more. */
  function large(): ForecastInput {
    const sizes = [1, 1, 1, 2, 4, 8, 16, 64];
    const running: RunningGang[] = [];
    for (let from = 0, index = 0; from + 64 < 10_000; index++) {
      const count = sizes[index % sizes.length] ?? 1;
      const atMs = (1 + ((index * 7_919) % 4_000) / 60) * HOUR;
      running.push(runs(from, count, { atMs, earliestMs: atMs * 0.9, latestMs: atMs * 1.3, restsOn: 'Predicted' }));
      from += count;
    }
    const waiting = Array.from({ length: 2_000 }, (_, index) =>
      waits(`w${index}`, 8 * (sizes[(index * 3) % sizes.length] ?? 1), { hold: exactly(1 + (index % 17)) }),
    );
    return cluster({ nodes: nodes(10_000), running, waiting });
  }

  // It takes about 30 ms; under the test runner, on a machine that does other work, up to three times as long.
  it('with 2,000 waiting jobs on 10,000 nodes is forecast in tens of milliseconds', () => {
    const input = large();
    // Time of the CPU: other processes do not count. The first rounds compile.
    const timesMs = Array.from({ length: 5 }, () => {
      const begun = process.cpuUsage();
      expect(forecast(input)).toHaveLength(2_000);
      return process.cpuUsage(begun).user / 1_000;
    });
    expect(Math.min(...timesMs)).toBeLessThan(150);
  });
});

import { HistoryError } from './history-job.ts';
import { parseSacct } from './parse-sacct.ts';

const HEADER = 'JobID|Account|Submit|Start|End|AllocNodes|AllocTRES|State|Timelimit';
const T = '2026-03-01T';
const FIELDS = {
  JobID: '7',
  Account: 'nlp',
  Submit: `${T}00:00:00`,
  Start: `${T}01:00:00`,
  End: `${T}03:00:00`,
  AllocNodes: '2',
  AllocTRES: 'cpu=4,gres/gpu=16',
  State: 'COMPLETED',
  Timelimit: '1-02:03:04',
};
const aRow = (about: Partial<typeof FIELDS> = {}): string => Object.values({ ...FIELDS, ...about }).join('|');
const parse = (...lines: readonly string[]) => parseSacct(lines.join('\n'), { file: 'sacct.txt', gpusPerNode: 8 });
const MINUTE_MS = 60_000;

describe('output of sacct', () => {
  it('is read as jobs with their times, GPUs, tenant and limit', () => {
    const predicted = { runMs: 93_784_000, latestMs: 93_784_000 };
    const submitMs = Date.parse(`${T}00:00:00Z`);
    const times = { submitMs, startMs: submitMs + 60 * MINUTE_MS, endMs: submitMs + 180 * MINUTE_MS };
    expect(parse(HEADER, aRow(), '')).toEqual({
      jobs: [{ id: '7', namespace: 'nlp', pods: 2, gpusPerPod: 8, ...times, predicted }],
      leftOut: [],
    });
  });

  it.each<[string, Partial<typeof FIELDS>, object]>([
    [
      'typed GPUs are summed where no sum is given',
      { AllocTRES: 'gres/gpu:a=8,gres/gpu:b=8' },
      { pods: 2, gpusPerPod: 8 },
    ],
    ['the sum counts where both are given', { AllocTRES: 'gres/gpu=4,gres/gpu:a=4' }, { pods: 2, gpusPerPod: 2 }],
    ['a part of a node is one pod', { AllocNodes: '1', AllocTRES: 'gres/gpu=3' }, { pods: 1, gpusPerPod: 3 }],
    [
      'minutes and seconds are a limit',
      { Timelimit: '30:00' },
      { predicted: { runMs: 30 * MINUTE_MS, latestMs: 30 * MINUTE_MS } },
    ],
    ['a job that still runs has no end', { End: 'Unknown' }, { id: '7' }],
  ])('%s', (_sentence, about, want) => {
    const [job] = parse(HEADER, aRow(about)).jobs;
    expect(job).toMatchObject(want);
    expect(job !== undefined && 'endMs' in job).toBe(about.End === undefined);
  });

  it('of nodes alone counts all their GPUs, and no limit is unknown', () => {
    const { jobs } = parse('JobID|Submit|Start|End|AllocNodes', `7|${T}00:00:00|${T}00:00:00|${T}01:00:00|3`);
    expect(jobs).toMatchObject([{ namespace: 'all', pods: 3, gpusPerPod: 8 }]);
    expect(jobs[0]).not.toHaveProperty('predicted');
  });

  it('leaves out and counts what cannot be replayed, and skips steps', () => {
    const rows = [
      { Start: 'Unknown' },
      { Start: 'None' },
      { AllocTRES: 'cpu=4' },
      { End: `${T}01:00:00` },
      { JobID: '7.batch' },
    ];
    expect(parse(HEADER, ...rows.map(aRow))).toEqual({
      jobs: [],
      leftOut: [
        { count: 2, why: 'that never started' },
        { count: 1, why: 'without GPUs' },
        { count: 1, why: 'that ended in the second of their start' },
      ],
    });
  });

  it.each<[string, Partial<typeof FIELDS>, string]>([
    ['a time of another format', { Submit: '03/01-00:00:00' }, 'line 3, column Submit: "03/01-00:00:00" is not a time'],
    ['a day that does not exist', { End: '2026-02-31T99:00:00' }, 'line 3, column End'],
    ['no submission', { Submit: '' }, 'column Submit: "" is not a time; each job has one'],
    [
      'a start before the submission',
      { Start: '2026-02-01T00:00:00' },
      'column Start: 2026-02-01T00:00:00 is before Submit',
    ],
    ['an end before the start', { End: `${T}00:30:00` }, 'column End: 2026-03-01T00:30:00 is before Start'],
    ['GPUs that are no number', { AllocTRES: 'gres/gpu=many' }, 'column AllocTRES: "many" is not a number of GPUs'],
    ['nodes that are no number', { AllocNodes: '-1' }, 'column AllocNodes: "-1" is not a whole number'],
    [
      'more GPUs than nodes have',
      { AllocNodes: '1' },
      '16 GPUs on 1 nodes are more than 8 a node; give the GPUs of a node by --gpus-per-node',
    ],
    ['a limit that is none', { Timelimit: '5 days' }, 'column Timelimit: "5 days" is not a limit'],
    ['a row with another number of columns', { State: 'COMPLETED|x' }, 'line 3: it has 10 columns, and line 1 has 9'],
  ])('with %s is rejected at its place', (_what, about, message) => {
    const read = (): unknown => parse(HEADER, aRow(), aRow(about));
    expect(read).toThrow(HistoryError);
    expect(read).toThrow(message);
  });

  it('without a needed column is rejected with the command that writes it', () => {
    expect(() => parse('JobID|Submit|Start', '')).toThrow(/line 1: there is no column End, AllocTRES\. .*--parsable2/);
  });
});

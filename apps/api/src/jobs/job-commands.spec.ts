import { aJobSpec, aPlannedJobSpec } from '@coxswain/api-types/testing';
import { DomainError, type DomainErrorCode } from '@coxswain/domain-error';
import { aLayout } from '@coxswain/layout/testing';
import { codeOf } from '../testing/code-of.ts';
import { cancelChange, deleteChange, labelChange, resumeChange, suspendChange, urgencyOf } from './job-commands.ts';
import type { JobRow } from './job-row.ts';
import type { DesiredChange } from './job-table.ts';
import type { KnownCheckpoint } from './resume-loads.ts';
import { aJobRow } from './testing/a-job-row.ts';

const running = aJobRow({ state: 'Running', uid: 'uid' });
const suspended = aJobRow({ ...running, spec: aJobSpec({ suspend: true }) });
const beingCancelled = aJobRow({ ...running, desired_cancel: true });
const beingDeleted = aJobRow({ ...running, state: 'Deleting', desired_delete: true });
const ended = (state: JobRow['state']): JobRow => aJobRow({ ...running, state });
const wide = aLayout({ dataParallelDegree: 4 });
const illegal = aLayout({ tensorParallelDegree: 3 });

describe('suspend', () => {
  it.each<[string, JobRow, DesiredChange | undefined]>([
    ['asks a running job to hold', running, { suspend: true }],
    ['asks a job that has no resource yet', aJobRow(), { suspend: true }],
    ['changes nothing of a suspended job', suspended, undefined],
    ['changes nothing when it was asked for already', aJobRow({ ...running, desired_suspend: true }), undefined],
    [
      'takes back a resume that was not applied yet',
      aJobRow({ ...suspended, desired_suspend: false }),
      { suspend: true },
    ],
  ])('%s', (_sentence, row, want) => {
    expect(suspendChange(row)).toEqual(want);
  });

  it.each<[JobRow['state'], DomainErrorCode]>([
    ['Complete', 'ALREADY_FINISHED'],
    ['Failed', 'ALREADY_FINISHED'],
    ['Cancelled', 'ALREADY_FINISHED'],
    ['Deleted', 'ALREADY_FINISHED'],
    ['Refused', 'ALREADY_FINISHED'],
    ['Deleting', 'CONFLICT'],
  ])('of a job that is %s is %s', (state, want) => {
    expect(codeOf(() => suspendChange(ended(state)))).toBe(want);
  });
});

describe('a change of labels', () => {
  const labelled = aJobRow({ ...running, labels: { team: 'vision', stage: 'old' }, desired_labels: { stage: null } });
  const many = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, 'x']));
  it.each<[string, JobRow, Record<string, string | null>, DesiredChange | undefined]>([
    ['adds and replaces', labelled, { team: 'text', cost: '7' }, { labels: { team: 'text', cost: '7' } }],
    ['removes', labelled, { team: null }, { labels: { team: null } }],
    ['changes nothing that is so already', labelled, { team: 'vision', stage: null, none: null }, undefined],
    ['brings back what is on its way out', labelled, { stage: 'old' }, { labels: { stage: 'old' } }],
    ['is taken by a job that has ended', ended('Complete'), { team: 'x' }, { labels: { team: 'x' } }],
    ['may fill a job', labelled, many(63), { labels: many(63) }],
  ])('%s', (_sentence, row, labels, want) => {
    expect(labelChange(row, { labels })).toEqual(want);
  });

  it.each<[string, JobRow, Record<string, string | null>, DomainErrorCode]>([
    ['of a job that is being deleted', beingDeleted, { a: 'x' }, 'CONFLICT'],
    ['of a job that is gone', ended('Deleted'), { a: 'x' }, 'CONFLICT'],
    ['of a job that was refused', ended('Refused'), { a: 'x' }, 'CONFLICT'],
    ['to too many', labelled, many(64), 'INVALID_REQUEST'],
  ])('%s is refused', (_sentence, row, labels, want) => {
    expect(codeOf(() => labelChange(row, { labels }))).toBe(want);
  });
});

describe('resume', () => {
  it.each<[string, JobRow, Parameters<typeof resumeChange>[1], DesiredChange]>([
    ['lets a suspended job run as it was', suspended, {}, { suspend: false }],
    ['lets it run on another layout', suspended, { layout: wide }, { suspend: false, layout: wide }],
    ['lets the planner choose for a number of GPUs', suspended, { gpus: 8 }, { suspend: false, gpus: 8 }],
    ['believes what was asked last', aJobRow({ ...running, desired_suspend: true }), {}, { suspend: false }],
  ])('%s', (_sentence, row, request, want) => {
    expect(resumeChange(row, request)).toEqual(want);
  });

  it.each<[string, JobRow, Parameters<typeof resumeChange>[1], DomainErrorCode]>([
    ['a job that runs', running, {}, 'NOT_SUSPENDED'],
    ['a job that was asked to resume already', aJobRow({ ...suspended, desired_suspend: false }), {}, 'NOT_SUSPENDED'],
    ['a job that is being cancelled', aJobRow({ ...suspended, desired_cancel: true }), {}, 'CONFLICT'],
    ['a job that is being deleted', beingDeleted, {}, 'CONFLICT'],
    ['a job that is complete', ended('Complete'), {}, 'ALREADY_FINISHED'],
    ['a layout whose degrees do not divide', suspended, { layout: illegal }, 'INVALID_LAYOUT'],
    [
      'a number of GPUs when nothing is known of the model',
      aJobRow({ spec: { ...aPlannedJobSpec({ suspend: true }), model: undefined } }),
      { gpus: 8 },
      'INVALID_REQUEST',
    ],
  ])('refuses %s', (_what, row, request, want) => {
    expect(codeOf(() => resumeChange(row, request))).toBe(want);
  });
});

describe('a resume of a job that has ended', () => {
  const aSave = (step: number, state: KnownCheckpoint['state'], place: object): KnownCheckpoint => {
    const of = { jobName: 'tiny-gpt', jobUid: 'uid', epoch: 1, format: 'torch_dcp', layout: wide, bytes: 1 };
    return { name: `s${step}`, step, state, message: null, spec: { ...of, path: `runs/s${step}`, ...place } };
  };
  const saved = (place: object): readonly KnownCheckpoint[] => [
    aSave(40, 'Damaged', place),
    aSave(20, 'Complete', place),
  ];
  it.each<[string, JobRow['state'], readonly KnownCheckpoint[], string]>([
    [
      'names the commands with which another job continues from its newest good checkpoint',
      'Failed',
      saved({ claimName: 'claim' }),
      'job "tiny-gpt" is Failed and cannot be resumed; make another job. To continue from step 20: coxswain checkpoint adopt tiny-gpt-step-20 --claim claim --path runs/s20, then set spec.resumeFrom.from: tiny-gpt-step-20 in the file of the other job',
    ],
    [
      'names its place in a bucket',
      'Cancelled',
      saved({ claimName: '', bucket: { uri: 's3://training/llama' } }),
      'job "tiny-gpt" is Cancelled and cannot be resumed; make another job. To continue from step 20: coxswain checkpoint adopt tiny-gpt-step-20 s3://training/llama/runs/s20, then set spec.resumeFrom.from: tiny-gpt-step-20 in the file of the other job',
    ],
    [
      'names no checkpoint if it has none',
      'Failed',
      [],
      'job "tiny-gpt" is Failed and cannot be resumed; make another job',
    ],
    [
      'names none if it is complete',
      'Complete',
      saved({ claimName: 'claim' }),
      'job "tiny-gpt" is Complete and cannot be resumed; make another job',
    ],
  ])('%s', (_sentence, state, known, want) => {
    expect(() => resumeChange(ended(state), {}, known)).toThrow(new DomainError('ALREADY_FINISHED', want));
  });
});

describe('resume from a place', () => {
  const name = (step: number): string => `tiny-gpt-3f1c2b9e-e1-s${step}`;
  const known = [
    { name: name(40), step: 40, state: 'Damaged' as const, message: 'a file is cut off' },
    { name: name(20), step: 20, state: 'Complete' as const, message: null },
  ];
  const placed = {
    type: 'Placed',
    status: 'False',
    message: 'no',
    observedGeneration: 1,
    lastTransitionTime: '',
  } as const;
  const waiting = (reason: string) => aJobRow({ ...running, status: { conditions: [{ ...placed, reason }] } });

  it.each<[string, JobRow, string, DesiredChange]>([
    [
      'lets a suspended job begin there',
      suspended,
      name(20),
      { suspend: false, resumeFrom: { from: name(20), request: '2' } },
    ],
    [
      'lets it begin from a damaged one, which launchers verify before they load it',
      suspended,
      name(40),
      { suspend: false, resumeFrom: { from: name(40), request: '2' } },
    ],
    [
      'lets it begin from scratch',
      suspended,
      'scratch',
      { suspend: false, resumeFrom: { from: 'scratch', request: '2' } },
    ],
    [
      'answers a job that waits because no checkpoint can be used',
      waiting('CheckpointsUnusable'),
      'scratch',
      { suspend: false, resumeFrom: { from: 'scratch', request: '2' } },
    ],
    [
      'is another request each time',
      aJobRow({ ...suspended, generation: '7' }),
      'scratch',
      { suspend: false, resumeFrom: { from: 'scratch', request: '8' } },
    ],
  ])('%s', (_sentence, row, from, want) => {
    expect(resumeChange(row, { from }, known)).toEqual(want);
  });

  it.each<[string, JobRow, string, RegExp]>([
    [
      'one that the job does not have',
      suspended,
      'x-e1-s1',
      /has no checkpoint x-e1-s1, and one of another job can be used once it is adopted; give one of .*s20 \(step 20\), or "scratch"/,
    ],
    [
      'a job that saves nothing',
      aJobRow({ spec: { ...aJobSpec({ suspend: true }), checkpoint: undefined } }),
      'scratch',
      /saves no checkpoints/,
    ],
    ['a job that runs', running, 'scratch', /is not suspended; suspend it/],
    ['a job that waits for something else', waiting('WaitingForCapacity'), 'scratch', /is not suspended/],
  ])('refuses %s', (_what, row, from, want) => {
    expect(() => resumeChange(row, { from }, known)).toThrow(want);
  });
});

describe('resume at another layout', () => {
  const layout = aLayout({ tensorParallelDegree: 2, dataParallelDegree: 2 });
  const dp4 = aLayout({ dataParallelDegree: 4 });
  const own = { jobName: 'a', jobUid: 'b', epoch: 1, path: 'a-b/epoch-1/save' };
  const save = (step: number, format: string, optimizerSharding?: string): KnownCheckpoint => ({
    ...{ name: `save-${step}`, step, state: 'Complete', message: null },
    spec: { ...own, format, layout, bytes: 1 },
    contents: optimizerSharding === undefined ? null : ({ optimizerSharding } as KnownCheckpoint['contents'] & object),
  });
  const bound = save(20, 'torch_dist', 'dp_reshardable');
  const free = save(10, 'torch_dist', 'fully_reshardable');
  const adopted: KnownCheckpoint = {
    ...bound,
    step: 900,
    spec: { ...own, jobName: '', format: 'torch_dist', layout, bytes: 1 },
  };
  const damaged: KnownCheckpoint = { ...bound, name: 'save-30', step: 30, state: 'Damaged' };

  it.each<[string, readonly KnownCheckpoint[], Parameters<typeof resumeChange>[1], RegExp]>([
    [
      'that its newest checkpoint does not load at, and names one that does',
      [damaged, bound, free],
      { layout: dp4 },
      /^layout: checkpoint save-20 \(step 20\) was saved as torch_dist .* before they change; these load at the layout, give one as "from": save-10 \(step 10\)$/,
    ],
    [
      'that the named checkpoint does not load at',
      [free, bound],
      { layout: dp4, from: 'save-20' },
      /^from: checkpoint save-20 \(step 20\) was saved as torch_dist/,
    ],
  ])('is refused for a layout %s', (_what, known, request, want) => {
    expect(() => resumeChange(suspended, request, known)).toThrow(want);
  });

  it.each<[string, readonly KnownCheckpoint[], Parameters<typeof resumeChange>[1]]>([
    ['the checkpoint loads', [free, bound], { layout: dp4 }],
    ['it begins from scratch', [bound], { layout: dp4, from: 'scratch' }],
    ['the planner chooses the layout', [bound], { gpus: 4 }],
    ['nothing was saved', [], { layout: dp4 }],
    ['an adopted one that does not load is newer', [adopted, free], { layout: dp4 }],
  ])('is accepted if %s', (_what, known, request) => {
    const row = request.gpus === undefined ? suspended : aJobRow({ spec: aPlannedJobSpec({ suspend: true }) });
    expect(resumeChange(row, request, known)).toMatchObject({ suspend: false });
  });
});

describe('cancel', () => {
  it.each<[string, JobRow, DesiredChange | undefined]>([
    ['stops a running job', running, { cancel: true }],
    ['stops a suspended job', suspended, { cancel: true }],
    ['changes nothing when it was asked for already', beingCancelled, undefined],
    ['changes nothing of a job that is cancelled', ended('Cancelled'), undefined],
  ])('%s', (_sentence, row, want) => {
    expect(cancelChange(row)).toEqual(want);
  });

  it.each<[JobRow['state'], DomainErrorCode]>([
    ['Complete', 'ALREADY_FINISHED'],
    ['Failed', 'ALREADY_FINISHED'],
    ['Deleting', 'CONFLICT'],
  ])('of a job that is %s is %s', (state, want) => {
    expect(codeOf(() => cancelChange(ended(state)))).toBe(want);
  });
});

describe('delete', () => {
  it.each<[string, JobRow, DesiredChange | undefined]>([
    ['removes a running job', running, { delete: true }],
    ['removes a job that has ended', ended('Complete'), { delete: true }],
    ['removes a job that is being cancelled', beingCancelled, { delete: true }],
    ['changes nothing when it was asked for already', beingDeleted, undefined],
  ])('%s', (_sentence, row, want) => {
    expect(deleteChange(row)).toEqual(want);
  });

  it('finds no job that was deleted', () => {
    expect(codeOf(() => deleteChange(aJobRow({ deleted_at: new Date() })))).toBe('NOT_FOUND');
  });
});

describe('what a command refuses', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['names the job and what to do first', () => resumeChange(running, {}), /"tiny-gpt" is not suspended; suspend it/],
    [
      'says what cannot be undone',
      () => resumeChange(aJobRow({ ...suspended, desired_cancel: true }), {}),
      /cannot be undone/,
    ],
    [
      'names the state in which it ended',
      () => suspendChange(ended('Failed')),
      /"tiny-gpt" is Failed and cannot be suspended/,
    ],
  ])('%s', (_sentence, act, want) => {
    expect(act).toThrow(want);
  });
});

describe('the urgency of a change', () => {
  it.each<[string, DesiredChange, string]>([
    ['suspend', { suspend: true }, 'stop'],
    ['cancel', { cancel: true }, 'stop'],
    ['delete', { delete: true }, 'stop'],
    ['resume', { suspend: false, layout: undefined, gpus: undefined }, 'run'],
    ['a change of labels', { labels: { team: 'vision' } }, 'describe'],
  ])('of %s', (_what, change, urgency) => {
    expect(urgencyOf(change)).toBe(urgency);
  });
});

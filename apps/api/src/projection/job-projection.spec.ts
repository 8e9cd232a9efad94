import type { Condition, TrainingJob } from '@coxswain/api-types';
import { aJobSpec, anAttempt, aTrainingJob } from '@coxswain/api-types/testing';
import { aLayout } from '@coxswain/layout/testing';
import type { JobRow, RowState } from '../jobs/job-row.ts';
import { aJobRow } from '../jobs/testing/a-job-row.ts';
import { resourceColumnsOf } from './job-projection.ts';

type Status = NonNullable<TrainingJob['status']>;
const aStatus = (status: Partial<Status>): Status => ({ state: 'Running', summary: 'It trains.', ...status }) as Status;
const columnsOf = (status?: Partial<Status>, metadata: Partial<TrainingJob['metadata']> = {}) =>
  resourceColumnsOf(
    aTrainingJob({ metadata, ...(status === undefined ? {} : { status: aStatus(status) }) }),
    undefined,
  );
const condition = (type: 'Complete' | 'Failed' | 'Placed', status: 'True' | 'False') =>
  ({ type, status, reason: 'X', message: '', lastTransitionTime: '2026-01-02T00:00:00Z' }) as never;

describe('what a row repeats of its resource', () => {
  it('is all of it, before the operator has looked at it', () => {
    const job = aTrainingJob();
    expect(resourceColumnsOf(job, undefined)).toEqual({
      uid: job.metadata.uid,
      spec: job.spec,
      status: {},
      state: 'Queued',
      summary: 'The operator has not looked at it yet.',
      resourceVersion: '100',
      labels: {},
      changesSpec: false,
      isFinished: false,
      finishedAt: null,
      waitsSince: null,
      firstExpectedStart: null,
    });
  });

  it('is the operator’s status and sentence, less the attempts, which have a table of their own', () => {
    const { status, state, summary } = columnsOf({ epoch: 3, attempts: [anAttempt()] });
    expect({ status, state, summary }).toEqual({
      status: { state: 'Running', summary: 'It trains.', epoch: 3 },
      state: 'Running',
      summary: 'It trains.',
    });
  });

  it.each<[string, { readonly isDeleteAsked: boolean; readonly deletionTimestamp?: string }, RowState]>([
    ['as its status says', { isDeleteAsked: false }, 'Running'],
    ['being deleted when that was asked of us', { isDeleteAsked: true }, 'Deleting'],
    [
      'being deleted when somebody else asked',
      { isDeleteAsked: false, deletionTimestamp: '2026-01-02T00:00:00Z' },
      'Deleting',
    ],
  ])('is a state: %s', (_what, { isDeleteAsked, deletionTimestamp }, want) => {
    const metadata = deletionTimestamp === undefined ? {} : { deletionTimestamp };
    const job = aTrainingJob({ metadata, status: aStatus({}) });
    expect(resourceColumnsOf(job, aJobRow({ desired_delete: isDeleteAsked })).state).toBe(want);
  });

  it('says that it is being deleted when no operator has said anything', () => {
    const summary = resourceColumnsOf(aTrainingJob(), aJobRow({ desired_delete: true })).summary;
    expect(summary).toBe('The job is being deleted.');
  });

  it.each<[string, Condition['reason'] | undefined, string | null]>([
    ['has waited since its condition changed, for GPUs', 'WaitingForCapacity', '2026-01-02T00:00:00.000Z'],
    ['has waited since then for nodes that fit its topology', 'TopologyUnsatisfiable', '2026-01-02T00:00:00.000Z'],
    ['waits for no GPUs while an object is missing', 'ObjectMissing', null],
    ['waits for no GPUs before it is scheduled', undefined, null],
  ])('%s', (_what, reason, want) => {
    const conditions = reason === undefined ? [] : [{ ...(condition('Placed', 'False') as Condition), reason }];
    expect(columnsOf({ state: 'Queued', conditions }).waitsSince).toBe(want);
  });

  it.each<[string, object, object | null]>([
    [
      'is kept as it was expected first',
      { firstPromised: '2026-01-02T00:00:00Z', promisedAt: '2026-01-01T00:00:00Z', at: '2026-01-09T00:00:00Z' },
      { start: '2026-01-02T00:00:00.000Z', since: '2026-01-01T00:00:00.000Z' },
    ],
    ['is left out if it cannot be read', { firstPromised: 'soon', promisedAt: '2026-01-01T00:00:00Z' }, null],
  ])('has a start that %s', (_what, expectedStart, want) => {
    expect(columnsOf({ state: 'Queued', expectedStart } as Partial<Status>).firstExpectedStart).toEqual(want);
  });

  it.each<[string, Partial<Status>, boolean, string | null]>([
    ['goes on while it runs', { state: 'Running' }, false, null],
    [
      'ends when it is complete',
      { state: 'Complete', conditions: [condition('Complete', 'True')] },
      true,
      '2026-01-02T00:00:00Z',
    ],
    [
      'ends when it has failed',
      { state: 'Failed', conditions: [condition('Failed', 'True')] },
      true,
      '2026-01-02T00:00:00Z',
    ],
    ['ends at the time of the write when no condition says when', { state: 'Cancelled', conditions: [] }, true, null],
    [
      'has no end by a condition that does not hold',
      { state: 'Running', conditions: [condition('Complete', 'False')] },
      false,
      null,
    ],
    ['has no end by another condition', { state: 'Running', conditions: [condition('Placed', 'True')] }, false, null],
  ])('%s', (_sentence, status, isFinished, finishedAt) => {
    expect(columnsOf(status)).toMatchObject({ isFinished, finishedAt });
  });
});

describe('what a row asks for', () => {
  const wide = aLayout({ dataParallelDegree: 4 });
  const backwards = Object.fromEntries(Object.entries(aJobSpec()).reverse()) as TrainingJob['spec'];
  it.each<[string, Partial<JobRow>, TrainingJob['spec'], boolean]>([
    ['is another when somebody suspended the resource', {}, aJobSpec({ suspend: true }), true],
    ['is another when somebody gave the resource another layout', {}, aJobSpec({ layout: wide }), true],
    ['is the same when only its status has changed', {}, aJobSpec(), false],
    ['is the same in another order of keys', {}, backwards, false],
    [
      'is the same when the resource comes to what was asked',
      { desired_suspend: true },
      aJobSpec({ suspend: true }),
      false,
    ],
    ['is the same while a change on its way is overtaken', { desired_layout: wide }, aJobSpec(), false],
    [
      'is another when somebody changes what a change on its way leaves as it is',
      { desired_suspend: true },
      aJobSpec({ layout: wide }),
      true,
    ],
  ])('%s', (_sentence, row, spec, want) => {
    expect(resourceColumnsOf({ ...aTrainingJob(), spec }, aJobRow(row)).changesSpec).toBe(want);
  });
});

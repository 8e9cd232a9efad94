import { TrainingJobStatus } from '@coxswain/api-types';
import { anAttempt, aStatus } from '../testing/jobs.ts';
import { withReadableStatus } from './readable-status.ts';

const kept = (status: unknown): unknown => withReadableStatus({ status: status as TrainingJobStatus }).status;

describe('what a cache keeps of a status', () => {
  it('is the same object if it can be read', () => {
    const job = { status: TrainingJobStatus.parse(aStatus()) };
    expect(withReadableStatus(job)).toBe(job);
  });

  it.each([
    ['is nothing of a text', 'x', undefined],
    ['is nothing of a list', [1], undefined],
    ['is nothing of null', null, undefined],
    ['is no list field that holds no list', { attempts: {}, conditions: 'none', epoch: 3 }, { epoch: 3 }],
    ['is each field that can be read', { epoch: 3, restarts: 'many', notBefore: 7 }, { epoch: 3 }],
    ['is what a later release has written beside a bad field', { later: { a: 1 }, epoch: 'x' }, { later: { a: 1 } }],
  ])('%s', (_, status, want) => {
    if (want === undefined) expect(kept(status)).toBeUndefined();
    else expect(kept(status)).toMatchObject(want);
    expect(Object.keys(kept(status) ?? {})).toEqual(Object.keys(want ?? {}));
  });

  it('is each entry of a list that can be read', () => {
    const attempt = anAttempt();
    expect(kept({ epoch: 1, attempts: [null, attempt, 7, { epoch: 'x' }] })).toMatchObject({ attempts: [attempt] });
  });
});

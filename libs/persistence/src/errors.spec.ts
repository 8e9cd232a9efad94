import { DatabaseError, isUnavailable, isUniqueViolation, isUnstorableText, toDatabaseError } from './errors.ts';

const failure = (code: string, message = 'x', constraint?: string): DatabaseError =>
  new DatabaseError({ code, message, constraint });

describe('a failure of the database', () => {
  it.each([
    'ECONNREFUSED',
    'ECONNRESET',
    'ETIMEDOUT',
    'EAI_AGAIN',
    '57P01',
    '57P03',
    '53300',
    '25006',
    '40001',
    '40P01',
    '08006',
  ])('%s passes by itself', (code) => {
    expect(isUnavailable(failure(code))).toBe(true);
  });

  it.each([
    'Connection terminated unexpectedly',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error',
  ])('without a code, in the words %j, passes by itself', (message) => {
    expect(isUnavailable(failure('', message))).toBe(true);
  });

  it.each(['23505', '42601', '42703', '22021', ''])('%j does not: the same statement fails again', (code) => {
    expect(isUnavailable(failure(code))).toBe(false);
  });

  it.each(['22021', '22P05'])('%s is text that cannot be stored', (code) => {
    expect(isUnstorableText(failure(code))).toBe(true);
    expect(isUnstorableText(failure('23505'))).toBe(false);
  });

  it('is a taken name only for the constraint that is asked about', () => {
    const taken = failure('23505', 'x', 'jobs_live_name');
    expect(isUniqueViolation(taken)).toBe(true);
    expect(isUniqueViolation(taken, 'jobs_live_name')).toBe(true);
    expect(isUniqueViolation(taken, 'projects_name')).toBe(false);
    expect(isUniqueViolation(failure('23503', 'x', 'jobs_live_name'))).toBe(false);
  });

  it.each<[string, unknown]>([
    ['an error of ours', new Error('ECONNREFUSED')],
    ['what is no error', { code: '57P01' }],
    ['nothing', undefined],
  ])('is not %s', (_what, error) => {
    expect([isUnavailable(error), isUniqueViolation(error), isUnstorableText(error)]).toEqual([false, false, false]);
  });
});

describe('an error of the driver', () => {
  it.each<[string, object, object]>([
    [
      'keeps code and constraint',
      { code: '23505', message: 'dup', constraint: 'c' },
      { code: '23505', constraint: 'c' },
    ],
    [
      'is looked for inside TypeORM’s',
      { message: 'dup', driverError: { code: '23505', constraint: 'c' } },
      { code: '23505', constraint: 'c' },
    ],
    [
      'is the first of several addresses',
      { errors: [{ code: 'ECONNREFUSED', message: 'refused' }] },
      { code: 'ECONNREFUSED', message: 'refused' },
    ],
    ['may say nothing', {}, { code: '', message: 'unknown database failure' }],
  ])('%s', (_sentence, error, want) => {
    expect(toDatabaseError(error)).toMatchObject(want);
  });

  it('never carries the parameters: they may hold what a user sent', () => {
    const error = Object.assign(new Error('dup'), {
      parameters: ['hunter2'],
      detail: 'Key (name)=(hunter2)',
      query: 'x',
    });
    expect(JSON.stringify({ ...toDatabaseError(error), message: toDatabaseError(error).message })).not.toMatch(
      /hunter2/,
    );
  });

  it('is itself when it was made safe already', () => {
    const safe = failure('23505');
    expect(toDatabaseError(safe)).toBe(safe);
  });
});

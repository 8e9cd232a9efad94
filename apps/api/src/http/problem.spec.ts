import { DOMAIN_ERROR_CODES, DomainError } from '@coxswain/domain-error';
import { DatabaseError } from '@coxswain/persistence';
import { HttpException } from '@nestjs/common';
import { STATUS_BY_CODE, toProblem } from './problem.ts';

const fromFastify = (statusCode: number, message: string): Error => Object.assign(new Error(message), { statusCode });

describe('the problem document of an error', () => {
  it.each(DOMAIN_ERROR_CODES)('of code %s has its status, a title and a type of its own', (code) => {
    const problem = toProblem(new DomainError(code, 'name "x" is taken; choose another'), '/v1/jobs');
    expect(problem).toMatchObject({ code, status: STATUS_BY_CODE[code], instance: '/v1/jobs' });
    expect(problem.status).toBeGreaterThanOrEqual(400);
    expect(problem.title).not.toBe('');
    expect(problem.type).toMatch(/^https:\/\/coxswain\.dev\/problems\/[a-z-]+$/);
    expect(problem.detail).toBe('name "x" is taken; choose another');
  });

  it('holds the pointers of what is wrong, if there are any', () => {
    const violations = [{ pointer: '/name', detail: 'is too long' }];
    expect(toProblem(new DomainError('INVALID_REQUEST', 'x', violations)).errors).toEqual(violations);
    expect(toProblem(new DomainError('INVALID_REQUEST', 'x'))).not.toHaveProperty('errors');
  });

  it.each<[string, unknown, object]>([
    [
      'a database that is away',
      new DatabaseError({ code: 'ECONNREFUSED', message: 'x' }),
      { code: 'UNAVAILABLE', status: 503 },
    ],
    [
      'text that cannot be stored',
      new DatabaseError({ code: '22021', message: 'x' }),
      { code: 'INVALID_REQUEST', status: 400 },
    ],
    [
      'a route that there is not',
      new HttpException('Cannot GET /x', 404),
      { code: 'NOT_FOUND', status: 404, detail: 'Cannot GET /x' },
    ],
    [
      'a body that is too large',
      fromFastify(413, 'x'),
      { code: 'TOO_LARGE', status: 413, detail: expect.stringMatching(/1 MB/) as string },
    ],
    [
      'a content type that is not JSON',
      fromFastify(415, 'Unsupported Media Type: x'),
      { code: 'INVALID_REQUEST', status: 400 },
    ],
    ['too many requests', fromFastify(429, 'slow down'), { code: 'RATE_LIMITED', status: 429 }],
  ])('of %s says so', (_what, error, want) => {
    expect(toProblem(error)).toMatchObject(want);
  });

  it.each<[string, unknown]>([
    ['a mistake of ours', new TypeError('x.y is not a function at /srv/secret.ts')],
    ['a statement that is wrong', new DatabaseError({ code: '42703', message: 'column secret does not exist' })],
    ['a 500 of the framework', fromFastify(500, 'secret')],
    ['what is no error', 'secret'],
  ])('of %s says nothing of the inside', (_what, error) => {
    const problem = toProblem(error);
    expect(problem).toMatchObject({ status: 500, code: 'INTERNAL' });
    expect(JSON.stringify(problem)).not.toMatch(/secret/);
  });
});

import { DomainError } from '@coxswain/domain-error';
import { GraphQLError } from 'graphql';
import { toGraphqlErrors } from './graphql-errors.ts';

const MASKED = 'the request failed for a reason that is not yours; it was recorded under the request id';
const thrown = (originalError: Error): GraphQLError =>
  new GraphQLError(originalError.message, { path: ['job'], originalError });
const violation = { pointer: '/name', detail: 'is too long' };

describe('an error', () => {
  it.each<[string, unknown, object]>([
    [
      'of the query',
      new GraphQLError('Unknown field'),
      { message: 'Unknown field', extensions: { code: 'INVALID_REQUEST' } },
    ],
    [
      'of a variable, though a scalar threw it',
      new GraphQLError('Variable "$x" is wrong', { originalError: new TypeError('x') }),
      { message: 'Variable "$x" is wrong', extensions: { code: 'INVALID_REQUEST' } },
    ],
    [
      'that repeats a megabyte',
      new GraphQLError(`Variable "$x" got invalid value "${'y'.repeat(1_000_000)}"`),
      { message: expect.stringMatching(/^.{3999}…$/) as unknown, extensions: { code: 'INVALID_REQUEST' } },
    ],
    [
      'of a service',
      thrown(new DomainError('NAME_TAKEN', 'taken', [violation])),
      { message: 'taken', path: ['job'], extensions: { code: 'NAME_TAKEN', errors: [violation] } },
    ],
    ['of ours', thrown(new Error('secret')), { message: MASKED, path: ['job'], extensions: { code: 'INTERNAL' } }],
    [
      'of ours while an answer is written',
      new GraphQLError('Enum cannot represent "secret"', { path: ['job'] }),
      { message: MASKED, path: ['job'], extensions: { code: 'INTERNAL' } },
    ],
    ['that is no error', 'secret', { message: MASKED, extensions: { code: 'INTERNAL' } }],
    [
      'of a parser out of stack',
      new RangeError('Maximum call stack size exceeded'),
      { message: expect.stringContaining('levels deep') as unknown, extensions: { code: 'INVALID_REQUEST' } },
    ],
  ])('%s', (_what, error, want) => {
    const reported: unknown[] = [];
    const answered = toGraphqlErrors([error], (cause) => reported.push(cause));
    expect(answered).toEqual([want]);
    expect(reported).toHaveLength((want as { message: unknown }).message === MASKED ? 1 : 0);
  });
});

describe('errors', () => {
  it('of one failure are reported once', () => {
    const reported: unknown[] = [];
    const [failure, other] = [new Error('no database'), new Error('no database')];
    toGraphqlErrors([thrown(failure), thrown(failure), thrown(other)], (cause) => reported.push(cause));
    expect(reported).toEqual([failure, other]);
  });

  it('are told up to fifty at a time', () => {
    expect(toGraphqlErrors(Array(60).fill(new GraphQLError('x')), () => undefined)).toHaveLength(50);
  });
});

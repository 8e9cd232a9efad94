import { DOMAIN_ERROR_CODES, DomainError, isDomainError } from './index.ts';

const refused = new DomainError('INVALID_LAYOUT', 'tensorParallelDegree 5 does not divide attentionHeads 96', [
  { pointer: '/spec/layout/tensorParallelDegree', detail: 'the nearest that does is 4' },
]);

describe('an error of the domain', () => {
  it('carries its code for machines, its sentence for people, and where each fault is', () => {
    expect(refused).toMatchObject({
      name: 'DomainError',
      code: 'INVALID_LAYOUT',
      message: 'tensorParallelDegree 5 does not divide attentionHeads 96',
      violations: [{ pointer: '/spec/layout/tensorParallelDegree', detail: 'the nearest that does is 4' }],
    });
    expect(refused).toBeInstanceOf(Error);
  });

  it('has no faults of its own unless they are given', () => {
    expect(new DomainError('NOT_FOUND', 'there is no job 7').violations).toEqual([]);
  });

  it.each<[string, unknown, Parameters<typeof isDomainError>[1], boolean]>([
    ['one is recognised', refused, undefined, true],
    ['one of a code is recognised', refused, 'INVALID_LAYOUT', true],
    ['one of another code is not', refused, 'NOT_FOUND', false],
    ['a failure of the system is none', new Error('connection lost'), undefined, false],
    ['what only looks like one is none', { name: 'DomainError', code: 'INVALID_LAYOUT' }, undefined, false],
    ['nothing is none', undefined, undefined, false],
  ])('%s', (_sentence, error, code, want) => {
    expect(isDomainError(error, code)).toBe(want);
  });

  it('has codes that are all different', () => {
    expect(new Set(DOMAIN_ERROR_CODES).size).toBe(DOMAIN_ERROR_CODES.length);
  });
});

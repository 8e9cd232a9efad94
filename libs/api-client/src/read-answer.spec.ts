import { IncidentList, Job, ProjectLimitList } from '@coxswain/api-types';
import { aJob, aJobFailure } from '@coxswain/api-types/testing';
import { z } from 'zod';
import { meaningOf, readAnswer } from './read-answer.ts';

const limit = { name: 'jobs', most: 4, used: 1, perSecond: null, counted: 'inProject' };
const Known = z.object({
  kind: z.enum(['a', 'b']),
  step: z.int().default(0),
  state: z.enum(['on']).or(z.enum(['off'])),
});

describe('an answer of a newer server', () => {
  it.each<[string, z.ZodType, unknown]>([
    ['has a limit that this release does not know', ProjectLimitList, { items: [limit, { ...limit, name: 'polls' }] }],
    ['counts a limit in another way', ProjectLimitList, { items: [{ ...limit, counted: 'inCluster' }] }],
    ['has a state that this release does not know', Job, { ...aJob(), state: 'Hibernating' }],
    [
      'has a crash class that this release does not know',
      Job,
      { ...aJob(), lastFailure: { ...aJobFailure(), class: 'QuantumDecoherence', blame: 'weather' } },
    ],
    ['has two names of another release', ProjectLimitList, { items: [{ ...limit, name: 'a', counted: 'b' }] }],
  ])('%s, which is shown as it is', (_what, schema, answer) => {
    expect(readAnswer(schema, answer)).toEqual({ isRead: true, answer });
  });

  it('has defaults beside a name that this release does not know', () => {
    expect(readAnswer(Known, { kind: 'c', state: 'on' })).toEqual({
      isRead: true,
      answer: { kind: 'c', step: 0, state: 'on' },
    });
  });

  it.each<[string, z.ZodType, unknown, string]>([
    ['a name that is no text', Known, { kind: 7, state: 'on' }, 'kind'],
    ['a name that is missing', Known, { state: 'on' }, 'kind'],
    ['a number that is a text, beside an unknown name', Known, { kind: 'c', step: 'x', state: 'on' }, 'step'],
    ['something else', IncidentList, { hello: 'world' }, 'items'],
  ])('is refused with its place if it has %s', (_what, schema, answer, at) => {
    expect(readAnswer(schema, answer)).toEqual({ isRead: false, at });
  });

  it('has a name without a meaning in this release', () => {
    expect(['jobs', 'polls', 'toString'].map((name) => meaningOf({ jobs: 'jobs that run' }, name))).toEqual([
      ...['jobs that run', 'polls', 'toString'],
    ]);
  });
});

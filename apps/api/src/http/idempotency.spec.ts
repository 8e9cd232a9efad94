import { createHash } from 'node:crypto';
import { DomainError } from '@coxswain/domain-error';
import { type ScriptedAnswer, scriptedSql } from '../testing/scripted-sql.ts';
import { aPrincipal } from '../testing/a-principal.ts';
import { storedAnswerOf, createIdempotently, runIdempotently } from './idempotency.ts';

const principal = aPrincipal();
const aRequest = (request: unknown = { name: 'a', gpus: 8 }) => ({ principal, key: 'key', request });
const stored = (json: string, response: unknown): ScriptedAnswer => [
  /FROM idempotency_keys/,
  [{ request_sha256: createHash('sha256').update(json).digest(), response }],
];
const LOCKED: ScriptedAnswer = [/pg_try_advisory_xact_lock/, [{ free: true }]];
const SAME = '{"gpus":8,"name":"a"}';

async function outcomeOf(act: Promise<unknown>): Promise<unknown> {
  return act.catch((error: unknown) => (error instanceof DomainError ? error.code : error));
}

describe('a request under a key', () => {
  it('is carried out and its answer stored, when the key is new', async () => {
    const sql = scriptedSql([LOCKED]);
    expect(await runIdempotently(sql, aRequest(), () => Promise.resolve('made'))).toBe('made');
    expect(sql.statements.at(-1)).toMatch(/INSERT INTO idempotency_keys/);
  });

  it.each<[string, readonly ScriptedAnswer[], unknown, unknown]>([
    ['gets the first answer again', [LOCKED, stored(SAME, 'first')], { name: 'a', gpus: 8 }, 'first'],
    ['gets it whatever the order of its fields', [LOCKED, stored(SAME, 'first')], { gpus: 8, name: 'a' }, 'first'],
    [
      'is refused when it asks for something else',
      [LOCKED, stored(SAME, 'first')],
      { name: 'b', gpus: 8 },
      'IDEMPOTENCY_KEY_REUSED',
    ],
    [
      'is refused when a list is in another order',
      [LOCKED, stored('["a","b"]', 'x')],
      ['b', 'a'],
      'IDEMPOTENCY_KEY_REUSED',
    ],
    ['is told to wait while the first is under way', [[/pg_try_advisory/, [{ free: false }]]], {}, 'CONFLICT'],
  ])('%s, and nothing is done', async (_sentence, answers, request, want) => {
    let times = 0;
    const work = (): Promise<number> => Promise.resolve((times += 1));
    expect(await outcomeOf(runIdempotently(scriptedSql(answers), aRequest(request), work))).toBe(want);
    expect(times).toBe(0);
  });

  it('stores nothing when the work fails: the key may be used again', async () => {
    const sql = scriptedSql([LOCKED]);
    const failing = runIdempotently(sql, aRequest(), () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(sql.statements.filter((text) => text.includes('INSERT'))).toEqual([]);
  });

  it('that makes something large keeps its id alone', async () => {
    const kept: unknown[] = [];
    const sql = scriptedSql([LOCKED, [/INSERT INTO idempotency_keys/, (parameters) => (kept.push(parameters[3]), [])]]);
    const plan = { id: 'p', answer: 'long' };
    const making = { make: () => Promise.resolve(plan), find: () => Promise.reject(new Error('it is not looked for')) };
    expect(await createIdempotently(sql, aRequest(), making)).toBe(plan);
    expect(kept).toEqual(['{"id":"p"}']);
  });

  it.each<[string, unknown, string | undefined, string]>([
    ['is answered with what was made, as it is now', { id: 'p' }, 'as it is now', 'as it is now'],
    [
      'is, where a release before kept the whole answer',
      { id: 'p', state: 'as it was' },
      'as it is now',
      'as it is now',
    ],
    ['makes it anew where that is no more', { id: 'p' }, undefined, 'made anew'],
  ])('that made something large %s', async (_sentence, response, present, want) => {
    const sql = scriptedSql([LOCKED, stored(SAME, response)]);
    const answer = await createIdempotently(sql, aRequest(), {
      make: () => Promise.resolve({ id: 'q', state: 'made anew' }),
      find: (id) => Promise.resolve(present === undefined ? undefined : { id, state: present }),
    });
    expect(answer).toEqual({ id: present === undefined ? 'q' : 'p', state: want });
    expect(sql.statements.some((text) => text.includes('INSERT'))).toBe(present === undefined);
  });

  it('has no answer before it was asked', async () => {
    expect(await storedAnswerOf(scriptedSql([]), aRequest())).toBeUndefined();
  });
});

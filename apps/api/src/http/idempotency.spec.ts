import { createHash } from 'node:crypto';
import { DomainError } from '@coxswain/domain-error';
import { type ScriptedAnswer, scriptedSql } from '../testing/scripted-sql.ts';
import { aPrincipal } from '../testing/a-principal.ts';
import { answeredBefore, withIdempotencyKey } from './idempotency.ts';

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
    expect(await withIdempotencyKey(sql, aRequest(), () => Promise.resolve('made'))).toBe('made');
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
    expect(await outcomeOf(withIdempotencyKey(scriptedSql(answers), aRequest(request), work))).toBe(want);
    expect(times).toBe(0);
  });

  it('stores nothing when the work fails: the key may be used again', async () => {
    const sql = scriptedSql([LOCKED]);
    const failing = withIdempotencyKey(sql, aRequest(), () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(sql.statements.filter((text) => text.includes('INSERT'))).toEqual([]);
  });

  it('has no answer before it was asked', async () => {
    expect(await answeredBefore(scriptedSql([]), aRequest())).toBeUndefined();
  });
});

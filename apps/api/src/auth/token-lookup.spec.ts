import type { TenantDatabase } from '@coxswain/persistence';
import { freshToken, partsOfToken, type FreshToken, type TokenParts } from './token-format.ts';
import { FRUITLESS_PAUSE_MS, MOST_WAITING, SLOW_QUERY_MS, TokenLookup } from './token-lookup.ts';

interface Query {
  readonly prefixes: readonly string[];
  readonly answer: () => void;
  readonly fail: (error: Error) => void;
}

/** Answers when it is told to, from the tokens that are there by then. */
let there: Map<string, Buffer>;
let queries: Query[];
/** What waits for time to pass. */
let pauses: { readonly durationMs: number; readonly end: () => void }[];
let lookup: TokenLookup;

beforeEach(() => {
  there = new Map();
  queries = [];
  pauses = [];
  const database: Pick<TenantDatabase, 'call'> = {
    call: <Row>(_name: string, [prefixes]: readonly unknown[]) =>
      new Promise<readonly Row[]>((resolve, fail) => {
        const asked = prefixes as readonly string[];
        const rows = () =>
          asked.flatMap((prefix) =>
            there.has(prefix) ? [{ id: prefix, prefix, secret_sha256: there.get(prefix) } as Row] : [],
          );
        queries.push({ prefixes: asked, answer: () => resolve(rows()), fail });
      }),
  };
  lookup = new TokenLookup(
    database,
    { clusterId: 'c', idleMinutes: 480 },
    (durationMs) => new Promise((resolve) => pauses.push({ durationMs, end: () => resolve() })),
  );
});

/** Lets everything run that waits for nothing. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const partsOf = ({ token }: FreshToken): TokenParts => partsOfToken(token) ?? { prefix: '', secret: '' };
const make = (token: FreshToken): void => void there.set(token.prefix, token.secretSha256);
const found = async (token: FreshToken): Promise<string> =>
  lookup.find(partsOf(token)).then(
    (row) => row?.id ?? 'nobody',
    (error: unknown) => (error as Error).message,
  );
const passed = (durationMs: number): void =>
  pauses.filter((one) => one.durationMs === durationMs).forEach(({ end }) => end());

describe('a lookup', () => {
  it('asks once for all that came while the query before it was under way', async () => {
    const good = freshToken();
    make(good);
    const first = found(good);
    const rest = Promise.all(Array.from({ length: 999 }, () => found(freshToken())).concat(found(good)));
    queries[0]?.answer();
    expect(await first).toBe(good.prefix);
    await settled();
    expect(queries).toHaveLength(2);
    queries[1]?.answer();
    expect((await rest).at(-1)).toBe(good.prefix);
    expect((await rest).filter((who) => who === 'nobody')).toHaveLength(999);
  });

  it('pauses after a query that found nobody, and not after one that found somebody', async () => {
    const good = freshToken();
    make(good);
    const bad = found(freshToken());
    queries[0]?.answer();
    expect(await bad).toBe('nobody');
    const next = found(good);
    await settled();
    expect(queries).toHaveLength(1);
    passed(FRUITLESS_PAUSE_MS);
    await settled();
    expect(queries).toHaveLength(2);
    queries[1]?.answer();
    expect(await next).toBe(good.prefix);
    void found(good);
    await settled();
    expect(queries).toHaveLength(3);
  });

  it('takes the prefix of somebody else with a wrong secret for nobody, and pauses', async () => {
    const [good, other] = [freshToken(), freshToken()];
    make(good);
    const forged = lookup.find({ prefix: good.prefix, secret: partsOf(other).secret });
    queries[0]?.answer();
    expect(await forged).toBeUndefined();
    void found(good);
    await settled();
    expect(queries).toHaveLength(1);
  });

  it('finds a token that was asked for in vain before it was made', async () => {
    const late = freshToken();
    const before = found(late);
    queries[0]?.answer();
    expect(await before).toBe('nobody');
    make(late);
    const after = found(late);
    await settled();
    passed(FRUITLESS_PAUSE_MS);
    await settled();
    queries[1]?.answer();
    expect(await after).toBe(late.prefix);
  });

  it('that hangs holds up nobody who comes later', async () => {
    const good = freshToken();
    make(good);
    void found(freshToken());
    const behind = found(good);
    await settled();
    expect(queries).toHaveLength(1);
    passed(SLOW_QUERY_MS);
    await settled();
    queries[1]?.answer();
    expect(await behind).toBe(good.prefix);
  });

  it('that fails fails for those who waited for it, and is tried for the next', async () => {
    const good = freshToken();
    make(good);
    const first = found(good);
    queries[0]?.fail(new Error('the database is away'));
    expect(await first).toBe('the database is away');
    const second = found(good);
    await settled();
    passed(FRUITLESS_PAUSE_MS);
    await settled();
    queries[1]?.answer();
    expect(await second).toBe(good.prefix);
  });

  it('is refused when more wait than a process can be asked for, and then goes on', async () => {
    const good = freshToken();
    make(good);
    const first = found(good);
    const { prefix, secret } = partsOf(freshToken());
    const waiting = Array.from({ length: MOST_WAITING }, () => lookup.find({ prefix, secret }));
    expect(() => lookup.find(partsOf(good))).toThrow(/too many tokens wait/);
    queries[0]?.answer();
    expect(await first).toBe(good.prefix);
    await settled();
    expect(queries[1]?.prefixes).toEqual([prefix]);
    const again = found(good);
    queries[1]?.answer();
    expect(await Promise.all(waiting)).toHaveLength(MOST_WAITING);
    await settled();
    passed(FRUITLESS_PAUSE_MS);
    await settled();
    queries[2]?.answer();
    expect(await again).toBe(good.prefix);
  });
});

import { createLogger, createMetrics } from '@coxswain/telemetry';
import { MAX_CACHE_BYTES } from './document-cache.ts';
import { GraphqlEngine, type GraphqlOutcome } from './graphql-engine.ts';
import { MAX_COST } from './query-cost.ts';
import { MAX_ALIASES, MAX_ROOT_FIELDS } from './query-limits.ts';
import { list, one, type RootResolvers } from './root-resolvers.ts';

interface Running {
  /** Root fields that were resolved, in order. */
  readonly resolved: string[];
  run(query: string, variables?: Readonly<Record<string, unknown>>): Promise<GraphqlOutcome>;
  cacheBytes(): Promise<number>;
}

/** The engine over resolvers that only note that they ran. */
function running(): Running {
  const resolved: string[] = [];
  const noted = (name: string, answer: unknown): unknown => {
    resolved.push(name);
    return answer;
  };
  const feature: RootResolvers = {
    queries: {
      whoAmI: one(() => noted('whoAmI', { name: 'me', role: 'viewer' })),
      jobs: list<{ pageSize?: number | null }>(
        ({ pageSize }) => pageSize ?? 50,
        () => noted('jobs', { items: [] }),
      ),
      steps: list<{ limit?: number | null }>(
        ({ limit }) => limit ?? 2_000,
        () => noted('steps', { items: [], gaps: [] }),
      ),
    },
  };
  const metrics = createMetrics();
  const engine = new GraphqlEngine(createLogger({ program: 'test', level: 'silent' }), metrics);
  engine.start([feature]);
  const principal = { tokenId: 't', name: 'me', role: 'viewer', project: null } as const;
  return {
    resolved,
    run: (query, variables) => engine.run({ query, variables }, { principal, requestId: 'r' }),
    cacheBytes: async () =>
      Number(/^coxswain_api_graphql_cache_bytes (\d+)$/m.exec((await metrics.expose()).text)?.[1]),
  };
}

const P = 'project: "p"';
const STEPS = `steps(${P}, jobId: "j", limit: 10000) { items { epoch step loss tokens stepTimeMs } }`;
const aliases = (count: number, field: string): string =>
  `{ ${Array.from({ length: count }, (_, index) => `a${index}: ${field}`).join(' ')} }`;

describe('documents', () => {
  it('are kept up to a number of bytes, when hundreds of large ones come that differ', async () => {
    const engine = running();
    for (let index = 0; index < 300; index++) {
      const project = `p${index}`.padEnd(1_800, 'x');
      expect((await engine.run(`{ jobs(project: "${project}") { items { id name state } } }`)).kind).toBe('ran');
    }
    const bytes = await engine.cacheBytes();
    expect(bytes).toBeGreaterThan(MAX_CACHE_BYTES / 2);
    expect(bytes).toBeLessThanOrEqual(MAX_CACHE_BYTES);
  });

  it('that are refused are not kept', async () => {
    const engine = running();
    for (let index = 0; index < 200; index++) await engine.run(`{ nothing${index} }`);
    expect(await engine.cacheBytes()).toBe(0);
  });

  it('answer the same when they are asked again', async () => {
    const engine = running();
    for (let time = 0; time < 3; time++) {
      const outcome = await engine.run('{ whoAmI { name } }');
      expect(outcome).toEqual({ kind: 'ran', result: { data: { whoAmI: { name: 'me' } } } });
    }
  });
});

describe('the cost of a query', () => {
  it.each<[string, string]>([
    ['one page of 500 jobs', `{ jobs(${P}, pageSize: 500) { items { id name state } nextPageToken } }`],
    ['five loss curves of 10,000 steps', aliases(5, STEPS)],
    ['ten pages of the usual size', aliases(10, `jobs(${P}) { items { id name state } }`)],
    ['the schema', '{ __schema { types { name fields { name type { name ofType { name } } } } } }'],
  ])('lets through %s', async (_what, query) => {
    expect((await running().run(query)).kind).toBe('ran');
  });

  it.each<[string, string, RegExp, Readonly<Record<string, unknown>>]>([
    ['ten aliases of a dear field', aliases(MAX_ROOT_FIELDS, STEPS), /costs 1600000; at most 1000000 is allowed/, {}],
    [
      'a dear field whose number of rows stands in a variable',
      `query($n: Int!) ${aliases(10, `steps(${P}, jobId: "j", limit: $n) { items { step } }`)}`,
      /a0: steps costs 120000, as its 10000 rows count 10 each and 1 more for each of 2 fields/,
      { n: 10_000 },
    ],
    [
      'a dear field whose number of rows is the default of a variable',
      `query($n: Int = 10000) ${aliases(10, `steps(${P}, jobId: "j", limit: $n) { items { step } }`)}`,
      /costs 1200000/,
      {},
    ],
    ['dear fields in a fragment', `{ ...F ...{ ...F } } fragment F on Query ${aliases(4, STEPS)}`, /costs 1280000/, {}],
  ])('refuses %s before anything is resolved', async (_what, query, sentence, variables) => {
    const engine = running();
    const outcome = await engine.run(query, variables);
    expect(outcome).toMatchObject({
      kind: 'refused',
      errors: [{ message: expect.stringMatching(sentence) as unknown, extensions: { code: 'INVALID_REQUEST' } }],
    });
    expect(engine.resolved).toEqual([]);
  });

  it('counts what is asked of a row', async () => {
    const wide = `items { ${'id name state version summary epoch '.repeat(150)} }`;
    const outcome = await running().run(
      `{ jobs(${P}, pageSize: 500) { ${wide} } b: jobs(${P}, pageSize: 500) { items { id } } }`,
    );
    expect(outcome.kind).toBe('ran');
    const dearer = await running().run(
      `{ ${Array.from({ length: 4 }, (_, index) => `b${index}: jobs(${P}, pageSize: 500000) { items { id } }`).join(' ')} }`,
    );
    expect(dearer).toMatchObject({
      kind: 'refused',
      errors: [{ message: expect.stringContaining(`at most ${MAX_COST}`) as unknown }],
    });
  });

  it('does not run what is shaped wrong either', async () => {
    const engine = running();
    const many = Array.from({ length: MAX_ALIASES + 1 }, (_, index) => `b${index}: name`).join(' ');
    expect((await engine.run(`{ whoAmI { ${many} } }`)).kind).toBe('refused');
    expect((await engine.run('query A { whoAmI { name } } query B { whoAmI { name } }')).kind).toBe('refused');
    expect((await engine.run('query($n: Int!) { jobs(project: "p", pageSize: $n) { items { id } } }')).kind).toBe(
      'refused',
    );
    expect(engine.resolved).toEqual([]);
  });
});

import { createLogger, createMetrics } from '@coxswain/telemetry';
import { aPrincipal } from '../testing/a-principal.ts';
import { MAX_CACHE_BYTES } from './document-cache.ts';
import { GraphqlEngine, type GraphqlOutcome } from './graphql-engine.ts';
import { MAX_COST } from './query-cost.ts';
import { MAX_ALIASES, MAX_ROOT_FIELDS } from './query-limits.ts';
import { list, one, type Relation, type RootResolvers } from './root-resolvers.ts';

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
  const events: Relation<{ readonly id: string }, { readonly limit?: number | null }> = {
    rows: ({ limit }) => limit ?? 20,
    resolve: (jobs, { limit }) => {
      noted(`events of ${jobs.length} (${limit})`, undefined);
      if (limit === 13) return Promise.reject(new Error('no database'));
      return Promise.resolve(jobs.map(({ id }) => ({ items: [{ id: Number(id) }] })));
    },
  };
  const feature: RootResolvers = {
    queries: {
      whoAmI: one(() => noted('whoAmI', { name: 'me', role: 'viewer' })),
      jobs: list<{ pageSize?: number | null }>(
        ({ pageSize }) => pageSize ?? 50,
        ({ pageSize }) =>
          noted('jobs', { items: Array.from({ length: pageSize ?? 50 }, (_, id) => ({ id: `${id}` })) }),
      ),
      steps: list<{ limit?: number | null }>(
        ({ limit }) => limit ?? 2_000,
        () => noted('steps', { items: [], gaps: [] }),
      ),
      job: one(() => noted('job', { id: 'j', events: 'not read' })),
    },
    relations: { Job: { events }, JobSummary: { events } },
  };
  const metrics = createMetrics();
  const engine = new GraphqlEngine(createLogger({ program: 'test', level: 'silent' }), metrics);
  engine.start([feature]);
  const principal = aPrincipal();
  return {
    resolved,
    run: (query, variables) =>
      engine.run({ query, variables }, { principal, requestId: 'r', gone: new AbortController().signal }),
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

describe('a relation', () => {
  it('is read once for all items of a list, whatever their number', async () => {
    const engine = running();
    const outcome = await engine.run(`{ jobs(${P}, pageSize: 50) { items { id events(limit: 2) { items { id } } } } }`);
    expect(engine.resolved).toEqual(['jobs', 'events of 50 (2)']);
    expect(outcome).toMatchObject({
      kind: 'ran',
      result: {
        data: { jobs: { items: expect.arrayContaining([{ id: '7', events: { items: [{ id: 7 }] } }]) as unknown } },
      },
    });
  });

  it('is read once for each number that is asked for', async () => {
    const engine = running();
    await engine.run(
      `{ jobs(${P}, pageSize: 3) { items { a: events(limit: 1) { items { id } } b: events(limit: 1) { items { id } } c: events(limit: 2) { items { id } } } } }`,
    );
    expect(engine.resolved).toEqual(['jobs', 'events of 6 (1)', 'events of 3 (2)']);
  });

  it('is read for each request apart, and never from the answer that it stands beside', async () => {
    const engine = running();
    const query = `{ job(${P}, id: "j") { events { items { id } } } }`;
    await Promise.all([engine.run(query), engine.run(query)]);
    expect(engine.resolved).toEqual(['job', 'job', 'events of 1 (undefined)', 'events of 1 (undefined)']);
  });

  it('that fails leaves the items their other fields', async () => {
    const engine = running();
    const outcome = await engine.run(`{ jobs(${P}, pageSize: 3) { items { id events(limit: 13) { items { id } } } } }`);
    expect(outcome).toMatchObject({
      kind: 'ran',
      result: {
        data: { jobs: { items: [{ id: '0', events: null }, { id: '1' }, { id: '2' }] } },
        errors: [0, 1, 2].map((index) => ({
          path: ['jobs', 'items', index, 'events'],
          extensions: { code: 'INTERNAL' },
        })),
      },
    });
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
    ['ten aliases of a dear field', aliases(MAX_ROOT_FIELDS, STEPS), /costs 1600000; at most 1320000 is allowed/, {}],
    [
      'a dear field whose number of rows stands in a variable',
      `query($n: Int!) ${aliases(10, `steps(${P}, jobId: "j", limit: $n) { items { step loss tokens } }`)}`,
      /a0: steps costs 140000, as its 10000 rows count 10 each and 4 more for what is asked of each/,
      { n: 10_000 },
    ],
    [
      'a dear field whose number of rows is the default of a variable',
      `query($n: Int = 10000) ${aliases(10, `steps(${P}, jobId: "j", limit: $n) { items { step loss tokens } }`)}`,
      /costs 1400000/,
      {},
    ],
    [
      'a relation of many rows',
      `query($n: Int) { jobs(${P}, pageSize: 500) { items { id events(limit: $n) { items { id } } } } }`,
      /jobs costs 6006000, as its 500 rows count 10 each and 12002 more for what is asked of each/,
      { n: 1_000 },
    ],
    [
      'a relation of many rows in a fragment',
      `{ jobs(${P}, pageSize: 500) { items { ...F } } } fragment F on JobSummary { ... { events(limit: 1000) { items { id } } } }`,
      /jobs costs 6005500/,
      {},
    ],
    ['dear fields in a fragment', `{ ...F ...{ ...F } } fragment F on Query ${aliases(5, STEPS)}`, /costs 1600000/, {}],
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
    const wide = `items { ${'id name state version summary epoch '.repeat(50)} }`;
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

  it('is bounded for validation too: repeated fields are rejected before they are compared', async () => {
    const engine = running();
    const outcome = await engine.run(`{ jobs(${P}) { ${'items { id name } '.repeat(300)} } }`);
    expect(outcome).toMatchObject({
      kind: 'refused',
      errors: [{ message: expect.stringMatching(/134550 comparisons; at most 10000 are allowed/) as unknown }],
    });
    expect(engine.resolved).toEqual([]);
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

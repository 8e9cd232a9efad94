import {
  type Denial,
  DenialCounts,
  MOST_OF_PROJECT,
  MOST_PRINCIPALS,
  MOST_STRANGERS,
  WINDOW_MS,
} from './denial-counts.ts';

const ADA = { id: 'a', kind: 'service', name: 'ada', projectId: 'p' };
const aDenial = (overrides: Partial<Denial> = {}): Denial => ({
  atMs: 0,
  principal: ADA,
  verb: 'job.write',
  object: '/v1/projects/rivals/jobs',
  reason: 'NOT_FOUND',
  sourceAddress: '192.0.2.1',
  userAgent: 'curl',
  requestId: 'r',
  project: 'rivals',
  ...overrides,
});
const stranger = (number: number): Denial =>
  aDenial({ principal: null, sourceAddress: `198.51.100.${number}`, verb: 'authenticate' });

describe('denials', () => {
  it('the first is told at once and in full', () => {
    const counts = new DenialCounts();
    counts.add(aDenial());
    expect(counts.take(0)).toEqual([{ ...aDenial(), requests: 1 }]);
    expect(counts.take(0)).toEqual([]);
  });

  it('a flood of one token is told twice a minute, each request counted once', () => {
    const counts = new DenialCounts();
    const told: number[] = [];
    for (let atMs = 0; atMs < 2 * WINDOW_MS; atMs += 10) {
      counts.add(aDenial({ atMs }));
      if (atMs % 1_000 === 0) told.push(...counts.take(atMs).map(({ requests }) => requests));
    }
    told.push(...counts.takeAll().map(({ requests }) => requests));
    expect(told.length).toBeLessThanOrEqual(4);
    expect(told.reduce((sum, requests) => sum + requests, 0)).toBe((2 * WINDOW_MS) / 10);
  });

  it('those that are counted are told under the first of them', () => {
    const counts = new DenialCounts();
    for (const object of ['/1', '/2', '/3']) counts.add(aDenial({ object }));
    counts.take(0);
    expect(counts.take(WINDOW_MS)).toMatchObject([{ object: '/2', requests: 2 }]);
  });

  it.each([
    ['another principal', { principal: { ...ADA, id: 'b' } }],
    ['another verb', { verb: 'token.write' }],
    ['nobody who is known', { principal: null }],
  ])('of %s are told apart', (_who, other) => {
    const counts = new DenialCounts();
    counts.add(aDenial());
    counts.add(aDenial(other));
    expect(counts.take(0)).toHaveLength(2);
  });

  it('of more addresses than are told apart are one entry, which names none', () => {
    const counts = new DenialCounts();
    for (let number = 0; number < MOST_STRANGERS + 50; number++) counts.add(stranger(number));
    expect(counts.take(0)).toHaveLength(MOST_STRANGERS + 1);
    const [rest, ...others] = counts.take(WINDOW_MS);
    expect(others).toEqual([]);
    expect(rest).toMatchObject({ principal: null, sourceAddress: null, userAgent: null, requests: 49 });
  });

  it('of strangers never take the place of principals, nor the other way round', () => {
    const counts = new DenialCounts();
    for (let number = 0; number < MOST_STRANGERS + 1; number++) counts.add(stranger(number));
    counts.add(aDenial());
    expect(counts.take(0).at(-1)).toMatchObject({ principal: ADA });
    for (let number = 0; number < MOST_PRINCIPALS; number++)
      counts.add(aDenial({ principal: { ...ADA, id: String(number) } }));
    expect(counts.take(0).at(-1)).toMatchObject({ principal: null, sourceAddress: null });
  });

  it('of more principals of one project than are told apart are one entry of the project; those of others are told apart', () => {
    const counts = new DenialCounts();
    for (let number = 0; number < MOST_OF_PROJECT + 5; number++)
      counts.add(aDenial({ principal: { ...ADA, id: String(number) } }));
    counts.add(aDenial({ principal: { ...ADA, id: 'eve', projectId: 'q' } }));
    const told = counts.take(0);
    expect(told).toHaveLength(MOST_OF_PROJECT + 2);
    expect(told.at(-2)).toMatchObject({ principal: null, ofProjectId: 'p', verb: 'job.write', requests: 1 });
    expect(told.at(-1)).toMatchObject({ principal: { id: 'eve' } });
    expect(counts.take(WINDOW_MS)).toMatchObject([{ principal: null, ofProjectId: 'p', requests: 4 }]);
  });

  it('of one project with many tokens make few entries in a day, and each request is counted', () => {
    const counts = new DenialCounts();
    let [entries, requests] = [0, 0];
    const write = (told: readonly { readonly requests: number }[]): void => {
      entries += told.length;
      requests += told.reduce((sum, one) => sum + one.requests, 0);
    };
    const minutes = 30;
    for (let minute = 0; minute < minutes; minute++) {
      for (let token = 0; token < 200; token++)
        for (let verb = 0; verb < 30; verb++)
          counts.add(
            aDenial({ atMs: minute * WINDOW_MS, principal: { ...ADA, id: `${token}` }, verb: `verb-${verb}` }),
          );
      write(counts.take((minute + 1) * WINDOW_MS - 1));
    }
    write(counts.takeAll());
    expect(requests).toBe(minutes * 200 * 30);
    // Of ten principals and of all the others together: an entry for each verb and minute; of the others another one at its end.
    expect(entries).toBeLessThanOrEqual(minutes * 30 * (MOST_OF_PROJECT + 2));
  });

  it('of one principal take one place, however many rights are missing', () => {
    const counts = new DenialCounts();
    for (let number = 0; number < MOST_PRINCIPALS + 1; number++) counts.add(aDenial({ verb: `verb-${number}` }));
    counts.add(aDenial({ principal: { ...ADA, id: 'b' } }));
    expect(counts.take(0).at(-1)).toMatchObject({ principal: { id: 'b' } });
  });

  it('whoever was counted in one window is told apart in the next', () => {
    const counts = new DenialCounts();
    for (let number = 0; number < MOST_STRANGERS; number++) counts.add(stranger(number));
    counts.take(WINDOW_MS);
    counts.add({ ...stranger(999), atMs: WINDOW_MS });
    expect(counts.take(WINDOW_MS)).toMatchObject([{ sourceAddress: '198.51.100.999' }]);
  });
});

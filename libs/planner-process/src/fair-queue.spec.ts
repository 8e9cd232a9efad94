import fc from 'fast-check';
import { FairQueue } from './fair-queue.ts';

const queueOf = (items: string, limits = { perTenant: 100, inAll: 1000 }): FairQueue<string> => {
  const queue = new FairQueue<string>(limits);
  for (const item of items.split(' ')) queue.add(item.charAt(0), item);
  return queue;
};

const drained = (queue: FairQueue<string>): string => {
  const taken: string[] = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item);
  return taken.join(' ');
};

describe('who is served next', () => {
  it.each([
    ['one tenant is served in the order of its asking', 'a1 a2 a3', 'a1 a2 a3'],
    ['two tenants are served in turn, whoever asked first', 'a1 a2 a3 b1 b2', 'a1 b1 a2 b2 a3'],
    ['a tenant with one item waits for one item of each of the others', 'a1 a2 b1 b2 c1', 'a1 b1 c1 a2 b2'],
  ])('%s', (_sentence, asked, want) => {
    expect(drained(queueOf(asked))).toBe(want);
  });

  it('a hundred items of one tenant delay another’s one by the item that is under way', () => {
    const queue = queueOf(Array.from({ length: 100 }, (_, index) => `a${index}`).join(' '));
    expect(queue.take()).toBe('a0');
    queue.add('b', 'b0');
    expect(queue.take()).toBe('b0');
  });

  it('a tenant whose only item is under way is behind whoever comes, however soon it comes back', () => {
    const queue = queueOf('a0');
    expect(queue.take()).toBe('a0');
    for (const item of ['a1', 'a2', 'b1']) queue.add(item.charAt(0), item);
    expect(drained(queue)).toBe('b1 a1 a2');
  });

  it('two tenants that come back each time they are served do not keep a third one waiting', () => {
    const queue = queueOf('a1 a2 a3 b1 c1');
    const taken: (string | undefined)[] = [];
    for (let round = 0; round < 6; round += 1) {
      const item = queue.take();
      taken.push(item);
      if (item?.startsWith('b') === true) queue.add('b', 'b+');
      if (item?.startsWith('c') === true) queue.add('c', 'c+');
    }
    expect(taken.filter((item) => item?.startsWith('a'))).toEqual(['a1', 'a2']);
  });

  it('what is removed is never taken, and leaves its place to another', () => {
    const queue = queueOf('a1 a2 b1', { perTenant: 2, inAll: 3 });
    queue.remove('a', 'a1');
    queue.remove('a', 'never there');
    expect(queue.size).toBe(2);
    expect(queue.add('c', 'c1')).toEqual({ kind: 'waits' });
    expect(drained(queue)).toBe('a2 b1 c1');
  });
});

describe('how much may wait', () => {
  const waits = { kind: 'waits' };
  const refused = (refusal: string): object => ({ kind: 'refused', refusal });
  const few = { perTenant: 2, inAll: 10 };
  const three = { perTenant: 9, inAll: 3 };
  it.each([
    ['a tenant may not fill its own list', 'a1 a2', few, { add: 'a+', want: refused('tenantIsFull'), left: 'a1 a2' }],
    ['another tenant still may wait', 'a1 a2', few, { add: 'b+', want: waits, left: 'a1 b+ a2' }],
    ['all together are bounded too', 'a1 b1 c1', three, { add: 'd+', want: refused('isFull'), left: 'a1 b1 c1' }],
    [
      'who has none waiting gets the place of the newest of who has most',
      'a1 b1 b2',
      three,
      { add: 'c+', want: { kind: 'waits', displaced: 'b2' }, left: 'a1 b1 c+' },
    ],
    [
      'who would have as many as who has most then gets none',
      'a1 a2 b1',
      three,
      { add: 'b+', want: refused('isFull'), left: 'a1 b1 a2' },
    ],
    ['who has most displaces nobody', 'a1 a2 b1', three, { add: 'a+', want: refused('isFull'), left: 'a1 b1 a2' }],
  ] as const)('%s', (_sentence, items, limits, { add, want, left }) => {
    const queue = queueOf(items, limits);
    expect(queue.add(add.charAt(0), add)).toEqual(want);
    expect(queue.size).toBe(left.split(' ').length);
    expect(drained(queue)).toBe(left);
  });
});

describe('whatever is asked in whatever order', () => {
  const step = fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('add' as const), tenant: fc.constantFrom('a', 'b', 'c', 'd') }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('take' as const) }) },
  );

  it('while an item waits no other tenant is served twice, nothing is lost, and the count is true', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const queue = new FairQueue<string>({ perTenant: 10, inAll: 12 });
        const waiting: string[] = [];
        /** Since when each tenant waits without being served: who was served meanwhile. */
        const servedMeanwhile = new Map<string, string[]>();
        steps.forEach((one, index) => {
          if (one.kind === 'add') {
            const item = `${one.tenant}${index}`;
            const added = queue.add(one.tenant, item);
            if (added.kind === 'refused') return;
            if (added.displaced !== undefined) waiting.splice(waiting.indexOf(added.displaced), 1);
            waiting.push(item);
            if (!servedMeanwhile.has(one.tenant)) servedMeanwhile.set(one.tenant, []);
            return;
          }
          const item = queue.take();
          expect(item === undefined).toBe(waiting.length === 0);
          if (item === undefined) return;
          const tenant = item.charAt(0);
          expect(waiting.find((other) => other.startsWith(tenant))).toBe(item);
          waiting.splice(waiting.indexOf(item), 1);
          servedMeanwhile.delete(tenant);
          for (const [other, served] of servedMeanwhile) {
            expect(served).not.toContain(tenant);
            servedMeanwhile.set(other, [...served, tenant]);
          }
          if (waiting.some((other) => other.startsWith(tenant))) servedMeanwhile.set(tenant, []);
        });
        expect(queue.size).toBe(waiting.length);
      }),
    );
  });
});

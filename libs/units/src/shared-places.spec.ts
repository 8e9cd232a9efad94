import fc from 'fast-check';
import { type Claim, type PlaceBounds, SharedPlaces } from './shared-places.ts';

/** `a1`: tenant a, member a1. `A1`: the same, slow. */
interface Named extends Claim {
  readonly name: string;
}
const claim = (name: string, member = name): Named => {
  const tenant = name.charAt(0).toLowerCase();
  return { name, tenant, member, isSlow: tenant !== name.charAt(0) };
};

const WIDE: PlaceBounds = {
  places: 1,
  ofTenant: 99,
  ofMember: 99,
  slow: 99,
  slowOfTenant: 99,
  waiting: 99,
  waitingOfTenant: 99,
  quickInARow: 4,
};

/** Requests everything in order, then gives back one place after the other; who holds a place at first, and who got one at each release. */
function served(names: string, bounds: Partial<PlaceBounds> = {}): string {
  const places = new SharedPlaces<Named>({ ...WIDE, ...bounds });
  const holding: Named[] = [];
  for (const name of names.split(' ')) {
    const one = claim(name);
    if (places.request(one).kind === 'holds') holding.push(one);
  }
  const rounds = [holding.map(({ name }) => name).join('+')];
  for (let one = holding.shift(); one !== undefined; one = holding.shift()) {
    const next = places.release(one);
    holding.push(...next);
    if (next.length > 0) rounds.push(next.map(({ name }) => name).join('+'));
  }
  return rounds.join(' ');
}

describe('who gets a place', () => {
  it.each<[string, string, Partial<PlaceBounds>, string]>([
    ['requests of one tenant are served in their order', 'a1 a2 a3', {}, 'a1 a2 a3'],
    ['tenants are served in turn, however many requests one of them has', 'a1 a2 a3 a4 b1 c1', {}, 'a1 b1 c1 a2 a3 a4'],
    [
      'a tenant holds no more than its share while places are free',
      'a1 a2 a3 b1',
      { places: 4, ofTenant: 2 },
      'a1+a2+b1 a3',
    ],
    ['a tenant that holds fewer places comes first', 'a1 a2 a3 b1 b2', { places: 3, ofTenant: 2 }, 'a1+a2+b1 a3 b2'],
    ['quick requests pass slow ones', 'a1 A2 B1 b2 c1', {}, 'a1 b2 c1 A2 B1'],
    [
      'a slow request is passed by so many quick ones and no more',
      'a1 B1 c1 d1 e1',
      { quickInARow: 2 },
      'a1 c1 d1 B1 e1',
    ],
    ['slow requests leave places to quick ones', 'A1 B1 C1 a2', { places: 3, slow: 2 }, 'A1+B1+a2 C1'],
    [
      'slow requests of one tenant leave places to its quick ones',
      'A1 A2 a3 B1',
      { places: 4, slowOfTenant: 1 },
      'A1+a3+B1 A2',
    ],
  ])('%s', (_sentence, names, bounds, want) => {
    expect(served(names, bounds)).toBe(want);
  });

  it('a member holds no more than its share, in however many tenants it asks', () => {
    const places = new SharedPlaces<Named>({ ...WIDE, places: 4, ofMember: 2 });
    const [first, second, third, other] = [
      claim('a1', 'eve'),
      claim('b1', 'eve'),
      claim('c1', 'eve'),
      claim('a2', 'ada'),
    ];
    expect([first, second, third, other].map((one) => places.request(one).kind)).toEqual([
      'holds',
      'holds',
      'waits',
      'holds',
    ]);
    expect(places.release(second)).toEqual([third]);
  });

  it('within a tenant members are served in turn', () => {
    const places = new SharedPlaces<Named>(WIDE);
    const all = [claim('a1', 'eve'), claim('a2', 'eve'), claim('a3', 'eve'), claim('a4', 'ada')];
    for (const one of all) places.request(one);
    expect(places.release(all[0] as Named)).toEqual([all[3]]);
  });

  it('who no longer waits gets no place, and a place is given back once', () => {
    const places = new SharedPlaces<Named>(WIDE);
    const [first, second, third] = [claim('a1'), claim('a2'), claim('a3')] as const;
    for (const one of [first, second, third]) places.request(one);
    places.withdraw(second);
    expect(places.release(first)).toEqual([third]);
    expect(places.release(first)).toEqual([]);
    expect(places.take(second)).toBe(false);
    expect(places.load).toEqual({ held: 1, waiting: 0 });
  });
});

describe('how many wait', () => {
  it.each<[string, string, string, object]>([
    ['a tenant fills its own list alone', 'a0 a1 a2', 'a3', { kind: 'rejected', why: 'tenantIsFull' }],
    ['all together are bounded', 'a0 a1 b1 c1 d1', 'e1', { kind: 'rejected', why: 'isFull' }],
    [
      'a tenant without one gets the place of the newest of the largest',
      'a0 a1 a2 b1 b2',
      'c1',
      { kind: 'waits', displaced: 'a2' },
    ],
  ])('%s', (_sentence, before, name, want) => {
    const places = new SharedPlaces<Named>({ ...WIDE, waiting: 4, waitingOfTenant: 2 });
    for (const one of before.split(' ')) places.request(claim(one));
    const answer = places.request(claim(name));
    const displaced = 'displaced' in answer ? { displaced: answer.displaced?.name } : {};
    expect({ ...answer, ...displaced }).toEqual(want);
    expect(places.load.waiting).toBeLessThanOrEqual(4);
  });
});

describe('whatever is requested in whatever order', () => {
  const step = fc.record({
    isRequest: fc.boolean(),
    tenant: fc.constantFrom('a', 'b', 'c', 'A', 'B', 'C'),
    member: fc.constantFrom('x', 'y', 'z'),
    at: fc.nat(),
  });

  it('bounds hold and nothing is lost', () => {
    const bounds = {
      ...WIDE,
      places: 4,
      ofTenant: 2,
      ofMember: 3,
      slow: 2,
      slowOfTenant: 1,
      waiting: 8,
      waitingOfTenant: 4,
    };
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const places = new SharedPlaces<Named>(bounds);
        const held: Named[] = [];
        const waiting: Named[] = [];
        for (const [index, { isRequest, tenant, member, at }] of steps.entries()) {
          if (isRequest) {
            const one = claim(`${tenant}${index}`, member);
            const answer = places.request(one);
            if (answer.kind === 'holds') held.push(one);
            if (answer.kind === 'waits') waiting.push(one);
            if (answer.kind === 'waits' && answer.displaced !== undefined)
              waiting.splice(waiting.indexOf(answer.displaced), 1);
          } else if (held.length > 0) {
            const [one] = held.splice(at % held.length, 1);
            for (const next of places.release(one as Named)) {
              held.push(next);
              waiting.splice(waiting.indexOf(next), 1);
            }
          }
          const most = (of: (one: Named) => string, ones: readonly Named[]): number =>
            Math.max(0, ...[...Map.groupBy(ones, of).values()].map((list) => list.length));
          const slow = held.filter(({ isSlow }) => isSlow);
          expect(held.length).toBeLessThanOrEqual(bounds.places);
          expect(most((one) => one.tenant, held)).toBeLessThanOrEqual(bounds.ofTenant);
          expect(most((one) => one.member, held)).toBeLessThanOrEqual(bounds.ofMember);
          expect(slow.length).toBeLessThanOrEqual(bounds.slow);
          expect(most((one) => one.tenant, slow)).toBeLessThanOrEqual(bounds.slowOfTenant);
          expect(most((one) => one.tenant, waiting)).toBeLessThanOrEqual(bounds.waitingOfTenant);
          expect(places.load).toEqual({ held: held.length, waiting: waiting.length });
        }
      }),
    );
  });
});

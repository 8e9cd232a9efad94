import { ActiveFaults } from './active-faults.ts';
import type { Fault, FaultAction, FaultMatch, SeenRequest } from './faults.ts';

const REFUSE: FaultAction = { kind: 'refuse' };
const HANG: FaultAction = { kind: 'hang' };
const LIST_PODS: SeenRequest = {
  verb: 'list',
  method: 'GET',
  path: '/api/v1/pods',
  query: new URLSearchParams({ limit: '500' }),
  userAgent: 'operator',
};

function faultsWith(...added: readonly Fault[]): ActiveFaults {
  const faults = new ActiveFaults(1);
  added.forEach((fault) => faults.add(fault));
  return faults;
}

describe('a fault', () => {
  it.each<[string, FaultMatch, boolean]>([
    ['strikes everything when it names nothing', {}, true],
    ['strikes a verb that it names', { verbs: ['get', 'list'] }, true],
    ['leaves other verbs alone', { verbs: ['watch'] }, false],
    ['strikes the path that it names', { path: '/api/v1/pods' }, true],
    ['wants the whole path', { path: '/api/v1' }, false],
    ['strikes what its pattern finds', { path: /pods$/ }, true],
    ['leaves alone what its pattern does not find', { path: /nodes$/ }, false],
    ['strikes what its predicate picks', { where: ({ query }) => query.has('limit') }, true],
    ['leaves alone what its predicate does not pick', { where: ({ query }) => query.has('continue') }, false],
    ['wants all of its conditions', { verbs: ['list'], path: /nodes$/ }, false],
    ['never strikes with probability 0', { probability: 0 }, false],
    ['always strikes with probability 1', { probability: 1 }, true],
  ])('%s', (_, match, strikes) => {
    expect(faultsWith({ match, action: REFUSE }).strike(LIST_PODS)).toBe(strikes ? REFUSE : undefined);
  });

  it('gives way to one that was added before', () => {
    expect(faultsWith({ action: HANG }, { action: REFUSE }).strike(LIST_PODS)).toBe(HANG);
  });

  it('strikes as often as it is told, and counts', () => {
    const faults = new ActiveFaults(1);
    const fault = faults.add({ match: { times: 2 }, action: REFUSE });

    expect([1, 2, 3].map(() => faults.strike(LIST_PODS))).toEqual([REFUSE, REFUSE, undefined]);
    expect(fault.hits).toBe(2);
  });

  it('lets the next one strike when it is used up', () => {
    const faults = faultsWith({ match: { times: 1 }, action: HANG }, { action: REFUSE });

    expect([1, 2].map(() => faults.strike(LIST_PODS))).toEqual([HANG, REFUSE]);
  });

  it('ends when it is removed, and leaves the others', () => {
    const faults = new ActiveFaults(1);
    const first = faults.add({ action: HANG });
    faults.add({ action: REFUSE });
    first.remove();

    expect(faults.strike(LIST_PODS)).toBe(REFUSE);
  });

  it('strikes the same requests whenever the seed is the same', () => {
    const pattern = (): boolean[] => {
      const faults = faultsWith({ match: { probability: 0.5 }, action: REFUSE });
      return Array.from({ length: 20 }, () => faults.strike(LIST_PODS) !== undefined);
    };

    expect(pattern()).toEqual(pattern());
    expect(new Set(pattern())).toEqual(new Set([true, false]));
  });

  it('of a watch strikes watches only', () => {
    const watch: FaultAction = { kind: 'watch', script: () => () => [] };
    const faults = faultsWith({ action: watch });

    expect(faults.strike(LIST_PODS)).toBeUndefined();
    expect(faults.strike({ ...LIST_PODS, verb: 'watch' })).toBe(watch);
  });
});

import { aCheckpoint } from '@coxswain/checkpoint/testing';
import fc from 'fast-check';
import { MOST_IN_NAMESPACE, MOST_VERIFICATIONS, namespaceOf, verificationsInTurn } from './verification-turns.ts';
import type { WantedVerification } from './wanted-verifications.ts';

type Why = WantedVerification['why'];

function wanted(namespace: string, why: Why, step = 1): WantedVerification {
  const one = aCheckpoint({ step });
  return { checkpoint: { ...one, metadata: { ...one.metadata, namespace } }, level: 'V3', why, otherThan: [] };
}

/** A cluster in which pods end one by one, and each that ends frees its place. */
class Cluster {
  readonly started: WantedVerification[] = [];
  readonly #waiting: WantedVerification[];
  readonly #runs: WantedVerification[] = [];
  readonly #lastTurns = new Map<string, number>();

  constructor(waiting: readonly WantedVerification[]) {
    this.#waiting = [...waiting];
  }

  add(...more: readonly WantedVerification[]): this {
    this.#waiting.push(...more);
    return this;
  }

  /** Starts what may start, as `namespace why` in order. */
  start(): readonly string[] {
    const before = this.started.length;
    const running = Map.groupBy(this.#runs, namespaceOf);
    const turns = verificationsInTurn(this.#waiting, {
      running: new Map([...running].map(([namespace, some]) => [namespace, some.map(({ why }) => why)])),
      lastTurns: this.#lastTurns,
      isWaitedFor: ({ checkpoint }) => checkpoint.spec.step > 0,
    });
    for (let turn = turns.next(); turn.done !== true; turn = turns.next(true)) {
      this.#waiting.splice(this.#waiting.indexOf(turn.value), 1);
      this.#runs.push(turn.value);
      this.started.push(turn.value);
      this.#lastTurns.set(namespaceOf(turn.value), this.started.length);
    }
    return this.started.slice(before).map((one) => `${namespaceOf(one)} ${one.why}`);
  }

  /** Of the pods that run, that one ends. */
  end(index: number): void {
    this.#runs.splice(index % Math.max(1, this.#runs.length), 1);
  }

  get running(): readonly WantedVerification[] {
    return this.#runs;
  }

  isWaiting(namespace: string): boolean {
    return this.#waiting.some((one) => namespaceOf(one) === namespace && one.why !== 'Background');
  }

  hasPod(namespace: string): boolean {
    return this.#runs.some((one) => namespaceOf(one) === namespace);
  }
}

function many(count: number, namespace: string, why: Why): readonly WantedVerification[] {
  return Array.from({ length: count }, (_, index) => wanted(namespace, why, index + 1));
}

describe('pods that verify checkpoints', () => {
  it('of four greedy namespaces leave places for others', () => {
    const greedy = ['a', 'b', 'c', 'd'].flatMap((namespace) => many(9, namespace, 'Requested'));
    const cluster = new Cluster(greedy);
    expect(cluster.start()).toEqual(['a', 'b', 'c', 'd'].map((namespace) => `${namespace} Requested`));
    expect(cluster.add(wanted('e', 'Requested'), wanted('f', 'Suspected')).start()).toEqual([
      'e Requested',
      'f Suspected',
    ]);
  });

  it('of one namespace are two', () => {
    expect(new Cluster(many(5, 'a', 'Requested')).start()).toHaveLength(2);
  });

  it('read in a namespace what is in doubt and waited for, then what is requested, and then other doubts', () => {
    const cluster = new Cluster([
      wanted('a', 'Suspected', 0),
      wanted('a', 'Requested', 1),
      wanted('a', 'Suspected', 2),
    ]);
    expect(cluster.start()).toEqual(['a Suspected', 'a Requested']);
    cluster.end(0);
    expect(cluster.start()).toEqual(['a Suspected']);
    expect(cluster.started.map(({ checkpoint }) => checkpoint.spec.step)).toEqual([2, 1, 0]);
  });

  it('do not let doubts that wait for a node hold up requests', () => {
    const cluster = new Cluster([...many(9, 'a', 'Suspected'), wanted('a', 'Requested')]);
    expect(cluster.start()).toEqual(['a Suspected', 'a Requested']);
  });

  it('read the newest step first', () => {
    const cluster = new Cluster(many(5, 'a', 'Requested'));
    cluster.start();
    expect(cluster.started.map(({ checkpoint }) => checkpoint.spec.step)).toEqual([5, 4]);
  });

  it('are one in the background of a namespace, after everything that was requested', () => {
    const cluster = new Cluster([...many(3, 'a', 'Background'), ...many(2, 'b', 'Requested')]);
    expect(cluster.start()).toEqual(['b Requested', 'b Requested', 'a Background']);
  });

  it('take no place in the background that another namespace could need', () => {
    const busy = ['a', 'b', 'c', 'd'].map((namespace) => wanted(namespace, 'Requested'));
    expect(new Cluster([...busy, wanted('e', 'Background')]).start()).not.toContain('e Background');
  });

  it('go on with the next where one cannot be started', () => {
    const none = { running: new Map(), lastTurns: new Map(), isWaitedFor: () => true };
    const turns = verificationsInTurn([...many(3, 'a', 'Requested'), wanted('b', 'Background')], none);
    const seen: string[] = [];
    for (let turn = turns.next(); turn.done !== true; turn = turns.next(false)) seen.push(namespaceOf(turn.value));
    expect(seen).toEqual(['a', 'a', 'a', 'b']);
  });
});

describe('in any order of requests, doubts and ends', () => {
  const namespaces = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
  const one = fc.record({
    namespace: fc.constantFrom(...namespaces),
    why: fc.constantFrom<Why>('Requested', 'Suspected', 'Background'),
    step: fc.nat(9),
    greed: fc.constantFrom(1, 1, 1, 6),
    ends: fc.array(fc.nat(7), { maxLength: 4 }),
  });
  const play = (check: (cluster: Cluster) => void): void => {
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 40 }), (all) => {
        const cluster = new Cluster(namespaces.flatMap((namespace) => many(3, namespace, 'Requested')));
        for (const { namespace, why, step, greed, ends } of all) {
          cluster.add(...Array.from({ length: greed }, () => wanted(namespace, why, step)));
          cluster.start();
          check(cluster);
          for (const end of ends) {
            cluster.end(end);
            cluster.start();
            check(cluster);
          }
        }
      }),
      { numRuns: 300 },
    );
  };

  it('the bounds hold, and a place is free only if no namespace waits for its first', () => {
    play((cluster) => {
      const counts = [...Map.groupBy(cluster.running, namespaceOf).values()].map(({ length }) => length);
      expect(Math.max(0, ...counts)).toBeLessThanOrEqual(MOST_IN_NAMESPACE);
      expect(cluster.running.length).toBeLessThanOrEqual(MOST_VERIFICATIONS);
      const hungry = namespaces.filter((namespace) => cluster.isWaiting(namespace) && !cluster.hasPod(namespace));
      if (hungry.length > 0) expect(cluster.running).toHaveLength(MOST_VERIFICATIONS);
    });
  });

  it('no namespace without a pod waits for more than one turn of each other one', () => {
    const turnsOfOthers = new Map<string, Map<string, number>>();
    let seen = 0;
    let last: Cluster | undefined;
    play((cluster) => {
      if (cluster !== last) {
        turnsOfOthers.clear();
        [seen, last] = [0, cluster];
      }
      for (const started of cluster.started.slice(seen)) {
        const namespace = namespaceOf(started);
        turnsOfOthers.delete(namespace);
        for (const turns of turnsOfOthers.values()) turns.set(namespace, (turns.get(namespace) ?? 0) + 1);
        for (const turns of turnsOfOthers.values()) expect(Math.max(...turns.values())).toBeLessThanOrEqual(1);
      }
      seen = cluster.started.length;
      for (const namespace of namespaces) {
        const isHungry = cluster.isWaiting(namespace) && !cluster.hasPod(namespace);
        if (!isHungry) turnsOfOthers.delete(namespace);
        else if (!turnsOfOthers.has(namespace)) turnsOfOthers.set(namespace, new Map());
      }
    });
  });

  it('a doubt is never behind the third request of another namespace', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(7), { minLength: 60, maxLength: 60 }), (ends) => {
        const greedy = namespaces.flatMap((namespace) => many(9, namespace, 'Requested'));
        const cluster = new Cluster(greedy);
        cluster.start();
        cluster.add(wanted('z', 'Suspected'));
        const before = cluster.started.length;
        for (const end of ends) {
          cluster.start();
          cluster.end(end);
        }
        const order = cluster.started.slice(before).map(namespaceOf);
        const ahead = order.slice(0, order.indexOf('z'));
        expect(order).toContain('z');
        for (const namespace of namespaces) expect(ahead.filter((one) => one === namespace).length).toBeLessThan(3);
      }),
      { numRuns: 200 },
    );
  });
});

import {
  claimOf,
  gateOfPurposes,
  poolBounds,
  PoolGate,
  type PoolClaim,
  purposeBounds,
  type Work,
} from './pool-gate.ts';
import { NO_PRINCIPAL, type Scope } from './scope.ts';

/** Work that holds its connection until the test ends it. */
class Setup {
  readonly began: string[] = [];
  readonly ended: Promise<unknown>[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly gate: PoolGate;

  constructor(connections: number, waitMs?: number) {
    this.gate = new PoolGate(connections, waitMs === undefined ? {} : { waitMs });
  }

  /** Each name is of one tenant and one principal, by its first letter. */
  ask(name: string, work: Work = 'key'): Promise<unknown> {
    const run = (): Promise<string> => {
      this.began.push(name);
      return new Promise((resolve) => this.#ends.set(name, () => resolve(name)));
    };
    const asked = this.gate.pass({ tenant: name.charAt(0), principal: name, work }, run);
    asked.catch(() => undefined);
    this.ended.push(asked);
    return asked;
  }

  async end(name: string): Promise<void> {
    await settled();
    this.#ends.get(name)?.();
    await settled();
  }
}

/** Work that is still waiting when its test ends: its time is over later, in the middle of another file. */
function waits(work: Promise<unknown>): void {
  work.catch(() => undefined);
}

/** Promises that can go on have gone on. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

describe('a pool of so many connections', () => {
  it.each([
    [2, { places: 1, ofTenant: 1, ofMember: 1, slow: 1, slowOfTenant: 1 }, 1],
    [10, { places: 7, ofTenant: 4, ofMember: 3, slow: 4, slowOfTenant: 2 }, 3],
    [40, { places: 28, ofTenant: 14, ofMember: 13, slow: 16, slowOfTenant: 7 }, 12],
  ])('of %s has these for tenants, and the rest for itself', (connections, tenants, reserved) => {
    const bounds = poolBounds(connections);
    expect(bounds.tenants).toMatchObject(tenants);
    expect(bounds.system.places).toBe(reserved);
  });
});

describe('a tenant at its maximum', () => {
  it('leaves connections to another tenant, which is served at once', async () => {
    const setup = new Setup(10);
    for (let index = 0; index < 60; index += 1) setup.ask(`a${index}`);
    setup.ask('b0');
    await settled();
    expect(setup.began).toEqual(['a0', 'a1', 'a2', 'a3', 'b0']);
    expect(setup.gate.load).toEqual({ held: 5, waiting: 56 });
  });

  it('is two tenants: a third is served when the first of theirs ends, before all of theirs that wait', async () => {
    const setup = new Setup(10);
    for (let index = 0; index < 30; index += 1) for (const tenant of ['a', 'b']) setup.ask(`${tenant}${index}`);
    setup.ask('c0');
    await settled();
    expect(setup.began).not.toContain('c0');
    await setup.end('a0');
    expect(setup.began.slice(7)).toEqual(['c0']);
  });

  it('by lists leaves connections to reads by key, its own too', async () => {
    const setup = new Setup(10);
    for (let index = 0; index < 30; index += 1)
      for (const tenant of ['a', 'b', 'c']) setup.ask(`${tenant}${index}`, 'list');
    await settled();
    expect(setup.began).toHaveLength(4);
    setup.ask('akey');
    setup.ask('dkey');
    await settled();
    expect(setup.began.slice(4)).toEqual(['akey', 'dkey']);
  });

  it('leaves the reserved connections to the API itself', async () => {
    const setup = new Setup(10);
    for (let index = 0; index < 30; index += 1) for (const tenant of ['a', 'b', 'c']) setup.ask(`${tenant}${index}`);
    setup.ask('lookup', 'system');
    await settled();
    expect(setup.began).toContain('lookup');
  });

  it('fills its own queue alone: the next one is told to come again, and another tenant waits', async () => {
    const setup = new Setup(2);
    for (let index = 0; index < 101; index += 1) setup.ask(`a${index}`);
    await expect(setup.ask('a101')).rejects.toMatchObject({
      name: 'PoolBusyError',
      code: '53300',
      retryAfterSeconds: 2,
      message: 'too many requests of this project wait for the database',
    });
    setup.ask('b0');
    await setup.end('a0');
    await settled();
    expect(setup.began).toEqual(['a0', 'b0']);
  });
});

describe('work that waits', () => {
  it('is told so after a bounded time, and takes no turn afterwards', async () => {
    const setup = new Setup(2, 5);
    setup.ask('a0');
    await expect(setup.ask('b0')).rejects.toThrow('no connection to the database became free within 0.005 s');
    expect(setup.gate.load).toEqual({ held: 1, waiting: 0 });
    await setup.end('a0');
    await settled();
    expect(setup.began).toEqual(['a0']);
  });

  it('is served after work that failed', async () => {
    const gate = new PoolGate(2);
    const of = (tenant: string) => ({ tenant, principal: tenant, work: 'key' }) as const;
    const failing = gate.pass(of('a'), () => Promise.reject(new Error('no such table')));
    const next = gate.pass(of('b'), () => Promise.resolve('served'));
    await expect(failing).rejects.toThrow('no such table');
    expect(await next).toBe('served');
  });
});

describe('the share that work uses', () => {
  const of = (principalId: string, ...ids: string[]): Pick<Scope, 'principalId' | 'reach'> => ({
    principalId,
    reach: ids.length === 0 ? { kind: 'cluster' } : { kind: 'projects', ids },
  });
  it.each<[string, Pick<Scope, 'principalId' | 'reach'>, Work, PoolClaim]>([
    ['of one project is the project’s', of('ada', 'a'), 'list', { tenant: 'a', principal: 'ada', work: 'list' }],
    ['of several is the principal’s', of('ada', 'a', 'b'), 'key', { tenant: 'ada', principal: 'ada', work: 'key' }],
    [
      'without a principal is the project’s alone',
      of(NO_PRINCIPAL, 'a'),
      'list',
      { tenant: 'a', principal: 'a', work: 'list' },
    ],
    ['of the API is that of its purpose', of('ada', 'a'), 'system', { tenant: 'a', principal: 'a', work: 'system' }],
  ])('%s', (_sentence, scope, work, want) => {
    expect(claimOf(scope, work)).toEqual(want);
  });

  it('by readers that resume leaves connections to lookups of tokens, and to other projects that resume', async () => {
    const gate = new PoolGate(10);
    const began: string[] = [];
    const hold = (name: string, scope: Pick<Scope, 'principalId' | 'reach'>, work: Work): void => {
      waits(
        gate.pass(claimOf(scope, work), () => {
          began.push(name);
          return new Promise<void>(() => undefined);
        }),
      );
    };
    for (let index = 0; index < 60; index += 1) hold('a', of(NO_PRINCIPAL, 'a'), 'list');
    hold('b', of(NO_PRINCIPAL, 'b'), 'list');
    hold('token', of('b'), 'system');
    await settled();
    expect(began).toEqual(['a', 'a', 'b', 'token']);
  });
});

describe('programs that share connections', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 2],
    [5, 3],
    [20, 18],
  ])('of %s have for one purpose %s', (connections, want) => {
    expect(purposeBounds(connections)).toMatchObject({ places: connections, ofTenant: want });
  });

  it('leave connections to each other: a flood of sign-ins holds up no change of a job', async () => {
    const gate = gateOfPurposes(5, {});
    const began: string[] = [];
    const ask = (purpose: string): void => {
      waits(
        gate.pass({ tenant: purpose, member: purpose, isSlow: false }, () => {
          began.push(purpose);
          return new Promise<void>(() => undefined);
        }),
      );
    };
    for (let index = 0; index < 200; index += 1) ask('sign-in');
    ask('apply');
    await settled();
    expect(began).toEqual(['sign-in', 'sign-in', 'sign-in', 'apply']);
  });
});

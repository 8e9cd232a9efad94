import { createMetrics } from '@coxswain/telemetry';
import type { Principal } from '../auth/principal.ts';
import { readConfig } from '../config/config.ts';
import { aMembership, anAdministrator, aPrincipal } from '../testing/a-principal.ts';
import { scriptedSql } from '../testing/scripted-sql.ts';
import { LimitExceeded } from './limit-exceeded.ts';
import { ProjectLimits } from './project-limits.ts';

const of = (...projects: readonly string[]): Principal =>
  aPrincipal({ memberships: projects.map((project) => aMembership({ id: project, name: project })) });
const administrator = anAdministrator();

/** Limits of two requests a second, four at once, three under way; a clock that the test moves. */
function aLimited(environment: Readonly<Record<string, string>> = {}) {
  let nowMs = 0;
  const metrics = createMetrics();
  const config = readConfig({
    DATABASE_URL: 'postgresql://x@127.0.0.1/x',
    COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '2',
    COXSWAIN_PROJECT_REQUEST_BURST: '4',
    COXSWAIN_PROJECT_CONCURRENT_REQUESTS: '3',
    COXSWAIN_PROJECT_MAX_JOBS: '5',
    ...environment,
  });
  const limits = new ProjectLimits(config, { now: () => new Date(nowMs) }, metrics);
  return {
    limits,
    wait: (seconds: number): void => void (nowMs += seconds * 1000),
    /** What is refused, or `undefined`. */
    refusal: (act: () => unknown): LimitExceeded | undefined => {
      try {
        act();
        return undefined;
      } catch (error) {
        if (error instanceof LimitExceeded) return error;
        throw error;
      }
    },
    counted: async (limit: string): Promise<number> =>
      Number(
        new RegExp(`limited_requests_total\\{limit="${limit}"\\} (\\d+)`).exec((await metrics.expose()).text)?.[1],
      ),
  };
}

const brief = { goesOn: false };
const noCut = (): void => undefined;

describe('requests that may change something', () => {
  const changing = { ...brief, writes: 1 };

  it('of one project are so many at once and a minute, while it reads and others change on', async () => {
    const { limits, refusal, wait, counted } = aLimited({
      COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '0',
      COXSWAIN_PROJECT_WRITES_PER_MINUTE: '30',
      COXSWAIN_PROJECT_WRITE_BURST: '3',
    });
    for (let time = 0; time < 3; time++) limits.admit(of('a'), changing)();
    expect(refusal(() => limits.admit(of('a'), changing))).toMatchObject({
      limit: 'writes',
      retryAfterSeconds: 2,
      message:
        'project "a" sent too many requests that may change something: 30 a minute are allowed, and 3 at once after a rest; try again in 2 s',
    });
    expect(refusal(() => limits.chargeWrites(of('a'), { writes: 1, stops: 0 }))?.limit).toBe('writes');
    expect(refusal(() => limits.admit(of('a'), brief)())).toBeUndefined();
    expect(refusal(() => limits.admit(of('a'), { ...changing, isStop: true })())).toBeUndefined();
    expect(refusal(() => limits.chargeWrites(of('a'), { writes: 0, stops: 2 }))).toBeUndefined();
    expect(refusal(() => limits.chargeWrites(of('a'), { writes: 0, stops: 1 }))?.limit).toBe('writes');
    expect(refusal(() => limits.admit(of('b'), changing)())).toBeUndefined();
    wait(2);
    expect(refusal(() => limits.admit(of('a'), changing)())).toBeUndefined();
    expect(await counted('writes')).toBe(3);
  });

  it('of administrators, and where there is no limit, are as many as come', () => {
    const few = { COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '0', COXSWAIN_PROJECT_WRITE_BURST: '1' };
    const none = aLimited({ ...few, COXSWAIN_PROJECT_WRITES_PER_MINUTE: '0' });
    const some = aLimited(few);
    for (let time = 0; time < 9; time++) {
      none.limits.admit(of('a'), changing)();
      some.limits.admit(administrator, changing)();
    }
  });

  it('of one project that never stops make at most so many entries of the audit in a day', () => {
    const { limits, refusal, wait } = aLimited({ COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '0' });
    let entries = 0;
    for (let minute = 0; minute < 1_440; minute++) {
      while (refusal(() => limits.admit(of('a'), changing)()) === undefined) entries++;
      wait(60);
    }
    expect(entries).toBe(3_000 + 1_439 * 120);
  });
});

describe('requests of a person of several projects', () => {
  it('count as those of the project that they name', () => {
    const { limits, refusal } = aLimited();
    for (let time = 0; time < 4; time++) limits.admit(of('a', 'b'), { ...brief, project: 'a' })();
    expect(refusal(() => limits.admit(of('a'), brief))?.message).toMatch(/^project "a"/);
    expect(refusal(() => limits.admit(of('a', 'b'), { ...brief, project: 'b' })())).toBeUndefined();
  });

  it('that name none, or one of others, count as those of a project of its own', () => {
    const { limits, refusal } = aLimited();
    for (let time = 0; time < 4; time++) limits.admit(of('a', 'b'), { ...brief, project: 'others' })();
    expect(refusal(() => limits.admit(of('a', 'b'), brief))?.message).toMatch(/^"ada" has asked too often/);
    expect(refusal(() => limits.admit(of('others'), brief)())).toBeUndefined();
  });
});

describe('requests of a project', () => {
  it('are let in up to its burst, then refused with the seconds to wait, and counted', async () => {
    const { limits, refusal, wait, counted } = aLimited();
    for (let time = 0; time < 4; time++) limits.admit(of('a'), brief)();
    const refused = refusal(() => limits.admit(of('a'), brief));
    expect(refused).toMatchObject({ code: 'RATE_LIMITED', limit: 'rate', retryAfterSeconds: 1 });
    expect(refused?.message).toMatch(/project "a" has asked too often: 2 requests a second are allowed, and 4 at once/);
    expect(await counted('rate')).toBe(1);
    wait(1);
    expect(refusal(() => limits.admit(of('a'), brief)())).toBeUndefined();
  });

  it('leave those of other projects and of administrators alone', () => {
    const { limits, refusal } = aLimited();
    for (let time = 0; time < 9; time++) refusal(() => limits.admit(of('a'), brief)());
    expect(refusal(() => limits.admit(of('b'), brief)())).toBeUndefined();
    for (let time = 0; time < 99; time++) limits.admit(administrator, brief);
  });

  it('are so many at a time; an answer makes room for the next, once', async () => {
    const { limits, refusal, wait, counted } = aLimited();
    const [first] = [1, 2, 3].map(() => limits.admit(of('a'), brief));
    wait(10);
    expect(refusal(() => limits.admit(of('a'), brief))).toMatchObject({ limit: 'concurrency', retryAfterSeconds: 1 });
    expect(await counted('concurrency')).toBe(1);
    first?.();
    first?.();
    expect(refusal(() => limits.admit(of('a'), brief))).toBeUndefined();
    expect(refusal(() => limits.admit(of('a'), brief))?.limit).toBe('concurrency');
  });

  it('that go on for hours take no place among those at a time', () => {
    const { limits, refusal, wait } = aLimited();
    for (let time = 0; time < 6; time++) {
      limits.admit(of('a'), { goesOn: true });
      wait(1);
    }
    expect(refusal(() => limits.admit(of('a'), brief))).toBeUndefined();
  });

  it('can be charged as several', () => {
    const { limits, refusal } = aLimited();
    limits.charge(of('a'), 3);
    expect(refusal(() => limits.charge(of('a'), 2))).toMatchObject({ limit: 'rate' });
  });

  it('that change jobs are let in up to a burst of their own, and take none of another project', async () => {
    const { limits, refusal, wait, counted } = aLimited({
      COXSWAIN_PROJECT_CHANGES_PER_SECOND: '1',
      COXSWAIN_PROJECT_CHANGE_BURST: '3',
    });
    for (let time = 0; time < 3; time++) limits.chargeChange(of('a'), 'a');
    const refused = refusal(() => limits.chargeChange(of('a'), 'a'));
    expect(refused).toMatchObject({ code: 'RATE_LIMITED', limit: 'changes', retryAfterSeconds: 1 });
    expect(refused?.message).toBe(
      'project "a" has changed jobs too often: 1 changes a second are allowed, and 3 at once after a rest; try again in 1 s',
    );
    expect(await counted('changes')).toBe(1);
    expect(refusal(() => limits.chargeChange(of('b'), 'b'))).toBeUndefined();
    expect(refusal(() => limits.admit(of('a'), brief)())).toBeUndefined();
    for (let time = 0; time < 9; time++) limits.chargeChange(administrator, 'a');
    wait(1);
    expect(refusal(() => limits.chargeChange(of('a'), 'a'))).toBeUndefined();
  });

  it('are not limited where the limit is 0', () => {
    const none = aLimited({ COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '0', COXSWAIN_PROJECT_CONCURRENT_REQUESTS: '0' });
    for (let time = 0; time < 999; time++) none.limits.admit(of('a'), brief);
  });
});

describe('processor time', () => {
  const shares = {
    COXSWAIN_PROJECT_CPU_MS_PER_SECOND: '100',
    COXSWAIN_PRINCIPAL_CPU_MS_PER_SECOND: '50',
    COXSWAIN_STRANGERS_CPU_MS_PER_SECOND: '10',
  };
  const as = (id: string, project = 'a'): Principal => ({ ...of(project), id });

  it('of a principal is a share; above it the principal waits until the share is earned again', async () => {
    const { limits, refusal, wait, counted } = aLimited(shares);
    limits.chargeCpu(as('1'), undefined, 600);
    expect(refusal(() => limits.admit(as('1'), brief))).toMatchObject({
      code: 'RATE_LIMITED',
      limit: 'cpu',
      retryAfterSeconds: 2,
      message:
        "you have used more than a share of this replica's processor: 50 ms a second are allowed. Ask for less at once, or ask again in 2 s",
    });
    expect(await counted('cpu')).toBe(1);
    expect(refusal(() => limits.admit(as('2'), brief)())).toBeUndefined();
    wait(2);
    expect(refusal(() => limits.admit(as('1'), brief)())).toBeUndefined();
  });

  it('of a project is a share, whoever of it asks; another project has its own', () => {
    const { limits, refusal } = aLimited(shares);
    for (const id of ['1', '2', '3']) limits.chargeCpu(as(id), undefined, 400);
    expect(refusal(() => limits.admit(as('4'), brief))?.message).toMatch(/^project "a" has used more than a share/);
    expect(refusal(() => limits.admit(as('4', 'b'), brief)())).toBeUndefined();
  });

  it('of requests without a token is the smallest share, all of them together, and takes nothing from others', () => {
    const { limits, refusal, wait } = aLimited(shares);
    limits.chargeStrangers(120);
    expect(refusal(() => limits.admitStranger())).toMatchObject({ limit: 'cpu', retryAfterSeconds: 2 });
    expect(refusal(() => limits.admit(as('1'), brief)())).toBeUndefined();
    wait(2);
    expect(refusal(() => limits.admitStranger())).toBeUndefined();
  });

  it('of administrators, and where the limit is 0, is not limited', () => {
    const { limits, refusal } = aLimited(shares);
    limits.chargeCpu(administrator, undefined, 1e9);
    expect(refusal(() => limits.admit(administrator, brief))).toBeUndefined();
    const none = aLimited({
      COXSWAIN_PROJECT_CPU_MS_PER_SECOND: '0',
      COXSWAIN_PRINCIPAL_CPU_MS_PER_SECOND: '0',
      COXSWAIN_STRANGERS_CPU_MS_PER_SECOND: '0',
    });
    none.limits.chargeCpu(as('1'), undefined, 1e9);
    none.limits.chargeStrangers(1e9);
    expect(none.refusal(() => none.limits.admit(as('1'), brief))).toBeUndefined();
    expect(none.refusal(() => none.limits.admitStranger())).toBeUndefined();
  });
});

describe('what of the limits is used', () => {
  it('is told of this process and of the rows, each beside its limit', async () => {
    const { limits, wait } = aLimited({ COXSWAIN_PROJECT_MAX_LAYOUTS: '0' });
    for (let time = 0; time < 3; time++) limits.admit(of('a'), brief);
    limits.openStream(of('a'), 'a', noCut);
    limits.openLog(of('a'), 'a', noCut);
    limits.plans.hold('b');
    wait(0.5);
    limits.chargeCpu(of('a'), 'a', 30);
    const sql = scriptedSql([
      [/FROM jobs .* finished_at IS NULL/, [{ n: 4 }]],
      [/FROM jobs .* finished_at IS NOT NULL/, [{ n: 9 }]],
      [/FROM jobs .* 'Refused' AND uid IS NULL/, [{ n: 12 }]],
      [/FROM layouts/, [{ n: 7 }]],
      [/FROM api_tokens/, [{ n: 1 }]],
      [/FROM plans/, [{ n: 0 }]],
    ]);
    const usage = (await limits.inUse(sql, { id: 'a' })).map(({ name, used, most }) => `${name}: ${used} of ${most}`);
    expect(usage).toEqual([
      'requestBurst: 2 of 4',
      'changeBurst: 0 of 500',
      'writeBurst: 0 of 3000',
      'stopBurst: 0 of 3000',
      'cpuMilliseconds: 30 of 4000',
      'concurrentRequests: 3 of 3',
      'plans: 0 of 8',
      'streams: 1 of 2000',
      'logStreams: 1 of 64',
      'jobs: 4 of 5',
      'endedJobs: 9 of 2000',
      'layouts: 7 of null',
      'tokens: 1 of 100',
      'webhooks: 0 of 10',
      'storedPlans: 0 of 1000',
      'jobRecords: 12 of 5000',
    ]);
  });

  it('is nothing of the burst where the rate has no limit', async () => {
    const { limits } = aLimited({ COXSWAIN_PROJECT_REQUESTS_PER_SECOND: '0' });
    limits.admit(of('a'), brief);
    const [burst] = await limits.inUse(scriptedSql([[/count/, [{ n: 0 }]]]), { id: 'a' });
    expect(burst).toMatchObject({ name: 'requestBurst', most: null, used: 0, perSecond: null });
  });
});

describe('objects of a project', () => {
  it.each([
    ['have room below the limit', 4, undefined],
    ['are refused at the limit', 5, /project "a" has 5 jobs that have not ended; wait for one to end, or cancel one/],
  ])('%s', async (_sentence, n, want) => {
    const { limits, counted } = aLimited();
    const making = limits.requireRoom(scriptedSql([[/count/, [{ n }]]]), { id: 'a', name: 'a' }, 'jobs');
    if (want === undefined) await expect(making).resolves.toBeUndefined();
    else await expect(making).rejects.toThrow(want);
    expect(await counted('jobs')).toBe(want === undefined ? 0 : 1);
  });

  it('that have ended are counted without waiting for whoever makes one meanwhile', async () => {
    const { limits } = aLimited({ COXSWAIN_PROJECT_MAX_ENDED_JOBS: '7' });
    const sql = scriptedSql([[/count/, [{ n: 7 }]]]);
    await expect(limits.requireRoom(sql, { id: 'a', name: 'a' }, 'endedJobs')).rejects.toThrow(
      /project "a" has 7 jobs that have ended and are still in the cluster; delete those/,
    );
    expect(sql.statements).toHaveLength(1);
  });
});

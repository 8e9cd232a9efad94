import type { JobQuota } from '@coxswain/scheduling';
import type { Action } from '../decide/decision.ts';
import type { Observed, ObservedRuntime } from '../observation/observed.ts';
import { demandOfQuota, withinQuota } from '../observation/quota-rules.ts';
import { aCapacity, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, EARLIER, settled, summaryOfCondition } from '../testing/jobs.ts';

const RULES = { nodeSelector: { pool: 'a' }, tolerations: [{ key: 'spot', operator: 'Exists' }] };
const WAITING: JobQuota = { kind: 'waiting', message: 'Kueue: no quota is free.' };
const RESERVED: JobQuota = { kind: 'reserved', message: 'Kueue reserved the quota; nodes are chosen.', rules: RULES };
const ADMITTED: JobQuota = { kind: 'admitted', rules: RULES, gpus: 4 };
const EVICTED: JobQuota = { kind: 'evicted', reason: 'Preempted', message: 'Kueue evicted the Workload: for x' };

/** `False/WaitingForQuota; found`: condition Placed, then what is asked. */
function shown(about: Partial<Observed>): string {
  const { status, actions } = settled(observe({ job: aJob(), ...about }));
  return `${summaryOfCondition(status, 'Placed') ?? ''}; ${asked(actions)}`;
}

function asked(actions: readonly Action[]): string {
  const found = actions.find((one) => one.kind === 'askQuota');
  return found === undefined ? 'nothing asked' : (found.question.room?.kind ?? 'room unknown');
}

describe('a job that does not run', () => {
  const FULL = { capacity: () => aCapacity([]) };
  it.each<[string, Partial<Observed>, string]>([
    ['begins if it is not queued', {}, 'True/GangPlaced; nothing asked'],
    ['asks for quota and searches no nodes', { quota: WAITING }, 'False/WaitingForQuota; room unknown'],
    ['finds nodes with reserved quota, and waits', { quota: RESERVED }, 'False/WaitingForQuota; found'],
    ['finds none with reserved quota', { quota: RESERVED, ...FULL }, 'False/WaitingForCapacity; none'],
    ['begins when the quota is admitted', { quota: ADMITTED }, 'True/GangPlaced; nothing asked'],
    ['waits for nodes with admitted quota', { quota: ADMITTED, ...FULL }, 'False/WaitingForCapacity; none'],
    ['begins no attempt while it is evicted', { quota: EVICTED }, 'False/WaitingForQuota; room unknown'],
  ])('%s', (_sentence, about, expected) => {
    expect(shown(about)).toBe(expected);
  });

  it('shows why in its own words, takes no GPU, and is reconciled again', () => {
    const { status, reserve, requeueAfterMs } = settled(
      observe({ job: aJob(), quota: WAITING, waitingCount: () => 2_000 }),
    );
    expect(status).toMatchObject({ state: 'Queued', epoch: 0, summary: WAITING.message });
    expect({ attempts: status.attempts, reserve, requeueAfterMs }).toEqual({
      attempts: undefined,
      reserve: undefined,
      requeueAfterMs: 30_000,
    });
  });
});

describe('a gang that runs', () => {
  it('saves and stops when it is evicted, without a charge', () => {
    const { status } = settled(aRunningJob({ observed: { quota: EVICTED } }));
    expect(status.attempts?.[0]).toMatchObject({
      stage: 'Stopping',
      outcome: 'Moved',
      reason: 'QuotaEvicted',
      charged: false,
      message: 'Kueue evicted the Workload: for x. The job goes on when Kueue admits it again.',
    });
  });

  /** Attempt 1 trains at step 100, and its engine saves when it is asked to. */
  const aGang = (about: Parameters<typeof aRunningJob>[0] = {}, engine: 'reference' | 'torchtitan' = 'reference') =>
    aRunningJob({
      ...about,
      spec: {
        spec: { engine: { name: engine, image: 'example/image' }, checkpoint: { claimName: 'saves' } },
      },
      status: { progress: { step: 100, reportedAt: EARLIER }, attempts: [TRAINS], ...about.status },
      observed: { quota: EVICTED, ...about.observed },
    });
  const TRAINS = anAttempt({ runningAt: EARLIER, firstStep: { step: 1, at: EARLIER } });
  const saved = (outcome?: 'Saved' | 'NotSaved') => ({
    request: 1,
    incarnation: 1,
    askedAt: '2026-01-01T00:19:30Z',
    afterStep: 100,
    why: 'Kueue takes the quota of the job.',
    suspicions: ['QuotaEvicted e1'],
    ...(outcome === undefined ? {} : { outcome }),
  });

  it.each<[string, Observed, string]>([
    ['is asked to save first', aGang(), 'Released, asked'],
    [
      'trains on while it saves',
      aGang({ status: { attempts: [{ ...TRAINS, earlySave: saved() }] } }),
      'Released, asked',
    ],
    [
      'stops when it has saved',
      aGang({ status: { attempts: [{ ...TRAINS, earlySave: saved('Saved') }] } }),
      'Stopping, asked',
    ],
    [
      'stops when it does not save in two minutes',
      aGang({ observed: { elapsedMs: new Map([['e1/eviction/saves', 120_000]]) } }),
      'Stopping, asked',
    ],
    ['stops at once if its engine cannot be asked', aGang({}, 'torchtitan'), 'Stopping'],
    ['stops at once if it has trained no step', aGang({ status: { attempts: [anAttempt()] } }), 'Stopping'],
  ])('%s', (_sentence, observed, expected) => {
    const [attempt] = settled(observed).status.attempts ?? [];
    expect([attempt?.stage, ...(attempt?.earlySave === undefined ? [] : ['asked'])].join(', ')).toBe(expected);
  });

  it('is not stopped by a cache: the live read comes first', () => {
    const { attempts } = settled(aRunningJob({ observed: { quota: EVICTED, isProven: false } })).status;
    expect(attempts?.[0]?.stage).toBe('Released');
  });

  it.each([WAITING, RESERVED, ADMITTED])('goes on with $kind quota', (quota) => {
    const { status, actions } = settled(aRunningJob({ observed: { quota } }));
    expect(status.attempts?.[0]?.stage).toBe('Released');
    // Its Workload may have vanished: it is asked for by the pods that it has.
    expect(actions.find((one) => one.kind === 'askQuota')?.question.request).toMatchObject({ gpusPerNode: 2 });
  });

  it('ends as it began to, whatever its quota is', () => {
    const attempt = anAttempt({ stage: 'Stopping', outcome: 'Suspended', reason: 'SuspendRequested' });
    const { status } = settled(aRunningJob({ status: { attempts: [attempt] }, observed: { quota: EVICTED } }));
    expect(status.attempts?.[0]).toMatchObject({ outcome: 'Suspended', reason: 'SuspendRequested' });
  });
});

describe('the flavours of a quota', () => {
  const template = { spec: { nodeSelector: { zone: 'z' }, tolerations: [{ key: 'own' }], containers: [] } };
  const runtime = {
    kind: 'found',
    runtime: { usable: { kind: 'usable', snapshot: { template } } },
    isFresh: true,
    isBeingRead: false,
  } as unknown as ObservedRuntime;
  const templateOf = (found: ObservedRuntime | undefined): unknown =>
    (found as unknown as { runtime: { usable: { snapshot: { template: unknown } } } }).runtime.usable.snapshot.template;

  it.each([RESERVED, ADMITTED])(
    'are part of what pods demand with $kind quota, and the same object each time',
    (quota) => {
      const within = templateOf(withinQuota(runtime, quota));
      expect(within).toEqual({
        spec: {
          nodeSelector: { zone: 'z', pool: 'a' },
          tolerations: [{ key: 'own' }, { key: 'spot', operator: 'Exists' }],
          containers: [],
        },
      });
      expect(templateOf(withinQuota(runtime, quota))).toBe(within);
    },
  );

  it.each([undefined, WAITING, EVICTED])('change nothing with %j', (quota) => {
    expect(withinQuota(runtime, quota)).toBe(runtime);
    expect(demandOfQuota(quota)).toBeUndefined();
  });

  it('keep a job without a runtime on their untainted nodes', () => {
    expect(demandOfQuota(ADMITTED)).toEqual({ nodeSelector: { pool: 'a' }, tolerations: [], devices: {} });
  });
});

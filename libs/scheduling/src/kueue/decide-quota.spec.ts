/** More than 400 lines: every state of a job and its Workload is a row of one table. */
import { decideQuota, type QuotaDecision, type QuotaFacts, type QueuedJob } from './decide-quota.ts';
import { readWorkload } from './workload-facts.ts';

const NOW_MS = Date.parse('2026-11-29T12:00:00Z');
const CHECK = 'coxswain';

const JOB: QueuedJob = {
  uid: 'job-1',
  queueName: 'research',
  wantsGang: true,
  hasGang: false,
  hasStarted: false,
  ended: undefined,
  isSettled: false,
  digest: 'pods-1/8x8',
  growth: undefined,
  room: undefined,
};

const GPUS = { spec: { containers: [{ resources: { requests: { 'nvidia.com/gpu': '8' } } }] } };

/** A Workload as the API server has it. */
function workload(about: {
  readonly conditions?: Readonly<Record<string, string>>;
  readonly check?: string;
  readonly checkMessage?: string;
  readonly queue?: string;
  readonly digest?: string;
  readonly count?: number;
  readonly active?: boolean;
  readonly deleting?: boolean;
  readonly finalizer?: boolean;
  readonly quotaSince?: string;
}): ReturnType<typeof readWorkload> {
  const { conditions = {}, check, checkMessage = '', queue = 'research', digest = 'pods-1', count = 8 } = about;
  const { active, deleting = false, finalizer = true, quotaSince = '2026-11-29T11:59:00Z' } = about;
  return readWorkload({
    metadata: {
      name: 'coxswain-gpt',
      uid: 'workload-1',
      resourceVersion: '7',
      ...(deleting ? { deletionTimestamp: '2026-11-29T11:00:00Z' } : {}),
      ...(finalizer ? { finalizers: ['kueue.x-k8s.io/resource-in-use'] } : {}),
      annotations: { 'training.coxswain.dev/quota-request': digest },
    },
    spec: {
      queueName: queue,
      podSets: [{ name: 'ranks', count, template: GPUS }],
      ...(active === undefined ? {} : { active }),
    },
    status: {
      conditions: Object.entries(conditions).map(([type, status]) => ({
        type,
        status: status === 'False' ? 'False' : 'True',
        reason: status,
        message: `${type} ${status}`,
        lastTransitionTime: quotaSince,
      })),
      ...(check === undefined ? {} : { admissionChecks: [{ name: CHECK, state: check, message: checkMessage }] }),
    },
  });
}

function decided(job: Partial<QueuedJob>, found: QuotaFacts['workload']): string {
  const facts = { job: { ...JOB, ...job }, workload: found, ownChecks: new Set([CHECK]), nowMs: NOW_MS };
  return shown(decideQuota(facts));
}

function shown({ quota, write }: QuotaDecision): string {
  const reason = quota.kind === 'evicted' ? ` ${quota.reason}` : '';
  return `${quota.kind}${reason}; ${write?.kind ?? 'nothing'}${detailOf(write)}`;
}

function detailOf(write: QuotaDecision['write']): string {
  if (write?.kind === 'answer') return ` ${write.state}`;
  if (write?.kind === 'podsReady') return write.areReady ? ' True' : ' False';
  return write?.kind === 'finish' ? ` ${write.outcome}` : '';
}

const RESERVED = { QuotaReserved: 'True' };
const ADMITTED = { QuotaReserved: 'True', Admitted: 'True' };
const EVICTED = { ...ADMITTED, Evicted: 'Preempted', Preempted: 'InClusterQueue' };
const RELEASED = { QuotaReserved: 'False', Admitted: 'False', Evicted: 'Preempted', Requeued: 'True' };
const SUSPENDED = { wantsGang: false };
const ENDED = { wantsGang: false, ended: 'Succeeded' } as const;
const RUNS = { hasGang: true };
const STARTED = { ...RUNS, hasStarted: true };
const READY = { ...ADMITTED, PodsReady: 'Started' };
const FOUND = { room: { kind: 'found' } } as const;
const NO_ROOM = { room: { kind: 'none', message: '8 GPUs are needed and 4 are free.' } } as const;

describe('what a job and its Workload lead to', () => {
  it.each<[sentence: string, job: Partial<QueuedJob>, workload: QuotaFacts['workload'], expected: string]>([
    // A job without a queue
    ['A job without the label is none of Kueue’s.', { queueName: undefined }, 'absent', 'notQueued; nothing'],
    ['It starts where Kueue is not installed.', { queueName: undefined }, 'notServed', 'notQueued; nothing'],
    [
      'A job whose label was removed keeps its quota while it runs.',
      { queueName: undefined, ...RUNS },
      workload({ conditions: ADMITTED }),
      'waiting; nothing',
    ],
    ['Then its Workload is deleted.', { queueName: undefined }, workload({ conditions: ADMITTED }), 'waiting; delete'],
    // Writing
    ['A job with the label gets a Workload when its layout is known.', {}, 'absent', 'waiting; create'],
    ['Before that it waits.', { digest: undefined }, 'absent', 'waiting; nothing'],
    ['A suspended job gets none.', SUSPENDED, 'absent', 'notQueued; nothing'],
    ['An object of another owner is not touched.', {}, 'taken', 'waiting; nothing'],
    ['A Workload that Kueue has not answered yet stays.', {}, workload({}), 'waiting; nothing'],
    ['One that waits for quota stays.', {}, workload({ conditions: { QuotaReserved: 'False' } }), 'waiting; nothing'],
    [
      'It changes with the pods of the job.',
      { digest: 'pods-2/4x8' },
      workload({ conditions: { QuotaReserved: 'False' } }),
      'waiting; change',
    ],
    ['Not before the layout is known.', { queueName: 'other', digest: undefined }, workload({}), 'waiting; nothing'],
    ['It changes with the queue of the job.', { queueName: 'other' }, workload({}), 'waiting; change'],
    ['A count that somebody lowered while it waits is written again.', {}, workload({ count: 4 }), 'waiting; change'],
    [
      'One that somebody lowered under held quota gives the quota back.',
      {},
      workload({ conditions: ADMITTED, count: 4 }),
      'waiting; release',
    ],
    [
      'Not while the gang runs: its nodes are its own.',
      RUNS,
      workload({ conditions: ADMITTED, count: 4 }),
      'admitted; nothing',
    ],
    // Admission
    [
      'Quota is reserved: nodes are searched.',
      {},
      workload({ conditions: RESERVED, check: 'Pending' }),
      'reserved; nothing',
    ],
    [
      'Nodes are found: the check is Ready.',
      FOUND,
      workload({ conditions: RESERVED, check: 'Pending' }),
      'reserved; answer Ready',
    ],
    [
      'None are found: the check says why.',
      NO_ROOM,
      workload({ conditions: RESERVED, check: 'Pending' }),
      'reserved; answer Pending',
    ],
    [
      'The same message is written once.',
      NO_ROOM,
      workload({ conditions: RESERVED, check: 'Pending', checkMessage: NO_ROOM.room.message }),
      'reserved; nothing',
    ],
    [
      'A Ready check waits for the checks of others.',
      FOUND,
      workload({ conditions: RESERVED, check: 'Ready' }),
      'reserved; nothing',
    ],
    [
      'A queue without the check reserves and admits by itself.',
      FOUND,
      workload({ conditions: RESERVED }),
      'reserved; nothing',
    ],
    ['An admitted job begins.', FOUND, workload({ conditions: ADMITTED, check: 'Ready' }), 'admitted; nothing'],
    [
      'An admitted job runs on, whatever its quota is lowered to.',
      RUNS,
      workload({ conditions: ADMITTED, check: 'Ready' }),
      'admitted; nothing',
    ],
    [
      'Kueue is told when every rank has started: it can evict a Workload whose pods are not ready in time.',
      STARTED,
      workload({ conditions: ADMITTED }),
      'admitted; podsReady True',
    ],
    ['It is told once.', STARTED, workload({ conditions: READY }), 'admitted; nothing'],
    [
      'It is told when a gang that had started starts again.',
      RUNS,
      workload({ conditions: READY }),
      'admitted; podsReady False',
    ],
    [
      'And when an admitted job waits for nodes after an attempt.',
      {},
      workload({ conditions: READY }),
      'admitted; podsReady False',
    ],
    ['An evicted Workload is not told.', STARTED, workload({ conditions: EVICTED }), 'evicted Preempted; nothing'],
    [
      'Quota of pods that the next attempt does not need is given back, and the rest is kept.',
      { digest: 'pods-2/4x8' },
      workload({ conditions: ADMITTED }),
      'waiting; shrink',
    ],
    [
      'All of it if the next attempt needs more pods.',
      { digest: 'pods-2/9x8' },
      workload({ conditions: ADMITTED }),
      'waiting; release',
    ],
    [
      'All of it if the next attempt needs pods of another size.',
      { digest: 'pods-2/4x4' },
      workload({ conditions: ADMITTED }),
      'waiting; release',
    ],
    [
      'All of it if it needs another kind of pods besides.',
      { digest: 'pods-2/4x8,1x4' },
      workload({ conditions: ADMITTED }),
      'waiting; release',
    ],
    [
      'A gang that runs on fewer pods than its quota is for, and does not grow, gives the others back.',
      { digest: 'pods-2/4x8', ...STARTED, isSettled: true },
      workload({ conditions: READY }),
      'admitted; shrink',
    ],
    [
      'It keeps them while it is about to grow.',
      { digest: 'pods-2/4x8', ...STARTED, isSettled: true, growth: 'pods-2/8x8' },
      workload({ conditions: READY }),
      'admitted; nothing',
    ],
    [
      'Not while the gang starts or stops.',
      { digest: 'pods-2/4x8', ...RUNS },
      workload({ conditions: ADMITTED }),
      'admitted; nothing',
    ],
    [
      'Quota of another queue than the label names now is given back.',
      { queueName: 'other' },
      workload({ conditions: RESERVED }),
      'waiting; release',
    ],
    [
      'Quota stays when a runtime changes what its pods demand of nodes.',
      { digest: 'pods-2/8x8', ...FOUND },
      workload({ conditions: ADMITTED }),
      'admitted; nothing',
    ],
    // Eviction
    [
      'An evicted gang saves and stops; nothing is written before.',
      RUNS,
      workload({ conditions: EVICTED }),
      'evicted Preempted; nothing',
    ],
    ['Quota is released when the pods are gone.', {}, workload({ conditions: EVICTED }), 'waiting; release'],
    ['A released Workload waits.', {}, workload({ conditions: RELEASED }), 'waiting; nothing'],
    ['It may change while it waits.', { digest: 'pods-2/4x8' }, workload({ conditions: RELEASED }), 'waiting; change'],
    [
      'The check is not answered while the Workload is evicted.',
      FOUND,
      workload({ conditions: { ...RESERVED, Evicted: 'AdmissionCheck' }, check: 'Pending' }),
      'waiting; release',
    ],
    [
      'A stopped ClusterQueue evicts.',
      RUNS,
      workload({ conditions: { ...ADMITTED, Evicted: 'ClusterQueueStopped' } }),
      'evicted ClusterQueueStopped; nothing',
    ],
    [
      'A gang whose Workload was set inactive stops, though Kueue is away.',
      RUNS,
      workload({ conditions: ADMITTED, active: false }),
      'evicted Deactivated; nothing',
    ],
    [
      'An inactive Workload waits for a user.',
      {},
      workload({ conditions: RELEASED, active: false }),
      'waiting; nothing',
    ],
    [
      'A preempted job that is admitted again begins.',
      FOUND,
      workload({ conditions: { ...ADMITTED, Evicted: 'False' } }),
      'admitted; nothing',
    ],
    // The end
    [
      'The quota of a job stays until its last pod is gone.',
      { ...ENDED, ...RUNS },
      workload({ conditions: ADMITTED }),
      'waiting; nothing',
    ],
    ['Then the Workload is finished.', ENDED, workload({ conditions: ADMITTED }), 'waiting; finish Succeeded'],
    [
      'A failed job finishes it as failed.',
      { ...ENDED, ended: 'Failed' },
      workload({ conditions: ADMITTED }),
      'waiting; finish Failed',
    ],
    [
      'And gives up the finalizer.',
      ENDED,
      workload({ conditions: { ...ADMITTED, Finished: 'Succeeded' } }),
      'waiting; takeFinalizer',
    ],
    [
      'Nothing is written after that.',
      ENDED,
      workload({ conditions: { Finished: 'Succeeded' }, finalizer: false }),
      'waiting; nothing',
    ],
    ['A suspended job gives its Workload up.', SUSPENDED, workload({ conditions: ADMITTED }), 'waiting; delete'],
    [
      'Not before its pods are gone.',
      { ...SUSPENDED, ...RUNS },
      workload({ conditions: ADMITTED }),
      'waiting; nothing',
    ],
    // Edits by hand, backups, Kueue away
    [
      'A gang whose Workload is deleted trains on, and its quota stays counted.',
      RUNS,
      workload({ conditions: ADMITTED, deleting: true }),
      'waiting; nothing',
    ],
    [
      'A deleted Workload goes when the pods are gone.',
      {},
      workload({ conditions: ADMITTED, deleting: true }),
      'waiting; takeFinalizer',
    ],
    [
      'The Workload of a deleted job goes when the pods are gone.',
      SUSPENDED,
      workload({ conditions: ADMITTED, deleting: true }),
      'waiting; takeFinalizer',
    ],
    [
      'A deleted Workload with a finalizer of another program is left.',
      {},
      workload({ deleting: true, finalizer: false }),
      'waiting; nothing',
    ],
    ['A gang whose Workload vanished trains on, and gets another one.', RUNS, 'absent', 'waiting; create'],
    [
      'Its check is Ready at once: it has its nodes.',
      RUNS,
      workload({ conditions: RESERVED, check: 'Pending' }),
      'reserved; answer Ready',
    ],
    ['A gang that Kueue does not count yet trains on.', RUNS, workload({}), 'waiting; nothing'],
    [
      'One that Kueue has not counted for a minute trains on.',
      RUNS,
      workload({ conditions: { QuotaReserved: 'False' } }),
      'waiting; nothing',
    ],
    [
      'One that Kueue has not counted for ten minutes stops.',
      RUNS,
      workload({ conditions: { QuotaReserved: 'False' }, quotaSince: '2026-11-29T11:50:00Z' }),
      'evicted NoQuota; nothing',
    ],
    [
      'A gang whose Workload was finished by hand stops: the quota is free.',
      RUNS,
      workload({ conditions: { ...ADMITTED, Finished: 'OutOfSync' } }),
      'evicted Finished; nothing',
    ],
    [
      'Then the Workload is replaced.',
      {},
      workload({ conditions: { ...ADMITTED, Finished: 'OutOfSync' } }),
      'waiting; delete',
    ],
    ['A gang trains on when Kueue is uninstalled.', RUNS, 'notServed', 'waiting; nothing'],
    ['A job with the label waits where Kueue is not installed.', {}, 'notServed', 'waiting; nothing'],
  ])('%s', (_sentence, job, found, expected) => {
    expect(decided(job, found)).toBe(expected);
  });

  it('answers Retry and Rejected never, and changes nothing of a Workload that holds quota but its state', () => {
    const conditionSets = [RESERVED, ADMITTED, EVICTED, RELEASED, { ...EVICTED, Finished: 'True' }];
    const jobs = [{}, RUNS, STARTED, SUSPENDED, ENDED, FOUND, NO_ROOM, { digest: 'pods-2/4x8' }, { ...ENDED, ...RUNS }];
    for (const conditions of conditionSets) {
      for (const check of ['Pending', 'Ready', 'Retry', 'Rejected']) {
        for (const job of jobs) {
          const facts = { job: { ...JOB, ...job }, ownChecks: new Set([CHECK]), nowMs: NOW_MS };
          const found = workload({ conditions, check });
          const { quota, write } = decideQuota({ ...facts, workload: found });
          const holds = found.conditions.get('QuotaReserved')?.isTrue === true;
          const evicted = found.conditions.get('Evicted')?.isTrue === true;
          if (write?.kind === 'answer') expect(['Ready', 'Pending']).toContain(write.state);
          if (evicted) expect(write?.kind).not.toBe('answer');
          if (holds) expect(write?.kind).not.toBe('change');
          // Quota is given back only when no pod is left.
          if (facts.job.hasGang) expect([undefined, 'answer', 'create', 'podsReady']).toContain(write?.kind);
          // No attempt begins on a Workload that is evicted.
          if (evicted && holds) expect(['waiting', 'evicted']).toContain(quota.kind);
        }
      }
    }
  });
});

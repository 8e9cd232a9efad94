/** Failures that the program did not cause: what they cost, and when they end a job. The four jobs of the first table are reduced from public reports. */
import type { Attempt, FailureTally, TrainingJobSpec } from '@coxswain/api-types';
import { factsOf, type Facts } from '../observation/facts.ts';
import { type JobRecord, recordOf } from '../record/job-record.ts';
import { observe } from '../testing/index.ts';
import { aJob, anAttempt, NOW } from '../testing/jobs.ts';
import type { Failure } from './failure.ts';
import { judgeFailure, type Judged } from './judge-failure.ts';

interface Job {
  readonly record: JobRecord;
  readonly facts: Facts;
}

interface Failed {
  readonly lines: readonly string[];
  readonly node?: string;
  readonly end?: number | string;
  readonly alsoOn?: readonly string[];
  readonly lastStep?: number;
}

type Policy = Partial<TrainingJobSpec['restartPolicy']> & Pick<TrainingJobSpec, 'failurePolicy'>;

function aJobWith({ failurePolicy, ...restartPolicy }: Policy = {}): Job {
  const job = aJob({
    spec: {
      restartPolicy: { maxRestarts: 10, delaySeconds: 0, ...restartPolicy },
      ...(failurePolicy === undefined ? {} : { failurePolicy }),
    },
  });
  return { record: { ...recordOf(job), epoch: 1, attempts: [anAttempt()] }, facts: factsOf(observe({ job })) };
}

function failureOf({ lines, node = 'gpu-a', end = 1, alsoOn }: Failed): Failure {
  return {
    reason: 'EngineFailed',
    message: '',
    node,
    crash: { lastLines: lines, ...(typeof end === 'number' ? { exitCode: end } : { signal: end }) },
    ...(alsoOn === undefined ? {} : { sameErrorOn: alsoOn }),
  };
}

function judged({ record, facts }: Job, failed: Failed): Judged {
  const { lastStep } = failed;
  const about = { failure: failureOf(failed), ...(lastStep === undefined ? {} : { lastStep }) };
  return judgeFailure(record, about, { facts, now: NOW });
}

function after(job: Job, failed: Failed): Job {
  const { charged, failures, judgement } = judged(job, failed);
  const { attempts, restarts, epoch } = job.record;
  const ended: Attempt = {
    ...(attempts.at(-1) ?? anAttempt()),
    stage: 'Ended',
    outcome: 'Failed',
    reason: 'EngineFailed',
    charged,
    judgement,
    origin: { node: failed.node ?? 'gpu-a' },
    ...(failed.lastStep === undefined ? {} : { lastStep: failed.lastStep }),
  };
  return {
    ...job,
    record: {
      ...job.record,
      epoch: epoch + 1,
      failures,
      restarts: { total: restarts.total + 1, charged: restarts.charged + Number(charged) },
      attempts: [...attempts.slice(0, -1), ended, anAttempt({ epoch: epoch + 1 })].slice(-20),
    },
  };
}

function afterTimes(count: number, job: Job, failed: Failed): Job {
  return Array.from({ length: count }).reduce<Job>((before) => after(before, failed), job);
}

const C10D = [
  'Traceback (most recent call last):',
  '  File "/app/train.py", line 12, in main',
  '    torch.distributed.init_process_group("nccl")',
  '  File "/opt/conda/lib/python3.10/site-packages/torch/distributed/rendezvous.py", line 174, in _create_c10d_store',
  '    return TCPStore(',
  'torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while trying to connect to (10.0.0.7, 29500).',
];
const S3 = [
  'Traceback (most recent call last):',
  '  File "/app/train.py", line 40, in read_index',
  '    s3.get_object(Bucket="tokens", Key="index.json")',
  'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "https://tokens.s3.amazonaws.com/index.json"',
];
const STALE = [
  '[W1128 socket.cpp:478] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).',
  'port 29500 busy, using 29501',
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((step) => `step ${step} loss 2.${step}`),
];
const SWALLOWED = [
  'Traceback (most recent call last):',
  '  File "<string>", line 3, in <module>',
  'RuntimeError: loss is nan at step 3',
  'wrapper done',
];
const WORKER_KILLED = 'RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.';
const KEY_ERROR = ['  File "/app/train.py", line 9, in main', "KeyError: 'input_ids'"];

describe('a job of a public report', () => {
  it.each<[string, Failed, object]>([
    [
      'c10d-at-start: a store that cannot be reached',
      { lines: C10D },
      { class: 'RendezvousFailed', blame: 'network', rule: 'environment' },
    ],
    [
      's3-late: a store of objects that does not answer',
      { lines: S3 },
      { class: 'ObjectStoreFailed', blame: 'storage', rule: 'environment' },
    ],
    [
      'stale-words: a warning, eight steps, and a segmentation fault',
      { lines: STALE, end: 'SIGSEGV' },
      { class: 'Segfault', blame: 'unknown', rule: 'default' },
    ],
    [
      'swallowed: an exception behind a wrapper that ends well',
      { lines: SWALLOWED, end: 0 },
      { class: 'Diverged', blame: 'program', rule: 'default' },
    ],
  ])('%s', (_case, failed, want) => {
    expect(judged(aJobWith(), failed).judgement).toMatchObject(want);
  });

  it.each([
    ['c10d-at-start', C10D],
    ['s3-late', S3],
  ])('%s restarts after the tenth failure, with every restart of its budget left', (_case, lines) => {
    const job = afterTimes(9, aJobWith(), { lines });
    const { answer, charged } = judged(job, { lines, alsoOn: ['gpu-b'] });
    expect([answer, charged, job.record.restarts.charged]).toEqual(['Restart', false, 0]);
  });

  it('says whose doing it is, what it costs and what to do', () => {
    expect(judged(aJobWith(), { lines: S3 }).judgement.says).toMatch(
      /^ObjectStoreFailed \(storage\), rule environment \(Restart\): botocore.* The program did not cause it, so no budget is charged \(failure 1 since the last checkpoint; 10 are free\)\. Check the endpoint/,
    );
  });
});

describe('a failure of the environment', () => {
  it('waits twice as long each time, up to five minutes', () => {
    const pauses = [0, 1, 2, 8, 9].map(
      (count) => judged(afterTimes(count, aJobWith(), { lines: S3 }), { lines: S3 }).judgement.delayMs,
    );
    expect(pauses).toEqual([1_000, 2_000, 4_000, 256_000, 300_000]);
  });

  it('is charged from the eleventh on, also where each attempt trains a step, and so ends the job', () => {
    const failed = { lines: S3, lastStep: 5 };
    const job = afterTimes(10, aJobWith({ maxRestarts: 2 }), failed);
    expect(judged(job, failed)).toMatchObject({ charged: true, answer: 'Restart' });
    const { answer, judgement } = judged(afterTimes(2, job, failed), failed);
    expect([answer, judgement.givenUp]).toEqual(['GiveUp', 'RestartsExhausted']);
  });

  it('of one node restarts on another', () => {
    const driver = ['RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment'];
    const { judgement, charged, avoid } = judged(aJobWith(), { lines: driver });
    expect(judgement).toMatchObject({ rule: 'node-fault', action: 'RestartElsewhere', blame: 'node' });
    expect([charged, avoid]).toEqual([false, { nodes: ['gpu-a'], reason: 'FailurePolicy' }]);
  });

  const NO_GPU = ['RuntimeError: No CUDA GPUs are available'];
  const CLOCK = ['ssl.SSLError: certificate is not yet valid'];
  const NO_MEMORY = ['OSError: [Errno 12] Cannot allocate memory'];
  const FALLEN = ['GPU has fallen off the bus'];
  it.each<[string, readonly Failed[], boolean]>([
    ['is of its node', [{ lines: NO_GPU }], true],
    ['is of no node if another one of the gang has it', [{ lines: NO_GPU, alsoOn: ['gpu-b'] }], false],
    ['is of no node if it followed the job to another one', [{ lines: CLOCK }, { lines: CLOCK, node: 'gpu-b' }], false],
    ['is of its node if it comes back there', [{ lines: NO_MEMORY }, { lines: NO_MEMORY }], true],
    ['is of its node if the driver lost a GPU', [{ lines: FALLEN, alsoOn: ['gpu-b'] }], true],
  ])('in the log %s', (_sentence, failures, isOfNode) => {
    const job = failures.slice(0, -1).reduce<Job>(after, aJobWith());
    const { judgement, avoid } = judged(job, failures.at(-1) ?? { lines: [] });
    const want = isOfNode ? ['node-fault', 'node', true] : ['environment', 'environment', false];
    expect([judgement.rule, judgement.blame, avoid !== undefined]).toEqual(want);
  });

  it('that stops gangs without a fault of their nodes blames none', () => {
    const { record, facts } = aJobWith();
    const failure: Failure = { reason: 'Condemned', message: '', crash: { lastLines: [] } };
    const { judgement } = judgeFailure(record, { failure }, { facts, now: NOW });
    expect(judgement).toMatchObject({ class: 'CollectiveTimeout', blame: 'environment' });
    const named = judgeFailure(record, { failure: { ...failure, node: 'gpu-a' } }, { facts, now: NOW });
    expect(named.judgement).toMatchObject({ class: 'NodeUnhealthy', blame: 'node' });
  });

  it('of the memory of a GPU restarts where it is, at once', () => {
    const ecc = ['RuntimeError: CUDA error: uncorrectable ECC error encountered'];
    const { judgement, charged, avoid } = judged(aJobWith(), { lines: ecc });
    expect(judgement).toMatchObject({ rule: 'gpu-error', action: 'Restart', blame: 'node' });
    expect([charged, avoid, judgement.delayMs]).toEqual([false, undefined, undefined]);
  });

  it('is paid by a budget of the policy for its blame, from the first', () => {
    const failurePolicy = { budgets: [{ blame: 'storage' as const, maxRestarts: 1 }] };
    const { judgement, failures } = judged(aJobWith({ failurePolicy }), { lines: S3 });
    expect(judgement.budget).toBe('storage');
    expect(failures?.spent).toMatchObject([{ blame: 'storage', total: 1 }]);
  });

  it('is answered by a rule of the job first', () => {
    const failurePolicy = { rules: [{ name: 'mine', onBlames: ['storage' as const], action: 'Fail' as const }] };
    expect(judged(aJobWith({ failurePolicy }), { lines: S3 }).judgement).toMatchObject({ rule: 'mine' });
  });
});

describe('the same traceback before the first step', () => {
  const twice = (first: Failed, second: Failed, policy: Policy = {}): Judged =>
    judged(after(aJobWith(policy), first), second);
  it.each<[string, readonly [Failed, Failed], Policy, boolean]>([
    ['ends the job on a second node', [{ lines: KEY_ERROR }, { lines: KEY_ERROR, node: 'gpu-b' }], {}, true],
    [
      'ends it if two nodes raise it in one attempt',
      [{ lines: KEY_ERROR }, { lines: KEY_ERROR, alsoOn: ['gpu-b'] }],
      {},
      true,
    ],
    ['proves nothing on one node', [{ lines: KEY_ERROR }, { lines: KEY_ERROR }], {}, false],
    [
      'of the environment proves nothing on any number of nodes',
      [{ lines: C10D }, { lines: C10D, node: 'gpu-b', alsoOn: ['gpu-c'] }],
      {},
      false,
    ],
    [
      'of memory that the pod may not use proves nothing',
      [{ lines: [WORKER_KILLED] }, { lines: [WORKER_KILLED], node: 'gpu-b' }],
      {},
      false,
    ],
    [
      'does not end a job that turns the rule off',
      [{ lines: KEY_ERROR }, { lines: KEY_ERROR, node: 'gpu-b' }],
      { sameTraceback: 'Restart' },
      false,
    ],
  ])('%s', (_sentence, [first, second], policy, ends) => {
    expect(twice(first, second, policy).judgement.givenUp).toBe(ends ? 'SameTraceback' : undefined);
  });

  it('names both nodes, and how to try again', () => {
    expect(twice({ lines: KEY_ERROR }, { lines: KEY_ERROR, node: 'gpu-b' }).judgement.says).toContain(
      'It raised the same exception twice before its first step, on nodes gpu-a and gpu-b, so it would a third time. restartPolicy.sameTraceback: Restart tries again.',
    );
  });

  it('on one node ends by lack of progress all the same', () => {
    const job = afterTimes(3, aJobWith(), { lines: KEY_ERROR });
    expect(judged(job, { lines: KEY_ERROR }).judgement.givenUp).toBe('NoProgress');
  });

  it('counts a tally of the release before, which has no nodes, as seen on none', () => {
    const old: FailureTally = { ...after(aJobWith(), { lines: KEY_ERROR }).record.failures } as FailureTally;
    const { nodes: _, ...traceback } = old.traceback ?? { fingerprint: '', times: 1 };
    const job = aJobWith();
    const record = { ...job.record, failures: { ...old, traceback } };
    expect(judged({ ...job, record }, { lines: KEY_ERROR }).judgement.givenUp).toBeUndefined();
  });
});

describe('restarts without progress', () => {
  it.each<[string, readonly string[]]>([
    [
      'the environment',
      ['RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`'],
    ],
    ['storage', ['OSError: [Errno 116] Stale file handle']],
    ['a peer that was lost', ['ConnectionResetError: [Errno 104] Connection reset by peer']],
  ])('of %s do not end a job', (_whose, lines) => {
    expect(judged(afterTimes(6, aJobWith(), { lines }), { lines }).judgement.givenUp).toBeUndefined();
  });
});

import type { TrainingJob, TrainingJobStatus } from '@coxswain/api-types';
import { aTrainingJob, anAttempt } from '@coxswain/api-types/testing';
import type { CacheChange, KubeObject } from '@coxswain/kube';
import { observeJobs } from './observe-jobs.ts';
import { createOperatorMetrics, type Gauges } from './operator-metrics.ts';

type Job = TrainingJob & KubeObject;

const aJob = (status: Partial<TrainingJobStatus>): Job =>
  aTrainingJob({ status: { epoch: 0, restarts: { total: 0, charged: 0 }, ...status } }) as Job;
const held = { at: '', restsOn: 'Measured', promisedAt: '2026-01-01T00:00:00Z', firstPromised: '2026-01-01T01:00:00Z' };
const waits = aJob({ expectedStart: held as TrainingJobStatus['expectedStart'] });
const startedAt = (time: string): Job =>
  aJob({ epoch: 1, attempts: [anAttempt({ startedAt: `2026-01-01T${time}Z` })] });

const NO_GAUGES = new Proxy({} as Gauges, {
  get: (_, name) => {
    if (name === 'gpuTypes') return () => [];
    if (name === 'goodput') return { read: () => [], settled: () => Promise.resolve() };
    if (name === 'queue') return () => ({ jobsByState: {}, waitingByReason: {}, oldestWaitSeconds: 0 });
    return name === 'endsHeld' ? () => ({}) : () => 0;
  },
});

it.each<[string, CacheChange<Job>, boolean, readonly string[]]>([
  [
    'late start by seconds and as a share of the wait',
    { kind: 'updated', previous: waits, object: startedAt('01:15:00') },
    true,
    ['seconds_sum{direction="later"} 900', 'ratio_sum 0.25'],
  ],
  [
    'early start',
    { kind: 'updated', previous: waits, object: startedAt('00:54:00') },
    true,
    ['seconds_sum{direction="earlier"} 360', 'ratio_sum 0.1'],
  ],
  [
    'start on a replica that does not lead not at all',
    { kind: 'updated', previous: waits, object: startedAt('01:15:00') },
    false,
    [],
  ],
  [
    'start of a job that is listed for the first time not at all',
    { kind: 'added', object: startedAt('01:15:00') },
    true,
    [],
  ],
])('the operator counts a %s', async (_sentence, change, isLeader, want) => {
  const metrics = createOperatorMetrics(NO_GAUGES);
  let handler: ((change: CacheChange<Job>) => void) | undefined;
  observeJobs({ onChange: (given) => (handler = given) }, { metrics, isLeader: () => isLeader });
  handler?.(change);
  const { text } = await metrics.expose();
  const sums = text
    .split('\n')
    .filter((line) => /^coxswain_queue_start_error_\w+_sum/.test(line) && !line.endsWith(' 0'));
  expect(sums.map((line) => line.replace('coxswain_queue_start_error_', ''))).toEqual(want);
});

it('the operator counts incidents by kind and restarts by cause', async () => {
  const metrics = createOperatorMetrics(NO_GAUGES);
  let handler: ((change: CacheChange<Job>) => void) | undefined;
  observeJobs({ onChange: (given) => (handler = given) }, { metrics, isLeader: () => true });
  const failed = anAttempt({ stage: 'Ended', outcome: 'Failed', reason: 'NodeLost', answer: 'Restart' });
  const incidents = [{ id: '1.1', kind: 'NodeLost' }] as TrainingJobStatus['incidents'];
  handler?.({ kind: 'updated', previous: aJob({}), object: aJob({ attempts: [failed], incidents }) });
  const { text } = await metrics.expose();
  expect(text).toContain('coxswain_incidents_total{kind="NodeLost"} 1');
  expect(text).toContain('coxswain_restarts_total{cause="NodeLost"} 1');
});

it('the operator measures the phases of a restart with its first step, and each save once', async () => {
  const metrics = createOperatorMetrics(NO_GAUGES);
  let handler: ((change: CacheChange<Job>) => void) | undefined;
  observeJobs({ onChange: (given) => (handler = given) }, { metrics, isLeader: () => true });
  const at = (seconds: number): string => `2026-01-01T00:00:${seconds}Z`;
  const ended = { incarnation: 1, endedAt: at(20), reason: 'EngineFailed', charged: true, lastStepAt: at(19) } as const;
  const restarts = anAttempt({ incarnation: 2, incarnations: [ended] });
  const clock = { startedAt: at(22), importedAt: at(30), saves: [{ step: 8, ms: 1_500 }] };
  const restarted = { ...restarts, clock, firstStep: { step: 8, at: at(33) } };
  const steps = { ...restarted, lastStep: 9 };
  handler?.({ kind: 'updated', previous: aJob({ attempts: [restarts] }), object: aJob({ attempts: [restarted] }) });
  handler?.({ kind: 'updated', previous: aJob({ attempts: [restarted] }), object: aJob({ attempts: [steps] }) });
  const { text } = await metrics.expose();
  const sums = text.split('\n').filter((line) => /^coxswain_(restart|save)\w*_(sum|count)/.test(line));
  expect(sums.filter((line) => line.includes('_sum'))).toEqual([
    'coxswain_restart_seconds_sum 14',
    'coxswain_restart_phase_seconds_sum{phase="deciding"} 1',
    'coxswain_restart_phase_seconds_sum{phase="placing"} 0',
    'coxswain_restart_phase_seconds_sum{phase="starting"} 2',
    'coxswain_restart_phase_seconds_sum{phase="importing"} 8',
    'coxswain_restart_phase_seconds_sum{phase="stepping"} 3',
    'coxswain_save_stop_seconds_sum 1.5',
  ]);
  expect(sums.filter((line) => line.includes('seconds_count ') || line.includes('"importing"}'))).toEqual([
    'coxswain_restart_seconds_count 1',
    'coxswain_restart_phase_seconds_sum{phase="importing"} 8',
    'coxswain_restart_phase_seconds_count{phase="importing"} 1',
    'coxswain_save_stop_seconds_count 1',
  ]);
});

/** What is done to a generated job, and what should be said of it. */
import type { ParallelLayout } from '@coxswain/layout';
import type { VerdictKind } from '../verdict/verdict.ts';

export interface Fault {
  readonly kind:
    | 'slowCompute'
    | 'slowLink'
    | 'freeze'
    | 'freezeWhileSaving'
    | 'kill'
    | 'skip'
    | 'deadLink'
    | 'healingLink'
    | 'hostData'
    | 'sharedData'
    | 'stage'
    | 'experts'
    | 'pauses'
    | 'sequences'
    | 'uniform';
  /** Slowdown as a multiple, where it is one. */
  readonly factor?: number;
  /** Name of the groups one of which has the dead or healing link; `data` unless told. */
  readonly group?: string;
}

export interface Scenario {
  readonly name: string;
  readonly faults: readonly Fault[];
  /** Verdicts any of which names the fault; of a rank only if it lists the rank. Empty: nothing is to be named. */
  readonly expected: readonly VerdictKind[];
  readonly layout?: Partial<ParallelLayout>;
  /** Sigma of the log-normal noise of a rank's compute in a step. */
  readonly noise?: number;
  /** Multiples of the compute of stages, from the start on. */
  readonly stages?: readonly number[];
  /** Share of reports that are lost. */
  readonly lost?: number;
  /** Up to so long after its time a rank's reports arrive. */
  readonly arrivesLateMs?: number;
  /** Whether hosts call a step's operations before their GPUs come to them, and nobody tells which have begun: NCCL as it runs by default. */
  readonly hostsRunAhead?: boolean;
  /** Whether ranks tell the work of their steps. */
  readonly tellsWork?: boolean;
}

const SLOW: readonly VerdictKind[] = ['slowRank'];
const HANG: readonly VerdictKind[] = ['hang'];

export const SCENARIOS: readonly Scenario[] = [
  { name: 'clean', faults: [], expected: [] },
  { name: 'slow compute 10 %', faults: [{ kind: 'slowCompute', factor: 1.1 }], expected: SLOW },
  { name: 'slow compute 20 %', faults: [{ kind: 'slowCompute', factor: 1.2 }], expected: SLOW },
  { name: 'slow compute 50 %', faults: [{ kind: 'slowCompute', factor: 1.5 }], expected: SLOW },
  { name: 'slow link', faults: [{ kind: 'slowLink', factor: 2 }], expected: ['slowLink'] },
  { name: 'silent hang', faults: [{ kind: 'freeze' }], expected: HANG },
  { name: 'frozen process', faults: [{ kind: 'kill' }], expected: HANG },
  { name: 'skipped collective', faults: [{ kind: 'skip' }], expected: ['desync'] },
  { name: 'dead link', faults: [{ kind: 'deadLink' }], expected: ['networkHang'] },
  { name: 'silent hang, hosts ahead of GPUs', faults: [{ kind: 'freeze' }], expected: HANG, hostsRunAhead: true },
  { name: 'frozen process, hosts ahead of GPUs', faults: [{ kind: 'kill' }], expected: HANG, hostsRunAhead: true },
  {
    name: 'skipped collective, hosts ahead of GPUs',
    faults: [{ kind: 'skip' }],
    expected: ['desync'],
    hostsRunAhead: true,
  },
  {
    name: 'dead link, hosts ahead of GPUs',
    faults: [{ kind: 'deadLink' }],
    expected: ['networkHang'],
    hostsRunAhead: true,
  },
  { name: 'data stall of a host', faults: [{ kind: 'hostData' }], expected: ['hostDataStall'] },
  { name: 'data stall of storage', faults: [{ kind: 'sharedData' }], expected: ['sharedDataStall'] },
  { name: 'uneven pipeline', faults: [{ kind: 'stage', factor: 1.25 }], expected: ['stageImbalance'] },
  {
    name: 'MoE imbalance, tokens told',
    faults: [{ kind: 'experts', factor: 1.4 }],
    expected: ['expertImbalance'],
    layout: { expert: { expertParallelDegree: 4 } },
    tellsWork: true,
  },
  {
    name: 'MoE imbalance, not told',
    faults: [{ kind: 'experts', factor: 1.4 }],
    expected: ['expertImbalance'],
    layout: { expert: { expertParallelDegree: 4 } },
  },
  { name: 'collection pauses', faults: [{ kind: 'pauses' }], expected: ['collectionPauses'] },
  {
    name: 'sequence imbalance, lengths told',
    faults: [{ kind: 'sequences' }],
    expected: ['sequenceImbalance'],
    tellsWork: true,
  },
  { name: 'sequence imbalance, not told', faults: [{ kind: 'sequences' }], expected: ['sequenceImbalance'] },
  { name: 'uniformly slow', faults: [{ kind: 'uniform', factor: 1.25 }], expected: ['slowJob'] },
];

/** The same, made harder. */
export const HOSTILE: readonly Scenario[] = [
  {
    name: 'slow compute 10 %, unlike stages',
    faults: [{ kind: 'slowCompute', factor: 1.1 }],
    expected: SLOW,
    stages: [0.8, 1, 1, 1.08],
  },
  { name: 'clean, noise 3 %', faults: [], expected: [], noise: 0.03 },
  { name: 'slow compute 10 %, noise 3 %', faults: [{ kind: 'slowCompute', factor: 1.1 }], expected: SLOW, noise: 0.03 },
  {
    name: 'slow compute 20 % and slow link',
    faults: [
      { kind: 'slowCompute', factor: 1.2 },
      { kind: 'slowLink', factor: 2 },
    ],
    expected: ['slowRank', 'slowLink'],
  },
  { name: 'hang while saving', faults: [{ kind: 'freezeWhileSaving' }], expected: HANG },
  { name: 'clean, a fifth of reports lost', faults: [], expected: [], lost: 0.2 },
  { name: 'silent hang, a fifth of reports lost', faults: [{ kind: 'freeze' }], expected: HANG, lost: 0.2 },
  { name: 'clean, reports up to 8 s late', faults: [], expected: [], arrivesLateMs: 8_000 },
  { name: 'silent hang, reports up to 8 s late', faults: [{ kind: 'freeze' }], expected: HANG, arrivesLateMs: 8_000 },
  {
    name: 'dead link between stages',
    faults: [{ kind: 'deadLink', group: 'activations' }],
    expected: ['networkHang'],
  },
  // 180 ms and 6 ms of transfer, once: a minute and a half.
  {
    name: 'link that heals after 90 s',
    faults: [{ kind: 'healingLink', factor: 500 }],
    expected: ['networkHang'],
  },
  {
    name: 'link between stages, heals after 90 s',
    faults: [{ kind: 'healingLink', factor: 15_000, group: 'activations' }],
    expected: ['networkHang'],
  },
  {
    name: 'slow compute 5 % (below the gate)',
    faults: [{ kind: 'slowCompute', factor: 1.05 }],
    expected: SLOW,
  },
];

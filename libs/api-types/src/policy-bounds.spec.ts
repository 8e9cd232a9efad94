/** What administrators and users may write into policies, runtimes, the Fabric and rules of notices. */
import type { z } from 'zod';
import { DisruptionNoticeRule } from './disruption-notice.ts';
import { FabricSpec, FabricStatus } from './fabric-resource.ts';
import { FailurePolicy } from './failure-policy.ts';
import { PreflightFacts, PreflightReport, PreflightSpec } from './preflight.ts';
import { type Bound, letters, listOf, refusedFields, withField } from './testing/one-field.ts';
import { ClusterTrainingRuntimeSpec, RuntimeRef, RuntimeSnapshot, TrainingRuntimeSpec } from './training-runtime.ts';

const RULE = {
  name: 'bad-gpus',
  onReasons: ['EngineFailed'],
  onExitCodes: { operator: 'In', values: [134] },
  onCrashClasses: ['GpuLost'],
  onBlames: ['node'],
  onLogPatterns: ['XID 79'],
  onNodeConditions: ['GpuUnhealthy'],
  action: 'RestartElsewhere',
};
const POLICY = { rules: [RULE], budgets: [{ blame: 'node', maxRestarts: 10, windowSeconds: 3600 }] };
const variable = { name: 'NCCL_IB_HCA', value: 'mlx5' };
const nics = { nicClass: 'infiniband', env: [variable] };
const OVERRIDE = { nodes: ['gpu-a'], switches: ['leaf-1'] };
const PROBLEM = { kind: 'Contradiction', nodes: ['gpu-a'], message: 'm' };
const FABRIC_STATUS = {
  nodes: 1,
  gpus: 8,
  nvlinkDomains: 0,
  islandCount: 1,
  islands: [{ name: 'ib-0', nodes: 1, gpus: 8 }],
  switches: [1],
  nodesWithoutSwitches: 0,
  sources: [{ fact: 'island', key: 'fabric.coxswain.dev/nic-island', nodes: 1 }],
  problems: [PROBLEM],
  conditions: [],
};
const GPU = { name: 'H100', memoryBytes: 80_000_000_000 };
const PAIR = { peer: 1, round: 0, bytesPerSecond: 4e10 };
const SNAPSHOT = { kind: 'TrainingRuntime', name: 'efa', uid: 'u', generation: 1, template: {} };

const tables: readonly (readonly [string, z.ZodType, unknown, readonly Bound[]])[] = [
  [
    'a failure policy',
    FailurePolicy,
    POLICY,
    [
      ['rules', 'optional', undefined, 'none'],
      ['rules.0.name', 'the name of an object', 'bad-gpus', 'bad gpus'],
      ['rules.0.onReasons', 'not an empty list', ['NodeLost'], []],
      ['rules.0.onReasons.0', 'one that is declared', 'Condemned', 'Bored'],
      ['rules.0.onReasons', 'at most 32', listOf(32, 'NodeLost'), listOf(33, 'NodeLost')],
      ['rules.0.onExitCodes.operator', 'in or not in', 'NotIn', 'Equals'],
      ['rules.0.onExitCodes.values', 'not an empty list', [1], []],
      ['rules.0.onExitCodes.values', 'at most 64', listOf(64, 1), listOf(65, 1)],
      ['rules.0.onExitCodes.values.0', 'never success', 1, 0],
      ['rules.0.onExitCodes.values.0', 'at most 255', 255, 256],
      ['rules.0.onCrashClasses.0', 'one that is declared', 'Diverged', 'Gremlin'],
      ['rules.0.onCrashClasses', 'at most 64', listOf(64, 'GpuLost'), listOf(65, 'GpuLost')],
      ['rules.0.onBlames.0', 'one of seven', 'environment', 'user'],
      ['rules.0.onBlames', 'at most 7', listOf(7, 'node'), listOf(8, 'node')],
      ['rules.0.onLogPatterns', 'at most 16', listOf(16, 'x'), listOf(17, 'x')],
      ['rules.0.onLogPatterns.0', 'not empty', 'x', ''],
      ['rules.0.onLogPatterns.0', 'at most 256 characters', letters(256), letters(257)],
      ['rules.0.onLogPatterns.0', 'more than stars and spaces', '* x *', '* *'],
      ['rules.0.onNodeConditions', 'at most 16', listOf(16, 'x'), listOf(17, 'x')],
      ['rules.0.onNodeConditions.0', 'at most 316 characters', letters(316), letters(317)],
      ['rules.0.action', 'one of four', 'Fail', 'Wait'],
      ['rules.0.charged', 'true or false', false, 'no'],
      ['rules.0.when', 'not known', undefined, 'always'],
      ['budgets.0.blame', 'one of six', 'program', 'all'],
      ['budgets.0.maxRestarts', 'at least 0', 0, -1],
      ['budgets.0.maxRestarts', 'at most 50', 50, 51],
      ['budgets.0.windowSeconds', 'at least a minute', 60, 59],
      ['budgets.0.windowSeconds', 'at most 30 days', 2_592_000, 2_592_001],
      ['maxCyclesWithoutProgress', 'at least 1', 1, 0],
      ['maxCyclesWithoutProgress', 'at most 100', 100, 101],
    ],
  ],
  [
    'a preflight',
    PreflightSpec,
    {},
    [
      ['level', 'one of three', 'Full', 'Slow'],
      ['timeoutSeconds', 'at least 10', 10, 9],
      ['timeoutSeconds', 'at most 600', 600, 601],
      ['checks', 'not known', undefined, ['disk']],
    ],
  ],
  [
    'a runtime of a namespace',
    TrainingRuntimeSpec,
    { nicEnvironments: [nics] },
    [
      ['description', 'at most 1024 characters', letters(1024), letters(1025)],
      ['sourceScript', 'an absolute path', '/etc/nccl.sh', 'nccl.sh'],
      ['sourceScript', 'without spaces', '/a-b', '/a b'],
      ['sourceScript', 'at most 512 characters', `/${letters(511)}`, `/${letters(512)}`],
      ['imagePullDeadlineSeconds', 'at least a minute', 60, 59],
      ['imagePullDeadlineSeconds', 'at most four hours', 14_400, 14_401],
      ['engine', 'one with a name', { name: 'torchtitan', release: 'v0.3.0' }, 'torchtitan'],
      ['nicEnvironments', 'at most 8', listOf(8, nics), listOf(9, nics)],
      ['nicEnvironments.0.nicClass', 'not empty', 'roce', ''],
      ['nicEnvironments.0.nicClass', 'at most 63 characters', letters(63), letters(64)],
      ['nicEnvironments.0.env', 'not an empty list', [variable], []],
      ['nicEnvironments.0.env', 'at most 64', listOf(64, variable), listOf(65, variable)],
      ['nicEnvironments.0.env.0.name', 'none of ours', 'NCCL_NET', 'COXSWAIN_EPOCH'],
      ['nicEnvironments.0.env.0.value', 'at most 4096 characters', letters(4096), letters(4097)],
      ['template', 'an object', { spec: {} }, 'spec'],
      ['namespaces', 'only of a runtime of the cluster', undefined, ['research']],
      ['jobs', 'only of a runtime of the cluster', undefined, {}],
      ['computeDomain', 'only of a runtime of the cluster', undefined, {}],
    ],
  ],
  [
    'a runtime of the cluster',
    ClusterTrainingRuntimeSpec,
    {},
    [
      ['namespaces', 'empty for none', [], 'all'],
      ['namespaces', 'at most 1000', listOf(1000, 'a'), listOf(1001, 'a')],
      ['computeDomain', 'without options yet', {}, 'on'],
      ['jobs.images', 'at most 64', listOf(64, 'ghcr.io/'), listOf(65, 'ghcr.io/')],
      ['jobs.refusedVariables', 'at most 64', listOf(64, 'NCCL_'), listOf(65, 'NCCL_')],
      ['jobs.gpusPerNode', 'at least 1', 1, 0],
      ['jobs.gpusPerNode', 'at most 16', 16, 17],
      ['jobs.maxCpuPerGpu', 'a quantity of processors', '500m', '4Gi'],
      ['jobs.maxMemoryPerGpu', 'a quantity of memory', '16Gi', '16GB'],
      ['jobs.maxJobs', 'not known', undefined, 4],
    ],
  ],
  [
    'a copy of a runtime',
    RuntimeSnapshot,
    SNAPSHOT,
    [
      ['kind', 'one of two', 'ClusterTrainingRuntime', 'Runtime'],
      ['name', 'at most 253 characters', letters(253), letters(254)],
      ['generation', 'at least 0', 0, -1],
      ['imagePullDeadlineSeconds', 'at most a day', 86_400, 86_401],
      ['template', 'not left out', {}, undefined],
      ['jobs', 'not copied', undefined, {}],
    ],
  ],
  [
    'a reference to a runtime',
    RuntimeRef,
    { name: 'efa' },
    [
      ['kind', 'one of two', 'TrainingRuntime', 'Runtime'],
      ['name', 'the name of an object', 'efa-1', 'EFA'],
      ['namespace', 'not known', undefined, 'research'],
    ],
  ],
  [
    'the Fabric',
    FabricSpec,
    { overrides: [OVERRIDE], reserve: {} },
    [
      ['overrides', 'at most 256', listOf(256, OVERRIDE), listOf(257, OVERRIDE)],
      ['overrides.0.nodes', 'at most 1000', listOf(1000, 'n'), listOf(1001, 'n')],
      ['overrides.0.nodes.0', 'not empty', 'n', ''],
      ['overrides.0.nodes.0', 'at most 253 characters', letters(253), letters(254)],
      ['overrides.0.nvlinkDomain', 'the value of a label', 'Rack_1.a', 'rack 1'],
      ['overrides.0.island', 'at most 63 characters', letters(63), letters(64)],
      ['overrides.0.island', 'with a letter or digit at its end', 'ib-0', 'ib-'],
      ['overrides.0.switches', 'not an empty list', ['leaf'], []],
      ['overrides.0.switches', 'at most 8', listOf(8, 'leaf'), listOf(9, 'leaf')],
      ['overrides.0.switches.0', 'not empty', 'leaf', ''],
      ['overrides.0.nicSpeedGbps', 'at least 1', 1, 0],
      ['overrides.0.nicSpeedGbps', 'at most 100000', 100_000, 100_001],
      ['overrides.0.nicCount', 'at least 1', 1, 0],
      ['overrides.0.nicCount', 'at most 32', 32, 33],
      ['overrides.0.gpus', 'not known', undefined, 8],
      ['reserve.nodesPerNvlinkDomain', 'at least 0', 0, -1],
      ['reserve.nodesPerNvlinkDomain', 'at most 64', 64, 65],
      ['reserve.nodesPerIsland', 'at most 10000', 10_000, 10_001],
    ],
  ],
  [
    'the status of the Fabric',
    FabricStatus,
    FABRIC_STATUS,
    [
      ['nodes', 'at least 0', 0, -1],
      ['islands', 'at most 64', listOf(64, FABRIC_STATUS.islands[0]), listOf(65, FABRIC_STATUS.islands[0])],
      ['islands.0.name', 'at most 512 characters', letters(512), letters(513)],
      ['switches', 'of at most 16 tiers', listOf(16, 1), listOf(17, 1)],
      ['sources', 'at most 64', listOf(64, FABRIC_STATUS.sources[0]), listOf(65, FABRIC_STATUS.sources[0])],
      ['sources.0.key', 'at most 384 characters', letters(384), letters(385)],
      ['problems', 'at most 32', listOf(32, PROBLEM), listOf(33, PROBLEM)],
      ['problems.0.nodes', 'at most 8', listOf(8, 'n'), listOf(9, 'n')],
      ['problems.0.message', 'at most 4096 characters', letters(4096), letters(4097)],
      ['conditions', 'not left out', [], undefined],
    ],
  ],
  [
    'facts of a preflight',
    PreflightFacts,
    { gpus: [GPU], clock: { aheadMs: 0, uncertaintyMs: 0 } },
    [
      ['torch', 'at most 64 characters', letters(64), letters(65)],
      ['packagesSha256', '64 digits', 'a'.repeat(64), 'a'.repeat(65)],
      ['gpus', 'at most 16', listOf(16, GPU), listOf(17, GPU)],
      ['gpus.0.memoryBytes', 'at least 0', 0, -1],
      ['memlockBytes', 'null for no limit', null, -1],
      ['clock.aheadMs', 'before or after', -5, '5'],
      ['clock.uncertaintyMs', 'at least 0', 0, -1],
      ['hostname', 'not known', undefined, 'gpu-a'],
    ],
  ],
  [
    'a report of a preflight',
    PreflightReport,
    { outcome: 'Done', facts: {}, pairs: [PAIR], tookMs: 1 },
    [
      ['outcome', 'one of three', 'Partial', 'Failed'],
      ['note', 'at most 512 characters', letters(512), letters(513)],
      ['pairs', 'at most 16', listOf(16, PAIR), listOf(17, PAIR)],
      ['pairs.0.round', 'below 16', 15, 16],
      ['pairs.0.bytesPerSecond', 'null if nothing came in time', null, undefined],
      ['pairs.0.bytesPerSecond', 'at least 0', 0, -1],
      ['tookMs', 'at least 0', 0, -1],
    ],
  ],
];

describe.each(tables)('of %s', (_what, schema, whole, bounds) => {
  it.each(bounds)('%s is %s', (field, _rule, kept, broken) => {
    expect(refusedFields(schema, withField(whole, field, kept))).toEqual([]);
    expect(refusedFields(schema, withField(whole, field, broken))).toEqual([field]);
  });
});

const refusals = (schema: z.ZodType, value: unknown): readonly string[] =>
  (schema.safeParse(value).error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);

describe('a rejection', () => {
  const taint = { name: 'spot', taint: 'aws/spot' };
  it.each<[string, z.ZodType, object, string]>([
    ['two rules of one name', FailurePolicy, { rules: [RULE, RULE] }, 'rules: each rule needs a unique name'],
    [
      'two budgets of one blame',
      FailurePolicy,
      { budgets: [...POLICY.budgets, { blame: 'node', maxRestarts: 0 }] },
      'budgets: each blame has one budget',
    ],
    [
      'a pattern that matches all lines',
      FailurePolicy,
      { rules: [{ ...RULE, onLogPatterns: ['**'] }] },
      'rules.0.onLogPatterns.0: must contain something besides * and spaces',
    ],
    [
      'an override of no nodes',
      FabricSpec,
      { overrides: [{ island: 'ib-0' }] },
      'overrides.0: must have nodes or a non-empty nodeSelector',
    ],
    [
      'an override of an empty selector',
      FabricSpec,
      { overrides: [{ nodeSelector: {}, island: 'ib-0' }] },
      'overrides.0: must have nodes or a non-empty nodeSelector',
    ],
    [
      'a window that ends before it begins',
      FabricSpec,
      { windows: [{ name: 'w', nodes: ['n'], from: '2026-12-02T00:00:00Z', until: '2026-12-01T23:59:59Z' }] },
      'windows.0.until: must be after from',
    ],
    [
      'a window at no time',
      FabricSpec,
      { windows: [{ name: 'w', nodes: ['n'], from: 'tomorrow', until: '2026-12-02T00:00:00Z' }] },
      'windows.0.from: must be a time such as 2026-12-01T22:00:00Z',
    ],
    [
      'a mark without a key',
      DisruptionNoticeRule,
      { name: 'spot' },
      ': a rule names exactly one of taint, label, annotation and condition',
    ],
    [
      'a mark with two keys',
      DisruptionNoticeRule,
      { ...taint, condition: 'Leaving' },
      ': a rule names exactly one of taint, label, annotation and condition',
    ],
    [
      'a notice with a capital letter',
      DisruptionNoticeRule,
      { ...taint, name: 'Spot' },
      'name: must be 1 to 63 lower-case letters, digits and "-"',
    ],
    [
      'a script with a relative path',
      TrainingRuntimeSpec,
      { sourceScript: 'a.sh' },
      'sourceScript: must be an absolute path without spaces',
    ],
  ])('of %s says what is wrong', (_what, schema, value, refusal) => {
    expect(refusals(schema, value)).toEqual([refusal]);
  });

  it.each<[string, z.ZodType, object]>([
    ['rules with two names', FailurePolicy, { rules: [RULE, { ...RULE, name: 'b' }] }],
    ['a policy without rules', FailurePolicy, {}],
    ['nodes by their labels', FabricSpec, { overrides: [{ nodeSelector: { rack: '1' }, island: 'ib-0' }] }],
    ['a mark by taint', DisruptionNoticeRule, taint],
    ['a mark by condition with reasons', DisruptionNoticeRule, { name: 'a', condition: 'Leaving', values: ['Spot'] }],
    ['a mark whose value is a time', DisruptionNoticeRule, { name: 'a', label: 'l', begins: 'AtUnixSeconds' }],
  ])('is not given for %s', (_what, schema, value) => {
    expect(refusals(schema, value)).toEqual([]);
  });
});

describe('a default', () => {
  it.each<[string, z.ZodType, unknown, unknown]>([
    ['preflight is quick, for a minute', PreflightSpec, {}, { level: 'Quick', timeoutSeconds: 60 }],
    [
      'kind of a runtime is the cluster-wide one',
      RuntimeRef,
      { name: 'a' },
      { kind: 'ClusterTrainingRuntime', name: 'a' },
    ],
    ['template adds nothing', TrainingRuntimeSpec, {}, { template: {} }],
    [
      'notice begins at once',
      DisruptionNoticeRule,
      { name: 'a', taint: 't' },
      { name: 'a', taint: 't', begins: 'Now' },
    ],
  ])('%s', (_sentence, schema, given, want) => {
    expect(schema.parse(given)).toEqual(want);
  });
});

/** Answers of the API about the cluster, goodput, stacks, webhooks and engines: bounds, null and absent fields. */
import type { z } from 'zod';
import { ClusterFabric, FabricHardware, FabricPlace } from './cluster-fabric.ts';
import { Engine } from './engine-facts.ts';
import { EngineRendering, JobRendering } from './engine-rendering.ts';
import { FabricChanges, FabricSnapshot, RecordedFabric } from './fabric-history.ts';
import { JobGoodput } from './goodput.ts';
import { JobStacks, PodStacks } from './stacks.ts';
import { type Bound, letters, listOf, refusedFields, withField } from './testing/one-field.ts';
import { Webhook, WebhookDelivery } from './webhook.ts';

const AT = '2026-01-01T00:00:00Z';
const ID = '00000000-0000-4000-8000-000000000001';
const SNAPSHOT = {
  id: ID,
  takenAt: AT,
  seenUntil: AT,
  nodes: 1,
  gpus: 8,
  islands: 1,
  nvlinkDomains: 0,
  changes: { came: 1, gone: 0, changed: 0 },
  unrecordedLooks: 0,
};
const PLACE = { island: 'ib-0', nvlinkDomain: null, switches: ['leaf-1'] };
const HARDWARE = { gpuType: 'h100', nicType: null, nicSpeedGbps: 400, nicCount: 8, readFrom: [] };
const NODES = { names: ['gpu-a'], gpus: [8], places: [0], hardware: [0] };
const FABRIC = {
  isStale: false,
  places: [PLACE],
  hardware: [HARDWARE],
  nodes: { ...NODES, usable: [true] },
  jobs: [{ id: ID, project: null, name: 'tiny', nodes: [0], gpus: [8] }],
  hasMoreJobs: false,
};
const SHARE = { category: 'productive', gpuSeconds: 10, share: 1 };
const SPAN = { from: AT, to: AT, spent: 'waiting', gpus: 0, epoch: null };
const RECOVERY = {
  epoch: 2,
  incarnation: 1,
  failedAt: '2026-01-01T00:00:00Z',
  resumedFromStep: 0,
  lastStep: null,
  phases: [
    { phase: 'detecting', seconds: null },
    { phase: 'placing', seconds: 0 },
  ],
  total: null,
};
const SAVE_STOP = { epoch: 2, incarnation: 1, step: 20, seconds: 1.5 };
const GOODPUT = {
  asOf: AT,
  gpuSeconds: 10,
  goodput: 1,
  shares: [SHARE],
  heldSeconds: 10,
  waitingSeconds: 0,
  suspendedSeconds: 0,
  spans: [SPAN],
  attemptsLeftOut: 0,
};
const STACK = { thread: 'MainThread', isMain: true, frames: ['step (train.py:9)'], ranks: '0-3' };
const POD_STACKS = { request: 1, groups: [STACK], silent: [{ ranks: '4', why: 'stopped' }], leftOut: '' };
const WEBHOOK = {
  id: ID,
  url: 'https://a',
  events: ['job.ended'],
  form: 'Standard',
  state: 'active',
  disabledReason: null,
  failures: 0,
  failingSince: null,
  waiting: 0,
  leftOut: 0,
  previousSecretUntil: null,
  createdAt: AT,
};
const DELIVERY = {
  id: 'm',
  event: 'job.ended',
  state: 'waiting',
  attempts: 0,
  nextAttemptAt: null,
  lastOutcome: null,
  createdAt: AT,
  endedAt: null,
};
const REFUSAL = { rule: 'r', field: 'engine.release', why: 'w', fallback: 'f' };
const ABILITY_LISTS =
  'options schedules vocabularies contextAlgorithms dynamic optimizers offloads dispatchers balances attention precisions checkpointFormats';
const ENGINE = {
  name: 'torchtitan',
  startsJobs: true,
  releases: ['v0.3.0'],
  startedBy: ['launcher'],
  needsCommand: false,
  takesRecipe: true,
  abilities: {
    source: 's',
    zeroStages: [3],
    expertTensor: false,
    ...Object.fromEntries(ABILITY_LISTS.split(' ').map((name) => [name, []])),
  },
};

const tables: readonly (readonly [string, z.ZodType, unknown, readonly Bound[]])[] = [
  [
    'a snapshot of the fabric',
    FabricSnapshot,
    SNAPSHOT,
    [
      ['changes', 'null for the first', null, undefined],
      ['changes.gone', 'at least 0', 0, -1],
      ['unrecordedLooks', 'never left out', 0, undefined],
    ],
  ],
  [
    'a recorded fabric',
    RecordedFabric,
    { snapshot: SNAPSHOT, places: [PLACE], hardware: [HARDWARE], nodes: NODES },
    [
      ['nodes.gpus', 'never left out', [8], undefined],
      ['snapshot.nodes', 'at least 0', 0, -1],
    ],
  ],
  [
    'changes of the fabric',
    FabricChanges,
    {
      before: null,
      after: SNAPSHOT,
      came: 0,
      gone: 0,
      changed: 0,
      changes: [{ kind: 'came', nodeCount: 1, nodes: [], facts: [] }],
      hasMore: false,
    },
    [
      ['changes.0.kind', 'one of three', 'gone', 'moved'],
      ['changes.0.facts', 'before and after', [{ fact: 'gpus', before: null, after: '8' }], 'gpus'],
    ],
  ],
  [
    'the fabric',
    ClusterFabric,
    FABRIC,
    [
      ['nodes.gpus.0', 'at most a million', 1_000_000, 1_000_001],
      ['nodes.places.0', 'at least 0', 0, -1],
      ['nodes.usable', 'never left out', [true], undefined],
      ['jobs.0.id', 'a UUID', ID, 'tiny'],
      ['hasMoreJobs', 'true or false', true, 1],
    ],
  ],
  [
    'a place',
    FabricPlace,
    PLACE,
    [
      ['nvlinkDomain', 'null for its own', null, undefined],
      ['switches', 'empty if unknown', [], null],
    ],
  ],
  [
    'hardware',
    FabricHardware,
    HARDWARE,
    [
      ['nicCount', 'null if it is unknown', null, 0.5],
      ['gpuType', 'null if it is unknown', null, undefined],
    ],
  ],
  [
    'goodput',
    JobGoodput,
    GOODPUT,
    [
      ['goodput', 'null before GPUs were held', null, 1.01],
      ['goodput', 'at least 0', 0, -0.01],
      ['gpuSeconds', 'at least 0', 0, -1],
      ['shares.0.category', 'one of nine', 'slow', 'waiting'],
      ['shares.0.share', 'at most 1', 1, 1.01],
      ['spans', 'at most 400', listOf(400, SPAN), listOf(401, SPAN)],
      ['secondsPerSave', 'at least 0, or null', null, -1],
      ['recoveries', 'at most 50', listOf(50, RECOVERY), listOf(51, RECOVERY)],
      ['saveStops', 'at most 50', listOf(50, SAVE_STOP), listOf(51, SAVE_STOP)],
      ['spans.0.spent', 'a category, or a wait', 'suspended', 'resting'],
    ],
  ],
  [
    'stacks of a pod',
    PodStacks,
    POD_STACKS,
    [
      ['groups', 'at most 256', listOf(256, STACK), listOf(257, STACK)],
      ['groups.0.frames', 'at most 64', listOf(64, 'f'), listOf(65, 'f')],
      ['groups.0.frames.0', 'at most 256 characters', letters(256), letters(257)],
      ['groups.0.thread', 'at most 64 characters', letters(64), letters(65)],
      ['groups.0.ranks', 'ranges', '0-3,8', '0..3'],
      ['silent.0.why', 'one of eight', 'noHook', 'asleep'],
      ['silent', 'one entry for each reason', listOf(8, POD_STACKS.silent[0]), listOf(9, POD_STACKS.silent[0])],
      ['leftOut', 'empty for none', '', undefined],
    ],
  ],
  [
    'stacks of a job',
    JobStacks,
    { takenAt: AT, epoch: 1, rankCount: 4, groups: [{ ...STACK, rankCount: 4 }], silent: [], leftOut: '' },
    [
      ['groups.0.rankCount', 'at least 1', 1, 0],
      ['epoch', 'at least 0', 0, -1],
    ],
  ],
  [
    'a webhook',
    Webhook,
    WEBHOOK,
    [
      ['state', 'one of two', 'disabled', 'paused'],
      ['events.0', 'one that is declared', 'incident.acted', 'webhook.test'],
      ['failures', 'at least 0', 0, -1],
    ],
  ],
  [
    'a delivery',
    WebhookDelivery,
    DELIVERY,
    [
      ['state', 'one of three', 'failed', 'lost'],
      ['nextAttemptAt', 'null at its end', null, undefined],
    ],
  ],
  [
    'an engine',
    Engine,
    ENGINE,
    [
      ['startedBy.0', 'one of three', 'torchrun', 'mpirun'],
      ['abilities.zeroStages.0', 'at most 3', 3, 4],
      ['abilities.optimizers', 'words', ['adamw'], 'adamw'],
    ],
  ],
  [
    'a rendering',
    EngineRendering,
    { engine: 'deepspeed', program: null, refusal: REFUSAL },
    [
      ['refusal.fallback', 'never left out', 'f', undefined],
      ['refusal', 'null where it runs', null, 'no'],
    ],
  ],
  [
    'a rendering of a job',
    JobRendering,
    { engine: 'deepspeed', program: null, refusal: null, epoch: null, layout: null },
    [['epoch', 'null before it is placed', null, 0]],
  ],
];

describe.each(tables)('of %s', (_what, schema, whole, bounds) => {
  it.each(bounds)('%s is %s', (field, _rule, kept, broken) => {
    expect(refusedFields(schema, withField(whole, field, kept))).toEqual([]);
    expect(refusedFields(schema, withField(whole, field, broken))).toEqual([field]);
  });
});

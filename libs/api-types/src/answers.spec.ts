/** Answers of the API, which the page, the CLI and programs of users read: bounds, null and absent fields, defaults. */
import type { z } from 'zod';
import { ApiToken, ApiTokenCreated } from './api-token.ts';
import { AuditEntry } from './audit.ts';
import {
  CheckpointRecord,
  Job,
  JobEvent,
  JobSummary,
  PlanSummary,
  Problem,
  ProjectLimit,
  RankMap,
  RankPlace,
  RankTraffic,
  StepList,
  StepPoint,
  StepTime,
} from './rest.ts';
import { GroupRole, SignInMethods } from './sign-in.ts';
import { aCheckpointRecord, aJob, aJobEvent, aRankPlace, aStepPoint } from './testing/index.ts';
import { type Bound, letters, refusedFields, withField } from './testing/one-field.ts';
import { WhoAmI } from './who-am-i.ts';

const AT = '2026-01-01T00:00:00Z';
const ID = '00000000-0000-4000-8000-000000000001';
const HUGE = Number.MAX_SAFE_INTEGER;
const TOKEN = {
  id: ID,
  name: 'nightly',
  role: 'viewer',
  prefix: 'cxs_1',
  createdAt: AT,
  expiresAt: null,
  lastUsedAt: null,
  rotatedFrom: null,
};
const AUDIT = {
  id: 1,
  at: AT,
  principalKind: 'person',
  principalId: 'p',
  principal: 'ada',
  project: 'research',
  verb: 'job.create',
  object: 'research/tiny-gpt',
  outcome: 'allowed',
  reason: null,
  requests: 1,
  sourceAddress: null,
  userAgent: null,
  requestId: null,
  detail: {},
};
const TRAFFIC = { source: 'planned', gpu: 9, node: 8, nvlinkDomain: 7, leaf: 6, spine: 5, core: 4, island: 3 };

const tables: readonly (readonly [string, z.ZodType, unknown, readonly Bound[]])[] = [
  [
    'a job',
    Job,
    aJob(),
    [
      ['id', 'a UUID', ID, 'tiny-gpt'],
      ['project', 'null for no project', null, undefined],
      ['uid', 'null until it is in the cluster', null, undefined],
      ['state', 'one of the resource or four more', 'Refused', 'Gone'],
      ['gpus', 'an exact number', HUGE, HUGE + 1],
      ['layout', 'null until it is chosen', null, undefined],
      ['epoch', 'at least 0', 0, -1],
      ['restarts.charged', 'whole', 1, 1.5],
      ['totalSteps', 'null where nobody defines them', null, undefined],
      ['checkpoint', 'null before the first', null, undefined],
      ['spec', 'never left out', aJob().spec, undefined],
      ['attempts', 'never left out', [], undefined],
      ['finishedAt', 'null until then', null, undefined],
    ],
  ],
  ['a job in a list', JobSummary, aJob(), [['spec', 'left out unless it is asked for', undefined, 'x']]],
  [
    'an event',
    JobEvent,
    aJobEvent(),
    [
      ['severity', 'one of three', 'warning', 'fatal'],
      ['epoch', 'null before the first attempt', null, -1],
    ],
  ],
  [
    'a step time',
    StepTime,
    { epoch: 1, predictedMs: 1, measuredMs: null, measuredSteps: 0, errorPct: null },
    [
      ['measuredMs', 'null before the fourth step', null, undefined],
      ['measuredSteps', 'at least 0', 0, -1],
    ],
  ],
  [
    'a step',
    StepPoint,
    aStepPoint(),
    [
      ['loss', 'null where no rank knows it', null, undefined],
      ['stepTimeMs', 'always known', 10, null],
      ['bucket', 'null for one step', null, 1],
      ['tokens', 'whole', 1024, 0.5],
    ],
  ],
  [
    'a curve',
    StepList,
    { items: [], gaps: [{ at: AT, missedFrames: 3 }] },
    [['gaps.0.missedFrames', 'null if it is unknown', null, -1]],
  ],
  [
    'the place of a rank',
    RankPlace,
    aRankPlace(),
    [
      ['rank', 'at least 0', 0, -1],
      ['island', 'null if it is unknown', null, undefined],
      ['stepTimeMs', 'null before a step', null, undefined],
    ],
  ],
  [
    'traffic',
    RankTraffic,
    TRAFFIC,
    [
      ['source', 'one of two', 'assumed', 'measured'],
      ['island', 'at least 0', 0, -1],
    ],
  ],
  [
    'a checkpoint',
    CheckpointRecord,
    aCheckpointRecord(),
    [
      ['jobId', 'null for a job that is not known', null, 'tiny'],
      ['state', 'one of two', 'Damaged', 'Gone'],
      ['deletedAt', 'null until then', null, undefined],
    ],
  ],
  [
    'a limit',
    ProjectLimit,
    { name: 'jobs', most: null, used: 0, perSecond: null, counted: 'inProject' },
    [
      ['name', 'one of eleven', 'storedPlans', 'gpus'],
      ['most', 'null for no limit', null, -1],
      ['counted', 'one of two', 'inReplica', 'inCluster'],
    ],
  ],
  [
    'a plan in a list',
    PlanSummary,
    {
      id: ID,
      project: 'p',
      model: null,
      gpu: 'h100',
      gpus: 8,
      layout: null,
      predictedStepMs: null,
      plannerVersion: '1',
      createdAt: AT,
    },
    [
      ['layout', 'null if none fits', null, undefined],
      ['predictedStepLowMs', 'left out without an interval', undefined, null],
    ],
  ],
  [
    'a problem',
    Problem,
    { type: 't', title: 't', status: 409, code: 'c', detail: 'd' },
    [
      ['status', 'whole', 409, 409.5],
      ['errors', 'pointers with details', [{ pointer: '/a', detail: 'd' }], '/a'],
    ],
  ],
  [
    'a token',
    ApiToken,
    TOKEN,
    [
      ['role', 'one of a project', 'admin', 'clusterAdmin'],
      ['expiresAt', 'null for never', null, undefined],
    ],
  ],
  ['a new token', ApiTokenCreated, { ...TOKEN, token: 'cxs_1' }, [['token', 'shown once', 'cxs_1', undefined]]],
  [
    'an entry of the audit log',
    AuditEntry,
    AUDIT,
    [
      ['principalKind', 'null if the token is not known', null, 'robot'],
      ['outcome', 'one of two', 'denied', 'failed'],
      ['requests', 'at least 1', 1, 0],
      ['detail', 'an object', { role: 'viewer' }, 'viewer'],
    ],
  ],
  [
    'a role of a group',
    GroupRole,
    { id: ID, issuer: null, group: 'g', project: null, role: 'clusterAdmin', createdAt: AT },
    [
      ['kind', 'one of three', 'kubernetesGroup', 'user'],
      ['group', 'at most 340 characters', letters(340), letters(341)],
      ['project', 'null for the cluster', null, undefined],
    ],
  ],
  ['sign-in', SignInMethods, { issuer: null, commandLine: null }, [['commandLine', 'null if it is off', null, 'cli']]],
];

describe.each(tables)('of %s', (_what, schema, whole, bounds) => {
  it.each(bounds)('%s is %s', (field, _rule, kept, broken) => {
    expect(refusedFields(schema, withField(whole, field, kept))).toEqual([]);
    expect(refusedFields(schema, withField(whole, field, broken))).toEqual([field]);
  });
});

describe('an answer of an earlier release', () => {
  const { bucket: _bucket, ...point } = aStepPoint();
  const { contextIndex: _index, ...place } = aRankPlace();
  const { labels: _labels, owner: _owner, ...job } = aJob();
  it.each<[string, z.ZodType, unknown, object]>([
    ['has points of one step', StepPoint, point, { bucket: null }],
    ['has no context parallelism', RankPlace, place, { contextIndex: 0 }],
    ['has no labels and no owner', Job, job, { labels: {}, owner: null }],
    ['has no traffic and no nodes', RankMap, { epoch: 1, items: [] }, { bytesPerStep: null, nodes: [] }],
    [
      'has callers without a kind',
      WhoAmI,
      { name: 'a', role: 'viewer', project: null },
      { kind: 'service', memberships: [] },
    ],
  ])('%s', (_sentence, schema, answer, want) => {
    expect(schema.parse(answer)).toMatchObject(want);
  });
});

/** Bodies of requests to the API: which fields are rejected, with which sentence, and what an absent field becomes. */
import type { z } from 'zod';
import { ApiTokenCreate, ApiTokenRotate } from './api-token.ts';
import { RenderingRequest } from './engine-rendering.ts';
import {
  EXAMPLE_JOB,
  EXAMPLE_LAYOUT,
  EXAMPLE_PATCH,
  EXAMPLE_PROJECT,
  EXAMPLE_RENDERING,
  EXAMPLE_RESUME,
  EXAMPLE_ROTATION,
  EXAMPLE_TOKEN,
  EXAMPLE_WEBHOOK,
  EXAMPLE_WEBHOOK_ROTATION,
} from './request-examples.ts';
import { JobCreate, JobPatch, JobResume, LayoutCreate, ProjectCreate } from './rest.ts';
import { GroupRoleCreate, SignInTrade } from './sign-in.ts';
import { type Bound, letters, listOf, refusedFields, withField } from './testing/one-field.ts';
import { WebhookCreate, WebhookMessage, WebhookRotate } from './webhook.ts';

const GROUP = { group: 'researchers', role: 'submitter' };
const { namespaces: _namespaces, ...NO_NAMESPACES } = EXAMPLE_PROJECT;

const tables: readonly (readonly [string, z.ZodType, unknown, readonly Bound[]])[] = [
  [
    'a new project',
    ProjectCreate,
    EXAMPLE_PROJECT,
    [
      ['name', 'the name of an object', 'vision-2', 'Vision'],
      ['name', 'at most 63 characters', letters(63), letters(64)],
      ['namespaces', 'at least one', ['vision'], []],
      ['namespaces', 'at most 100', listOf(100, 'a'), listOf(101, 'a')],
      ['namespaces.0', 'the name of an object', 'vision', 'vision.staging'],
      ['createdAt', 'not known', undefined, '2026-01-01T00:00:00Z'],
    ],
  ],
  [
    'a new job',
    JobCreate,
    EXAMPLE_JOB,
    [
      ['name', 'the name of an object', 'tiny', 'tiny_gpt'],
      ['name', 'not left out', 'tiny', undefined],
      ['namespace', 'the name of an object', 'vision', ''],
      ['labels.team', 'a value of a label', '', 'a b'],
      ['spec.engine.name', 'an engine that starts jobs', 'reference', 'vllm'],
      ['status', 'not known', undefined, {}],
    ],
  ],
  [
    'a change of a job',
    JobPatch,
    EXAMPLE_PATCH,
    [
      ['labels', 'not left out', {}, undefined],
      ['labels.stage', 'null to remove it', null, 1],
      ['spec', 'not changed so', undefined, {}],
    ],
  ],
  [
    'a request to resume',
    JobResume,
    EXAMPLE_RESUME,
    [
      ['from', 'a checkpoint or scratch', 'scratch', '../a'],
      ['from', 'not empty', 'a', ''],
      ['from', 'at most 253 characters', letters(253), letters(254)],
      ['layout.dataParallelDegree', 'at least 1', 1, 0],
      ['suspend', 'not known', undefined, false],
    ],
  ],
  [
    'a new token',
    ApiTokenCreate,
    EXAMPLE_TOKEN,
    [
      ['name', 'not empty', 'n', ''],
      ['name', 'at most 100 characters', letters(100), letters(101)],
      ['name', 'one line', 'nightly run', 'nightly\nrun'],
      ['role', 'one of a project', 'viewer', 'clusterAdmin'],
      ['expiresAt', 'a text', '2027-01-01T00:00:00Z', 1],
      ['neverExpires', 'true or false', true, 'yes'],
      ['token', 'not chosen by the caller', undefined, 'cxs_'],
    ],
  ],
  [
    'a rotation of a token',
    ApiTokenRotate,
    EXAMPLE_ROTATION,
    [
      ['overlapSeconds', 'at least 0', 0, -1],
      ['overlapSeconds', 'at most 30 days', 2_592_000, 2_592_001],
      ['overlapSeconds', 'whole', 1, 1.5],
    ],
  ],
  [
    'a new webhook',
    WebhookCreate,
    EXAMPLE_WEBHOOK,
    [
      ['url', 'not empty', 'h', ''],
      ['url', 'at most 2048 characters', letters(2048), letters(2049)],
      ['events', 'not an empty list', ['job.ended'], []],
      ['events', 'at most 5', listOf(5, 'job.ended'), listOf(6, 'job.ended')],
      ['events.0', 'one that is declared', 'job.needsPerson', 'job.began'],
      ['events.1', 'never the test, which is sent on request', 'job.ended', 'webhook.test'],
      ['secret', 'not chosen by the caller', undefined, 'whsec_'],
    ],
  ],
  [
    'a rotation of the secret of a webhook',
    WebhookRotate,
    EXAMPLE_WEBHOOK_ROTATION,
    [
      ['overlapSeconds', 'at least 0', 0, -1],
      ['overlapSeconds', 'at most a week', 604_800, 604_801],
    ],
  ],
  [
    'a role of a group',
    GroupRoleCreate,
    GROUP,
    [
      ['kind', 'one of three', 'serviceAccount', 'user'],
      ['group', 'not empty', 'g', ''],
      ['group', 'at most 340 characters', letters(340), letters(341)],
      ['role', 'one of a project or of the cluster', 'clusterAdmin', 'owner'],
      ['project', 'that of the path', undefined, 'vision'],
    ],
  ],
  [
    'a sign-in',
    SignInTrade,
    { idToken: 't' },
    [
      ['idToken', 'not empty', 't', ''],
      ['idToken', 'at most 16384 characters', letters(16_384), letters(16_385)],
      ['accessToken', 'not empty', 't', ''],
      ['refreshToken', 'at most 16384 characters', letters(16_384), letters(16_385)],
      ['password', 'not known', undefined, 'p'],
    ],
  ],
  [
    'a new layout',
    LayoutCreate,
    EXAMPLE_LAYOUT,
    [
      ['name', 'left out or not empty', undefined, ''],
      ['layout', 'not left out', {}, undefined],
      ['layout.tp', 'not known', undefined, 2],
    ],
  ],
  [
    'a question for a rendering',
    RenderingRequest,
    EXAMPLE_RENDERING,
    [
      ['engine.name', 'an engine that layouts know', 'megatron-lm', 'vllm'],
      ['engine.image', 'not asked for', undefined, 'i'],
      ['engine.secretEnv', 'not asked for', undefined, []],
      ['engine.args', 'at most 256 words', listOf(256, 'x'), listOf(257, 'x')],
      ['model.sequenceLength', 'assumed if it is left out', undefined, 0],
      ['training', 'assumed if its batch is left out', { steps: 1 }, 1],
      ['gpusPerPod', 'at most 16', 16, 17],
      ['gpusPerPod', 'at least 1', 1, 0],
      ['nicClasses', 'of at most 63 characters', ['roce'], 'roce'],
      ['gpu', 'not empty', 'h100', ''],
      ['gpu', 'at most 100 characters', letters(100), letters(101)],
      ['gpus', 'not known', undefined, 8],
    ],
  ],
];

describe.each(tables)('of %s', (_what, schema, whole, bounds) => {
  it.each(bounds)('%s is %s', (field, _rule, kept, broken) => {
    expect(refusedFields(schema, withField(whole, field, kept))).toEqual([]);
    expect(refusedFields(schema, withField(whole, field, broken))).toEqual([field]);
  });
});

describe('what a caller leaves out', () => {
  it.each<[string, z.ZodType, unknown, unknown]>([
    [
      'a token is one of an operator that expires',
      ApiTokenCreate,
      { name: 'n' },
      { name: 'n', role: 'operator', neverExpires: false },
    ],
    ['a rotated token is valid for a day', ApiTokenRotate, {}, { overlapSeconds: 86_400, neverExpires: false }],
    ['a secret of a webhook is valid for a day', WebhookRotate, {}, { overlapSeconds: 86_400 }],
    ['a role is given to a group of the issuer', GroupRoleCreate, GROUP, { ...GROUP, kind: 'group' }],
    [
      'a webhook receives all events as JSON',
      WebhookCreate,
      { url: 'https://a' },
      {
        url: 'https://a',
        events: ['incident.opened', 'incident.acted', 'incident.closed', 'job.needsPerson', 'job.ended'],
        form: 'Standard',
      },
    ],
  ])('%s', (_sentence, schema, given, want) => {
    expect(schema.parse(given)).toEqual(want);
  });

  it('a job has no labels', () => {
    const { labels: _labels, ...job } = EXAMPLE_JOB;
    expect(JobCreate.parse(job).labels).toEqual({});
  });
});

describe('a rejected request', () => {
  const refusals = (schema: z.ZodType, value: unknown): readonly string[] =>
    (schema.safeParse(value).error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
  const long = withField(EXAMPLE_JOB, 'spec.engine.args', listOf(33, letters(4_096)));
  const { layout: _layout, ...unplanned } = EXAMPLE_JOB.spec;

  it.each<[string, z.ZodType, unknown, RegExp]>([
    [
      'to resume on a layout and on gpus',
      JobResume,
      { ...EXAMPLE_RESUME, gpus: 4 },
      /^gpus: give layout or gpus, not both: with gpus the planner chooses the layout$/,
    ],
    ['for a job that is too large', JobCreate, long, /^spec: the spec has 13\d{4} bytes as JSON; at most 131072 /],
    [
      'for a rendering that is too large',
      RenderingRequest,
      withField(EXAMPLE_RENDERING, 'engine.args', listOf(33, letters(4_096))),
      /^: the spec has 13\d{4} bytes as JSON; at most 131072 /,
    ],
    ['for a project without namespaces', ProjectCreate, NO_NAMESPACES, /^namespaces: /],
    [
      'for a job with auto and nothing to divide',
      JobCreate,
      { ...EXAMPLE_JOB, spec: { ...unplanned, layout: 'auto' } },
      /^spec\.layout: give either layout, or gpus without a layout to let the planner choose one$/,
    ],
    [
      'for a job whose labels are Kubernetes’s own',
      JobCreate,
      { ...EXAMPLE_JOB, labels: { 'app.kubernetes.io/name': 'x' } },
      /^labels\.app\.kubernetes\.io\/name: labels with a prefix of kubernetes\.io, k8s\.io, coxswain\.dev are written by/,
    ],
  ])('%s has one sentence', (_what, schema, request, refusal) => {
    expect(refusals(schema, request)).toEqual([expect.stringMatching(refusal)]);
  });

  it('with layout auto and gpus is accepted, and the word is gone', () => {
    const job = JobCreate.parse({ ...EXAMPLE_JOB, spec: { ...unplanned, gpus: 4, layout: 'auto' } });
    expect([job.spec.gpus, 'layout' in job.spec]).toEqual([4, false]);
  });
});

describe('the message of a webhook', () => {
  const of = { project: 'vision', job: { id: '00000000-0000-4000-8000-000000000001', name: 'a', namespace: 'vision' } };
  const incident = {
    id: '1.1',
    kind: 'Crash',
    epoch: 1,
    incarnation: 1,
    noticedAt: 't',
    message: 'm',
    gpus: 4,
    action: 'None',
  };
  const condition = { type: 'Placed', reason: 'PodsRefused', message: 'm' };
  it.each<[string, object, readonly string[]]>([
    ['incident.opened', { ...of, incident }, []],
    ['incident.acted', { ...of, incident }, []],
    ['incident.closed', { ...of }, ['data.incident']],
    ['job.needsPerson', { ...of, condition }, []],
    ['job.needsPerson', { ...of, condition: { type: 'Placed' } }, ['data.condition.reason', 'data.condition.message']],
    ['job.ended', { ...of, state: 'Refused', summary: 's' }, []],
    ['job.ended', { ...of, state: 'Gone', summary: 's' }, ['data.state']],
    ['webhook.test', { project: 'vision', message: 'm' }, []],
    ['webhook.test', { message: 'm' }, ['data.project']],
    ['job.began', of, ['type']],
  ])('%s with %j lacks %j', (type, data, fields) => {
    expect(refusedFields(WebhookMessage, { type, timestamp: 't', data })).toEqual(fields);
  });
});

import { aJobSpec } from '@coxswain/api-types/testing';
import { type GraphQLField, type GraphQLSchema, isCompositeType, getNamedType } from 'graphql';
import { aPlanRequest } from './a-plan-request.ts';

/** What a question of the table of access is about: a project, and things in it that are there. */
export interface Things {
  readonly project: string;
  readonly jobId: string;
  readonly tokenId: string;
  readonly layoutId: string;
  readonly planId: string;
  readonly webhookId: string;
  /** UID of a checkpoint of the job. */
  readonly uid: string;
}

/** One request, over REST or GraphQL. */
export interface Question {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly url: string;
  readonly body?: object;
}

type Input = (things: Things) => object;

let made = 0;
/** A name that nothing has. */
const freshName = (): string => `made-${++made}`;
const newProject = (): object => {
  const name = freshName();
  return { name, namespaces: [name] };
};
const newToken: Input = () => ({ name: freshName() });
const newWebhook: Input = () => ({ url: 'https://hooks.example.com/' });
const newGroupRole: Input = () => ({ group: freshName(), role: 'viewer' });
const newJob: Input = () => ({ name: freshName(), spec: aJobSpec() });
const newAdoption: Input = () => ({ name: freshName(), claimName: 'old-runs', path: 'llama/step-7' });
const newLayout: Input = () => ({ layout: { tensorParallelDegree: 2 } });
const aRendering: Input = () => ({ engine: { name: 'command' }, layout: {} });
const nothing: Input = () => ({});
const LABELS = { team: 'vision' };
const PIN = 'baseline of the paper';

/** Bodies that the rules of each route let pass: what is refused is refused for who asks. */
const BODIES: Readonly<Record<string, Input>> = {
  'POST /graphql': () => ({ query: '{ whoAmI { name } }' }),
  'POST /v1/projects': newProject,
  'PATCH /v1/projects/{project}': () => ({ priorityClasses: [] }),
  'POST /v1/projects/{project}/tokens': newToken,
  'POST /v1/projects/{project}/tokens/{tokenId}/rotate': nothing,
  'POST /v1/projects/{project}/webhooks': newWebhook,
  'POST /v1/projects/{project}/webhooks/{webhookId}/rotate': nothing,
  'POST /v1/projects/{project}/webhooks/{webhookId}/enable': nothing,
  'POST /v1/projects/{project}/webhooks/{webhookId}/test': nothing,
  'POST /v1/sign-in/tokens': () => ({ idToken: 'none' }),
  'POST /v1/sign-out': nothing,
  'POST /v1/projects/{project}/group-roles': newGroupRole,
  'POST /v1/projects/{project}/jobs': newJob,
  'POST /v1/projects/{project}/jobs/check': newJob,
  'PATCH /v1/projects/{project}/jobs/{jobId}': () => ({ labels: LABELS }),
  'POST /v1/projects/{project}/jobs/{jobId}/suspend': nothing,
  'POST /v1/projects/{project}/jobs/{jobId}/resume': nothing,
  'POST /v1/projects/{project}/jobs/{jobId}/cancel': nothing,
  'POST /v1/projects/{project}/jobs/{jobId}/stacks': nothing,
  'POST /v1/projects/{project}/checkpoints/{uid}/verify': nothing,
  'PUT /v1/projects/{project}/code/{sha256}': nothing,
  'PUT /v1/projects/{project}/checkpoints/{uid}/pin': () => ({ reason: PIN }),
  'POST /v1/projects/{project}/checkpoints': newAdoption,
  'POST /v1/projects/{project}/layouts': newLayout,
  'POST /v1/projects/{project}/plans': () => aPlanRequest(),
  'POST /v1/projects/{project}/renderings': aRendering,
};

/** The question that a route is: `METHOD /path/{parameter}`. */
export function routeQuestion(route: string, things: Things): Question {
  const [method = '', path = ''] = route.split(' ');
  const url = path.replace(/\{(\w+)\}/g, (_all, name: string) => things[name as keyof Things] ?? `no-${name}`);
  const body = BODIES[route]?.(things);
  if (['POST', 'PUT', 'PATCH'].includes(method) && body === undefined)
    throw new Error(`${route} needs a body here that its rules let pass`);
  return {
    method: method as Question['method'],
    url,
    ...(body === undefined ? {} : { body }),
  };
}

const INPUTS: Readonly<Record<string, Input>> = {
  createProject: newProject,
  updateProject: () => ({ priorityClasses: [] }),
  createToken: newToken,
  rotateToken: nothing,
  createWebhook: newWebhook,
  rotateWebhook: nothing,
  grantGroupRole: newGroupRole,
  createJob: newJob,
  resumeJob: nothing,
  adoptCheckpoint: newAdoption,
  createLayout: newLayout,
  createPlan: () => aPlanRequest(),
  rendering: aRendering,
};

const NO_SNAPSHOT = '00000000-0000-4000-8000-000000000000';

/** Which thing a field's argument `id` names; others name a job. */
const IDS: Readonly<Record<string, keyof Things>> = {
  plan: 'planId',
  layout: 'layoutId',
  rotateToken: 'tokenId',
  revokeToken: 'tokenId',
  webhookDeliveries: 'webhookId',
  rotateWebhook: 'webhookId',
  enableWebhook: 'webhookId',
  testWebhook: 'webhookId',
  removeWebhook: 'webhookId',
};

/** The question that a field at the root is: `Query.jobs`, `Mutation.createJob`. */
export function fieldQuestion(schema: GraphQLSchema, field: string, things: Things): Question {
  const [type = '', name = ''] = field.split('.');
  const root = type === 'Mutation' ? schema.getMutationType() : schema.getQueryType();
  const declared = root?.getFields()[name];
  if (declared === undefined) throw new Error(`the schema has no ${field}`);
  const variables = variablesOf(declared, things);
  const args = declared.args.filter((arg) => arg.name in variables);
  const declaration = args.map((arg) => `$${arg.name}: ${String(arg.type)}`).join(', ');
  const given = args.map((arg) => `${arg.name}: $${arg.name}`).join(', ');
  const selection = isCompositeType(getNamedType(declared.type)) ? ' { __typename }' : '';
  const [head, call] = args.length === 0 ? ['', name] : [` (${declaration})`, `${name}(${given})`];
  return {
    method: 'POST',
    url: '/graphql',
    body: { query: `${type.toLowerCase()}${head} { ${call}${selection} }`, variables },
  };
}

function variablesOf({ name, args }: GraphQLField<unknown, unknown>, things: Things): Record<string, unknown> {
  const variables: Record<string, unknown> = {};
  for (const arg of args) {
    if (arg.name === 'project' || (arg.name === 'name' && name === 'project')) variables[arg.name] = things.project;
    if (arg.name === 'id') variables['id'] = things[IDS[name] ?? 'jobId'];
    if (arg.name === 'jobId') variables['jobId'] = things.jobId;
    // Of the cluster, and not there: who may ask is told that, and nobody else is.
    if (arg.name === 'snapshotId') variables['snapshotId'] = NO_SNAPSHOT;
    if (arg.name === 'uid') variables['uid'] = things.uid;
    if (arg.name === 'reason') variables['reason'] = PIN;
    if (arg.name === 'labels') variables['labels'] = LABELS;
    if (arg.name === 'input') variables['input'] = inputOf(name, things);
  }
  return variables;
}

function inputOf(name: string, things: Things): object {
  const input = INPUTS[name];
  if (input === undefined) throw new Error(`${name} needs an input here that its rules let pass`);
  return input(things);
}

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { buildSchema } from 'graphql';
import { CONTROLLERS } from '../app.module.ts';
import { declaredRoutes } from '../http/openapi.ts';

/** The field of GraphQL that asks the same as a route of REST. */
const FIELDS: Readonly<Record<string, string>> = {
  'GET /v1/whoami': 'whoAmI',
  'GET /v1/engines': 'engines',
  'GET /v1/fabric': 'fabric',
  'GET /v1/fabric/snapshots': 'fabricSnapshots',
  'GET /v1/fabric/snapshots/{snapshotId}': 'fabricSnapshot',
  'GET /v1/fabric/snapshots/{snapshotId}/changes': 'fabricChanges',
  'GET /v1/projects': 'projects',
  'POST /v1/projects': 'createProject',
  'GET /v1/projects/{project}': 'project',
  'PATCH /v1/projects/{project}': 'updateProject',
  'GET /v1/projects/{project}/limits': 'projectLimits',
  'GET /v1/projects/{project}/gpus': 'gpus',
  'GET /v1/projects/{project}/queue': 'queue',
  'GET /v1/projects/{project}/jobs/{jobId}/start': 'jobStart',
  'GET /v1/projects/{project}/tokens': 'tokens',
  'POST /v1/projects/{project}/tokens': 'createToken',
  'POST /v1/projects/{project}/tokens/{tokenId}/rotate': 'rotateToken',
  'DELETE /v1/projects/{project}/tokens/{tokenId}': 'revokeToken',
  'GET /v1/projects/{project}/webhooks': 'webhooks',
  'POST /v1/projects/{project}/webhooks': 'createWebhook',
  'DELETE /v1/projects/{project}/webhooks/{webhookId}': 'removeWebhook',
  'POST /v1/projects/{project}/webhooks/{webhookId}/rotate': 'rotateWebhook',
  'POST /v1/projects/{project}/webhooks/{webhookId}/enable': 'enableWebhook',
  'POST /v1/projects/{project}/webhooks/{webhookId}/test': 'testWebhook',
  'GET /v1/projects/{project}/webhooks/{webhookId}/deliveries': 'webhookDeliveries',
  'GET /v1/projects/{project}/audit': 'audit',
  'GET /v1/projects/{project}/group-roles': 'groupRoles',
  'POST /v1/projects/{project}/group-roles': 'grantGroupRole',
  'DELETE /v1/projects/{project}/group-roles/{groupRoleId}': 'revokeGroupRole',
  'GET /v1/projects/{project}/jobs': 'jobs',
  'POST /v1/projects/{project}/jobs': 'createJob',
  'GET /v1/projects/{project}/jobs/{jobId}': 'job',
  'PATCH /v1/projects/{project}/jobs/{jobId}': 'labelJob',
  'DELETE /v1/projects/{project}/jobs/{jobId}': 'deleteJob',
  'POST /v1/projects/{project}/jobs/{jobId}/suspend': 'suspendJob',
  'POST /v1/projects/{project}/jobs/{jobId}/resume': 'resumeJob',
  'POST /v1/projects/{project}/jobs/{jobId}/cancel': 'cancelJob',
  'GET /v1/projects/{project}/jobs/{jobId}/events': 'events',
  'GET /v1/projects/{project}/jobs/{jobId}/steps': 'steps',
  'GET /v1/projects/{project}/jobs/{jobId}/ranks': 'ranks',
  'GET /v1/projects/{project}/jobs/{jobId}/checkpoints': 'checkpoints',
  'GET /v1/projects/{project}/checkpoints': 'projectCheckpoints',
  'GET /v1/projects/{project}/checkpoints/{uid}': 'checkpoint',
  'POST /v1/projects/{project}/checkpoints/{uid}/verify': 'verifyCheckpoint',
  'PUT /v1/projects/{project}/checkpoints/{uid}/pin': 'pinCheckpoint',
  'DELETE /v1/projects/{project}/checkpoints/{uid}/pin': 'unpinCheckpoint',
  'DELETE /v1/projects/{project}/checkpoints/{uid}': 'forgetCheckpoint',
  'GET /v1/projects/{project}/jobs/{jobId}/goodput': 'goodput',
  'GET /v1/projects/{project}/jobs/{jobId}/incidents': 'jobIncidents',
  'POST /v1/projects/{project}/jobs/{jobId}/stacks': 'takeStacks',
  'GET /v1/projects/{project}/incidents': 'incidents',
  'GET /v1/projects/{project}/jobs/{jobId}/rendering': 'jobRendering',
  'POST /v1/projects/{project}/renderings': 'rendering',
  'GET /v1/projects/{project}/layouts': 'layouts',
  'POST /v1/projects/{project}/checkpoints': 'adoptCheckpoint',
  'POST /v1/projects/{project}/layouts': 'createLayout',
  'GET /v1/projects/{project}/layouts/{layoutId}': 'layout',
  'GET /v1/projects/{project}/plans': 'plans',
  'POST /v1/projects/{project}/plans': 'createPlan',
  'GET /v1/projects/{project}/plans/{planId}': 'plan',
  'GET /v1/projects/{project}/plans/accuracy': 'planAccuracy',
};
/** What GraphQL does not answer, and why. */
const REST_ALONE: Readonly<Record<string, string>> = {
  'GET /v1/sign-in': 'nobody is known yet',
  'GET /v1/sign-in/start': 'nobody is known yet',
  'GET /v1/sign-in/callback': 'nobody is known yet',
  'POST /v1/sign-in/tokens': 'nobody is known yet',
  'POST /v1/sign-out': 'sets the cookie of the page',
  'GET /v1/projects/{project}/jobs/{jobId}/events/stream': 'goes on',
  'GET /v1/projects/{project}/jobs/{jobId}/logs': 'goes on',
  'GET /v1/projects/{project}/costs': 'is read by programs that want FOCUS; goodput has the cost of a job',
  'GET /v1/projects/{project}/costs.csv': 'is a file',
  'GET /v1/projects/{project}/code/{sha256}': 'comes before an upload',
  'PUT /v1/projects/{project}/code/{sha256}': 'has a body of bytes',
  'GET /v1/projects/{project}/observed-jobs': 'is for the command line, and has evidence under free names',
  'POST /v1/projects/{project}/jobs/check': 'is for the command line, beside the submit that it comes before',
};

const schema = buildSchema(readFileSync(resolve(import.meta.dirname, 'schema.generated.graphql'), 'utf8'));
const fields = new Set(
  [schema.getQueryType(), schema.getMutationType()].flatMap((type) => Object.keys(type?.getFields() ?? {})),
);
const routes = declaredRoutes(CONTROLLERS)
  .map(({ method, path }) => `${method} ${path}`)
  .filter((route) => route.includes(' /v1/'));

describe('GraphQL', () => {
  it.each(routes)('answers %s, or it is said here why it does not', (route) => {
    const field = FIELDS[route];
    expect({ route, isAnswered: field === undefined ? route in REST_ALONE : fields.has(field) }).toEqual({
      route,
      isAnswered: true,
    });
  });

  it('answers nothing that REST does not', () => {
    expect([...fields].sort()).toEqual(Object.values(FIELDS).sort());
    expect(routes).toEqual(expect.arrayContaining([...Object.keys(FIELDS), ...Object.keys(REST_ALONE)]));
  });
});

import type { Role } from '@coxswain/api-types';
import { type Action, allows } from './roles.ts';

/** Two rights: one for objects that the caller created, the other for objects of other users. */
export interface OwnOrAny {
  readonly own: Action;
  readonly any: Action;
}

/**
 * Who may send the request. `public`: anyone, without a token. `signedIn`: any principal with a valid token, of whatever role and project, because
 * the answer is the caller's own or is checked item by item. Otherwise: the right that the caller's role must include in the named project.
 */
export type AccessRule = 'public' | 'signedIn' | Action | OwnOrAny;

/** What a rule lets a role do: anything, what it does to its own, or nothing. */
export function permitted(rule: AccessRule, role: Role): 'any' | 'own' | 'none' {
  if (rule === 'public' || rule === 'signedIn') return 'any';
  const { own, any } = typeof rule === 'string' ? { own: rule, any: rule } : rule;
  if (allows(role, any)) return 'any';
  return allows(role, own) ? 'own' : 'none';
}

/** The rule of a route; undefined for one that has none yet, which a test finds. */
export function ruleOfRoute({
  method,
  path,
}: {
  readonly method: string;
  readonly path: string;
}): AccessRule | undefined {
  return ROUTE_RULES[`${method} ${path}`];
}

const CHANGE_JOB: OwnOrAny = { own: 'job.changeOwn', any: 'job.changeAny' };

/**
 * The rule of every route, as the OpenAPI document writes them. The services decide (`requireScope`, `requireAction`); this table says what they decide, and a test
 * asks the running API every route with every role. A route that is missing here fails that test, and reads no body of a stranger.
 */
export const ROUTE_RULES: Readonly<Record<string, AccessRule>> = {
  'GET /healthz': 'public',
  'GET /readyz': 'public',
  'GET /metrics': 'public',
  'GET /openapi.json': 'public',
  'POST /graphql': 'signedIn',
  'GET /v1/whoami': 'signedIn',
  'GET /v1/engines': 'signedIn',
  'GET /v1/fabric': 'fabric.read',
  'GET /v1/fabric/snapshots': 'fabric.read',
  'GET /v1/fabric/snapshots/{snapshotId}': 'fabric.read',
  'GET /v1/fabric/snapshots/{snapshotId}/changes': 'fabric.read',
  'POST /v1/projects': 'project.create',
  'GET /v1/projects': 'project.read',
  'GET /v1/projects/{project}': 'project.read',
  'PATCH /v1/projects/{project}': 'project.update',
  'GET /v1/projects/{project}/limits': 'project.read',
  'GET /v1/projects/{project}/gpus': 'project.read',
  'GET /v1/projects/{project}/queue': 'job.read',
  'GET /v1/projects/{project}/tokens': 'token.read',
  'POST /v1/projects/{project}/tokens': 'token.write',
  'DELETE /v1/projects/{project}/tokens/{tokenId}': 'token.write',
  'POST /v1/projects/{project}/tokens/{tokenId}/rotate': 'token.write',
  'GET /v1/projects/{project}/webhooks': 'webhook.read',
  'POST /v1/projects/{project}/webhooks': 'webhook.write',
  'DELETE /v1/projects/{project}/webhooks/{webhookId}': 'webhook.write',
  'POST /v1/projects/{project}/webhooks/{webhookId}/rotate': 'webhook.write',
  'POST /v1/projects/{project}/webhooks/{webhookId}/enable': 'webhook.write',
  'POST /v1/projects/{project}/webhooks/{webhookId}/test': 'webhook.write',
  'GET /v1/projects/{project}/webhooks/{webhookId}/deliveries': 'webhook.read',
  'GET /v1/projects/{project}/audit': 'audit.read',
  'GET /v1/sign-in': 'public',
  'GET /v1/sign-in/start': 'public',
  'GET /v1/sign-in/callback': 'public',
  'POST /v1/sign-in/tokens': 'public',
  'POST /v1/sign-out': 'signedIn',
  'GET /v1/projects/{project}/group-roles': 'group.read',
  'POST /v1/projects/{project}/group-roles': 'group.write',
  'DELETE /v1/projects/{project}/group-roles/{groupRoleId}': 'group.write',
  'GET /v1/projects/{project}/observed-jobs': 'job.read',
  'GET /v1/projects/{project}/jobs': 'job.read',
  'POST /v1/projects/{project}/jobs': 'job.submit',
  'POST /v1/projects/{project}/jobs/check': 'job.submit',
  'GET /v1/projects/{project}/jobs/{jobId}': 'job.read',
  'PATCH /v1/projects/{project}/jobs/{jobId}': CHANGE_JOB,
  'DELETE /v1/projects/{project}/jobs/{jobId}': CHANGE_JOB,
  'POST /v1/projects/{project}/jobs/{jobId}/suspend': CHANGE_JOB,
  'POST /v1/projects/{project}/jobs/{jobId}/resume': CHANGE_JOB,
  'POST /v1/projects/{project}/jobs/{jobId}/cancel': CHANGE_JOB,
  'GET /v1/projects/{project}/jobs/{jobId}/start': 'job.read',
  'GET /v1/projects/{project}/jobs/{jobId}/events': 'job.read',
  'GET /v1/projects/{project}/jobs/{jobId}/events/stream': 'job.read',
  'GET /v1/projects/{project}/jobs/{jobId}/steps': 'job.read',
  'GET /v1/projects/{project}/jobs/{jobId}/ranks': 'job.read',
  'GET /v1/projects/{project}/jobs/{jobId}/checkpoints': 'job.read',
  'GET /v1/projects/{project}/checkpoints': 'job.read',
  'GET /v1/projects/{project}/checkpoints/{uid}': 'job.read',
  'POST /v1/projects/{project}/checkpoints/{uid}/verify': CHANGE_JOB,
  'PUT /v1/projects/{project}/checkpoints/{uid}/pin': CHANGE_JOB,
  'DELETE /v1/projects/{project}/checkpoints/{uid}/pin': CHANGE_JOB,
  'DELETE /v1/projects/{project}/checkpoints/{uid}': CHANGE_JOB,
  'GET /v1/projects/{project}/jobs/{jobId}/goodput': 'job.read',
  'GET /v1/projects/{project}/costs': 'job.read',
  'GET /v1/projects/{project}/costs.csv': 'job.read',
  'GET /v1/projects/{project}/jobs/{jobId}/incidents': 'job.read',
  'POST /v1/projects/{project}/checkpoints': 'job.submit',
  'GET /v1/projects/{project}/incidents': 'job.read',
  'GET /v1/projects/{project}/jobs/{jobId}/logs': 'job.read',
  'POST /v1/projects/{project}/jobs/{jobId}/stacks': 'job.read',
  'GET /v1/projects/{project}/jobs/{jobId}/rendering': 'job.read',
  'POST /v1/projects/{project}/renderings': 'layout.read',
  'GET /v1/projects/{project}/code/{sha256}': 'job.read',
  'PUT /v1/projects/{project}/code/{sha256}': 'job.submit',
  'GET /v1/projects/{project}/layouts': 'layout.read',
  'POST /v1/projects/{project}/layouts': 'layout.write',
  'GET /v1/projects/{project}/layouts/{layoutId}': 'layout.read',
  'POST /v1/projects/{project}/plans': 'plan.write',
  'GET /v1/projects/{project}/plans': 'plan.read',
  'GET /v1/projects/{project}/plans/accuracy': 'plan.read',
  'GET /v1/projects/{project}/plans/{planId}': 'plan.read',
};

/** The rule of every field at the root of GraphQL, by type and name. */
export const FIELD_RULES: Readonly<Record<string, AccessRule>> = {
  'Query.whoAmI': 'signedIn',
  'Query.engines': 'signedIn',
  'Query.fabric': 'fabric.read',
  'Query.fabricSnapshots': 'fabric.read',
  'Query.fabricSnapshot': 'fabric.read',
  'Query.fabricChanges': 'fabric.read',
  'Query.projects': 'project.read',
  'Query.project': 'project.read',
  'Query.projectLimits': 'project.read',
  'Query.gpus': 'project.read',
  'Query.queue': 'job.read',
  'Query.jobStart': 'job.read',
  'Query.tokens': 'token.read',
  'Query.webhooks': 'webhook.read',
  'Query.webhookDeliveries': 'webhook.read',
  'Query.audit': 'audit.read',
  'Query.groupRoles': 'group.read',
  'Query.jobs': 'job.read',
  'Query.job': 'job.read',
  'Query.events': 'job.read',
  'Query.steps': 'job.read',
  'Query.ranks': 'job.read',
  'Query.checkpoints': 'job.read',
  'Query.projectCheckpoints': 'job.read',
  'Query.checkpoint': 'job.read',
  'Query.goodput': 'job.read',
  'Query.incidents': 'job.read',
  'Query.jobIncidents': 'job.read',
  'Query.jobRendering': 'job.read',
  'Query.rendering': 'layout.read',
  'Query.layouts': 'layout.read',
  'Query.layout': 'layout.read',
  'Query.plan': 'plan.read',
  'Query.plans': 'plan.read',
  'Query.planAccuracy': 'plan.read',
  'Mutation.createProject': 'project.create',
  'Mutation.updateProject': 'project.update',
  'Mutation.createToken': 'token.write',
  'Mutation.rotateToken': 'token.write',
  'Mutation.revokeToken': 'token.write',
  'Mutation.createWebhook': 'webhook.write',
  'Mutation.rotateWebhook': 'webhook.write',
  'Mutation.enableWebhook': 'webhook.write',
  'Mutation.testWebhook': 'webhook.write',
  'Mutation.removeWebhook': 'webhook.write',
  'Mutation.grantGroupRole': 'group.write',
  'Mutation.revokeGroupRole': 'group.write',
  'Mutation.createJob': 'job.submit',
  'Mutation.labelJob': CHANGE_JOB,
  'Mutation.suspendJob': CHANGE_JOB,
  'Mutation.resumeJob': CHANGE_JOB,
  'Mutation.cancelJob': CHANGE_JOB,
  'Mutation.deleteJob': CHANGE_JOB,
  'Mutation.verifyCheckpoint': CHANGE_JOB,
  'Mutation.pinCheckpoint': CHANGE_JOB,
  'Mutation.unpinCheckpoint': CHANGE_JOB,
  'Mutation.forgetCheckpoint': CHANGE_JOB,
  'Mutation.takeStacks': 'job.read',
  'Mutation.adoptCheckpoint': 'job.submit',
  'Mutation.createLayout': 'layout.write',
  'Mutation.createPlan': 'plan.write',
};

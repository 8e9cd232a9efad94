/*
 * Which requests stop a job? They have a count of their own, over REST and GraphQL alike: however often a project changes its jobs, it can stop them.
 */

const STOP_ROUTES: ReadonlySet<string> = new Set([
  'POST /v1/projects/{project}/jobs/{jobId}/suspend',
  'POST /v1/projects/{project}/jobs/{jobId}/cancel',
  'DELETE /v1/projects/{project}/jobs/{jobId}',
]);
const STOP_MUTATIONS: ReadonlySet<string> = new Set(['suspendJob', 'cancelJob', 'deleteJob']);

/** Whether the route suspends, cancels or deletes a job. `url` as the router has it. */
export function isStopRoute(method: string, url: string): boolean {
  return STOP_ROUTES.has(`${method} ${url.replace(/:(\w+)/g, '{$1}')}`);
}

/** Whether the root field of a mutation does. */
export function isStopMutation(field: string): boolean {
  return STOP_MUTATIONS.has(field);
}

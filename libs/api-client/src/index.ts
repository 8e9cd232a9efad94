export { ApiClient } from './api-client.ts';
export type { JobQuery, StreamedChange } from './api-client.ts';
export { ApiProblem, ApiUnreachable } from './api-problem.ts';

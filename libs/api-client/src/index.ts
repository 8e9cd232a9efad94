export { ApiClient } from './api-client.ts';
export type { StreamedChange } from './api-client.ts';
export { ApiProblem, ApiUnreachable } from './api-problem.ts';

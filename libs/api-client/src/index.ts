export { ApiClient } from './api-client.ts';
export type { JobQuery, StreamedChange } from './api-client.ts';
export { meaningOf } from './read-answer.ts';
export { ApiProblem, ApiUnreachable } from './api-problem.ts';

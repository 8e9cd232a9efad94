export { ApiClient } from './api-client.ts';
export type { ApiAccess, StreamedChange } from './api-client.ts';
export { ApiProblem, ApiUnreachable } from './api-problem.ts';
export { serverSentEvents } from './server-sent-events.ts';
export type { ServerSentEvent } from './server-sent-events.ts';

export { startFakeApi } from './fake-api.ts';
export type { FakeAnswer, FakeApi, SeenRequest } from './fake-api.ts';

export { startFakeApi } from './fake-api.ts';
export type { FakeAnswer, FakeApi } from './fake-api.ts';

export { findChromium } from './chromium.ts';
export { startFaultProxy, type FaultProxy, type RecordedWrite } from './fault-proxy/fault-proxy.ts';
export { OBJECT_STORE_VARIABLE, startObjectStore, type ObjectStore } from './object-store.ts';
export { errorLine, spoilWatch, type Fault, type FaultAction, type Verb } from './fault-proxy/faults.ts';
export { SHARED_POSTGRES_VARIABLE, sharedPostgres, type SharedPostgres } from './shared-postgres.ts';
export { temporaryDirectory } from './temporary-directory.ts';
export { StatedAnswers } from './stated-answers.ts';
export { SharedFixture, usersVariable } from './shared-fixture.ts';

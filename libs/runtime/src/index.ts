export { COMPUTE_DOMAINS, computeDomainOf } from './compute-domain.ts';
export { nodeDemandOf } from './node-demand.ts';
export { overSockets } from './socket-transport.ts';
export { asUser, leavesUserOpen } from './pod-user.ts';
export { trainerImageOf } from './template-parts.ts';
export { podWithRuntime } from './pod-with-runtime.ts';
export { type ReadRuntime, readRuntime, runtimeRefusal } from './read-runtime.ts';

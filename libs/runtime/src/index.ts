export { COMPUTE_DOMAINS, computeDomainOf } from './compute-domain.ts';
export { nodeDemandOf } from './node-demand.ts';
export { podWithRuntime } from './pod-with-runtime.ts';
export { type ReadRuntime, readRuntime, runtimeRefusal } from './read-runtime.ts';

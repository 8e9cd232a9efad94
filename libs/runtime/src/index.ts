export { COMPUTE_DOMAINS, computeDomainOf } from './compute-domain.ts';
export { type GangTemplate, gangTemplates } from './gang-templates.ts';
export { nodeDemandOf } from './node-demand.ts';
export { withSocketTransport } from './socket-transport.ts';
export { containersWithoutUser, withUnprivilegedUser } from './pod-user.ts';
export { trainerImageOf } from './template-parts.ts';
export { podWithRuntime } from './pod-with-runtime.ts';
export { type ReadRuntime, readRuntime, runtimeRefusal } from './read-runtime.ts';

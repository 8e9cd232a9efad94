export { createKubeClient, createKubeClientOver } from './client.ts';
export type { CallOptions, KubeClient, Replacement } from './kube-client.ts';
export type { Clock } from './clock.ts';
export { sleep, systemClock } from './clock.ts';
export {
  KubeApiError,
  isAlreadyExists,
  isAdmissionUnavailable,
  isConflict,
  isDeniedByAdmission,
  isDryRunUnsupported,
  isInvalid,
  isKindUnknown,
  isNotFound,
  isRefusal,
  isRetryable,
  isUnauthorizedVerb,
  serverSentence,
} from './errors.ts';
export { EventRecorder } from './events.ts';
export { InformerGroup } from './informer-group.ts';
export { keyOf, splitKey } from './kube-object.ts';
export type { KubeList, KubeObject } from './kube-object.ts';
export { listPages } from './list-pages.ts';
export { LeaderLease, NotLeadingError } from './leader-lease.ts';
export type { CurrentLeader } from './leader-lease.ts';
export { noMetrics } from './metrics.ts';
export type { KubeCounter, KubeMeasurement, KubeMetrics } from './metrics.ts';
export { OwnWrites } from './own-writes.ts';
export { resourcePath } from './paths.ts';
export { EVERY_ADDRESS, listenHostOf, urlHostOf } from './pod-address.ts';
export type { PolicyRule } from './policy-rule.ts';
export { Reflector } from './reflector.ts';
export type { ReflectorOptions, ReflectorProblem } from './reflector.ts';
export { ObjectCache } from './object-cache.ts';
export type { CacheChange } from './object-cache.ts';
export { Turns } from './turns.ts';
export { WATCH_CHECK } from './watch-check.ts';
export { passGuard } from './transport.ts';
export type { KubeTransport } from './transport.ts';
export { WorkQueue } from './work-queue.ts';
export type { QueuePriority } from './queue-contract.ts';

export type { BackoffBounds } from './backoff.ts';
export { backoffMs } from './backoff.ts';
export { createKubeClient, createKubeClientOver } from './client.ts';
export type {
  ApplyOptions,
  CallOptions,
  ClientLimits,
  CreateOptions,
  DeleteOptions,
  KubeClient,
  KubeClientOptions,
  KubeStream,
  KubeVersion,
  ListOptions,
  PatchOptions,
  StreamOptions,
} from './client.ts';
export type { Clock } from './clock.ts';
export { sleep, systemClock } from './clock.ts';
export type { CredentialSource, Credentials, KubeconfigChoice } from './credentials.ts';
export { fileCredentials } from './credentials.ts';
export {
  KubeApiError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isKindUnknown,
  isNotFound,
  isOutcomeUnknown,
  isRefusal,
  isRetryable,
  isUnauthorizedVerb,
  retryAfterMsOf,
} from './errors.ts';
export type { KubeApiErrorFacts, UnansweredReason } from './errors.ts';
export { EventRecorder } from './events.ts';
export type { EventRecorderOptions, RecordedEvent } from './events.ts';
export { InformerGroup } from './informer-group.ts';
export type { GroupMember } from './informer-group.ts';
export { keyOf, splitKey } from './kube-object.ts';
export type { KubeList, KubeObject, ObjectMeta, OwnerReference } from './kube-object.ts';
export { LeaderLease, NotLeadingError } from './leader-lease.ts';
export type { CurrentLeader, LeaderLeaseOptions, LeaseRun } from './leader-lease.ts';
export { noMetrics } from './metrics.ts';
export type { KubeCounter, KubeMeasurement, KubeMetrics } from './metrics.ts';
export { toMicroTime } from './micro-time.ts';
export { OwnWrites } from './own-writes.ts';
export { resourcePath } from './paths.ts';
export type { ResourceAddress } from './paths.ts';
export type { PolicyRule } from './policy-rule.ts';
export { Reflector } from './reflector.ts';
export type {
  ReflectorFailure,
  ReflectorHealth,
  ReflectorOptions,
  ReflectorProblem,
  ReflectorTuning,
} from './reflector.ts';
export { compareResourceVersions, newerResourceVersion } from './resource-version.ts';
export { ObjectCache } from './object-cache.ts';
export type { IndexFunction, CacheChange, CacheProblem } from './object-cache.ts';
export type { KubeTransport, PoolOptions, TransportAnswer, TransportRequest } from './transport.ts';
export { GuardRefusal, passGuard, undiciTransport } from './transport.ts';
export { WorkQueue } from './work-queue.ts';
export type {
  QueuePriority,
  QueueStats,
  Reconcile,
  ReconcileContext,
  ReconcileFailure,
  ReconcileResult,
  RunOptions,
  WorkQueueOptions,
} from './work-queue.ts';

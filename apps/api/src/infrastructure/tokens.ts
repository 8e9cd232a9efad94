/** Injection tokens of what main.ts builds before Nest starts. */
export const CONFIG = Symbol('config');
/** A TenantDatabase: whatever answers requests sees the rows of a scope. */
export const TENANT_DATABASE = Symbol('tenant database');
/** A {@link Cluster}: the one whose resources this API mirrors. */
export const CLUSTER = Symbol('cluster');
/** A KubeClient with the rights of the API's service account. */
export const KUBE = Symbol('kube');
/** A Logger that writes one JSON object per line. */
export const LOGGER = Symbol('logger');
/** The Metrics that `/metrics` serves. */
export const METRICS = Symbol('metrics');
/** A {@link WallClock}. */
export const CLOCK = Symbol('clock');
/** PageTokens, which sign the positions of pages. */
export const PAGE_TOKENS = Symbol('page tokens');
/** A JobFanOut, which serves the live streams of jobs. */
export const FAN_OUT = Symbol('fan-out');
/** A Readiness, which collects the checks of `/readyz`. */
export const READINESS = Symbol('readiness');
/** A Planner, which runs searches in separate processes. */
export const PLANNER = Symbol('planner');
/** Denials, which record refused requests in the audit log. */
export const DENIALS = Symbol('denials');
/** A Database of the system role, for what happens before it is known who asks: sessions, and the people whose they are. */
export const SIGN_IN_DATABASE = Symbol('sign-in database');
/** A QueueRecords, which reads what the order of all jobs depends on, without names. */
export const QUEUE_RECORDS = Symbol('queue records');
/** Bytes of the key that seals sign-ins that are not complete yet. */
export const SIGN_IN_KEY = Symbol('sign-in key');
/** Seals the secrets that messages to endpoints are signed with. */
export const WEBHOOK_KEY = Symbol('webhook key');
/** A signal: the process stops, and whatever goes on for as long as somebody reads ends. */
export const STOPPING = Symbol('stopping');
/** The OpenAPI document of all routes, as an object. */
export const API_DOCUMENT = Symbol('OpenAPI document');

/** The cluster whose resources the rows mirror. */
export interface Cluster {
  readonly id: string;
  readonly name: string;
}

/** Wall time; a test owns its own. */
export interface WallClock {
  now(): Date;
}

/** Injection tokens of what main.ts builds before Nest starts. */
export const CONFIG = Symbol('config');
/** A TenantDatabase: whatever answers requests sees the rows of a scope. */
export const TENANT_DATABASE = Symbol('tenant database');
export const CLUSTER = Symbol('cluster');
export const KUBE = Symbol('kube');
export const LOGGER = Symbol('logger');
export const METRICS = Symbol('metrics');
export const CLOCK = Symbol('clock');
export const PAGE_TOKENS = Symbol('page tokens');
export const FAN_OUT = Symbol('fan-out');
export const READINESS = Symbol('readiness');
export const PLANNER = Symbol('planner');
export const DENIALS = Symbol('denials');
/** A Database of the system role, for what happens before it is known who asks: sessions, and the people whose they are. */
export const SIGN_IN_DATABASE = Symbol('sign-in database');
export const SIGN_IN_KEY = Symbol('sign-in key');
/** Seals the secrets that messages to endpoints are signed with. */
export const WEBHOOK_KEY = Symbol('webhook key');
/** A signal: the process stops, and whatever goes on for as long as somebody reads ends. */
export const STOPPING = Symbol('stopping');
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

/** Injection tokens of what main.ts builds before Nest starts. */
export const CONFIG = Symbol('config');
export const DATABASE = Symbol('database');
export const CLUSTER = Symbol('cluster');
export const KUBE = Symbol('kube');
export const LOGGER = Symbol('logger');
export const METRICS = Symbol('metrics');
export const CLOCK = Symbol('clock');
export const PAGE_TOKENS = Symbol('page tokens');
export const LIVE_JOBS = Symbol('live jobs');
export const READINESS = Symbol('readiness');
export const PLANNER = Symbol('planner');
export const OPEN_STREAMS = Symbol('open streams');

/** The cluster whose resources the rows mirror. */
export interface Cluster {
  readonly id: string;
  readonly name: string;
}

/** Wall time; a test owns its own. */
export interface WallClock {
  now(): Date;
}

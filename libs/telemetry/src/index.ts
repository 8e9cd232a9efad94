export { createLogger, LOG_LEVELS } from './logger.ts';
export type { Logger, LogLevel } from './logger.ts';
export { createMetrics } from './metrics.ts';
export type { Metrics } from './metrics.ts';
export { startLivenessServer } from './liveness-server.ts';
export type { LivenessServer } from './liveness-server.ts';

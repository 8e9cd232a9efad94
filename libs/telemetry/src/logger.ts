import { pino, stdTimeFunctions, type Logger as PinoLogger } from 'pino';

/** Log levels, from the most output to the least. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** A level of the logger; `silent` writes nothing. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A structured logger: fields first, then a constant message (`log.info({ job, epoch }, 'gang placed')`). */
export type Logger = PinoLogger;

/** Values of these fields never reach a log line, wherever they sit in the first three levels of what is logged. */
const SECRET_FIELDS = ['authorization', 'cookie', 'token', 'password', 'keyPem', 'reportToken'];

/** A logger that writes one JSON object per line to standard output, with RFC 3339 times and secrets removed. */
export function createLogger(options: { readonly program: string; readonly level: LogLevel }): Logger {
  return pino({
    base: { program: options.program, pid: process.pid },
    level: options.level,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: '[removed]' },
  });
}

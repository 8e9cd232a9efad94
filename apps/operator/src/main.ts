import { setTimeout as delay } from 'node:timers/promises';
import { createLogger } from '@coxswain/telemetry';
import { readConfig } from './config/config.ts';
import { runCommand } from './installation/commands.ts';
import { startOperator, type Ending } from './operator.ts';
import { EXIT_CODES } from './process/exit-codes.ts';

/** Hanging calls after the end of a term must not keep the process alive. */
const LEAVE_WITHIN_MS = 5_000;

// Before signal handlers are set: a hook that is terminated must not exit with success.
if (process.argv.length > 2) process.exit(await runCommand(process.argv.slice(2), process));

const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
const stop = new Promise<undefined>((resolve) => stopping.signal.addEventListener('abort', () => resolve(undefined)));

try {
  const config = readConfig(process.env);
  const log = createLogger({ program: 'coxswain-operator', level: config.logLevel });
  // Nothing is expected to come here; if it does, a fresh process is worth more than one in an unknown state.
  process.on('unhandledRejection', (error) => {
    log.fatal({ err: error }, 'unhandled error');
    process.exit(EXIT_CODES.failed);
  });
  const operator = await startOperator(config, { log, signal: stopping.signal });
  const ending: Ending | undefined = await Promise.race([operator.ended, stop]);
  if (ending === undefined) await operator.stop();
  else {
    if (ending.kind === 'termOver')
      log.error({ err: ending.reason }, 'the term as leader is over; the process exits and restarts');
    else log.fatal({ err: ending.reason }, 'a part of the operator failed; the process exits and restarts');
    await Promise.race([operator.stop(), delay(LEAVE_WITHIN_MS)]);
    process.exit(ending.kind === 'termOver' ? EXIT_CODES.termOver : EXIT_CODES.failed);
  }
} catch (error) {
  if (!stopping.signal.aborted) {
    process.stderr.write(`coxswain-operator: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = EXIT_CODES.failed;
  }
}

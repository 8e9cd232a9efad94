import { createLogger } from '@coxswain/telemetry';
import { readConfig } from './config/config.ts';
import { startApi } from './start.ts';

const config = readConfig(process.env);
const logger = createLogger({ program: 'coxswain-api', level: config.logLevel });
const stopping = new AbortController();
const begun = performance.now();

const starting = startApi(config, { logger, signal: stopping.signal });
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop(signal));
process.on('unhandledRejection', (error) => {
  logger.fatal({ err: error }, 'a promise was left to fail');
  process.exit(1);
});

starting.then(
  ({ url }) => {
    logger.info({ url, role: config.role, startMs: Math.round(performance.now() - begun) }, 'the API listens');
  },
  (error: unknown) => {
    if (stopping.signal.aborted) return;
    logger.fatal({ err: error }, 'the API could not start');
    process.exit(1);
  },
);

async function stop(signal: string): Promise<void> {
  logger.info({ signal }, 'stopping');
  stopping.abort();
  // Whatever hangs must not outlive the grace period; outbox and queue make it safe to end at any point.
  setTimeout(() => process.exit(1), config.shutdownMs).unref();
  try {
    const api = await starting.catch(() => undefined);
    await api?.close();
    process.exit(0);
  } catch (error) {
    logger.error({ err: error }, 'shutdown failed');
    process.exit(1);
  }
}

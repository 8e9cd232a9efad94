import { createLogger } from '@coxswain/telemetry';
import { readConfig } from './config/config.ts';
import { startApi } from './start.ts';

const config = readConfig(process.env);
const logger = createLogger({ program: 'coxswain-api', level: config.logLevel });
const stopping = new AbortController();

let api: Awaited<ReturnType<typeof startApi>> | undefined;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    stopping.abort();
    // Whatever hangs must not outlive the grace period; the queue and the outbox make this safe at any point.
    setTimeout(() => process.exit(1), config.shutdownMs).unref();
    const closing = api === undefined ? Promise.resolve() : api.close();
    closing.then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, 'shutdown failed');
        process.exit(1);
      },
    );
  });
}
process.on('unhandledRejection', (error) => {
  logger.fatal({ err: error }, 'a promise was left to fail');
  process.exit(1);
});

const started = performance.now();
api = await startApi(config, { logger, signal: stopping.signal });
logger.info({ url: api.url, role: config.role, startMs: Math.round(performance.now() - started) }, 'the API listens');

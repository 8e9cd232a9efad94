import { createLogger } from '@coxswain/telemetry';
import { readConfig } from './config/config.ts';
import { startOperator } from './operator.ts';

const { env } = process;
try {
  const config = readConfig(env);
  const log = createLogger({ program: 'coxswain-operator', level: config.logLevel });
  // Nothing is expected to come here; if it does, a fresh process is worth more than one in an unknown state.
  process.on('unhandledRejection', (error) => {
    log.fatal({ err: error }, 'an error was handled nowhere');
    process.exit(1);
  });
  const operator = await startOperator(config, { log });
  const signal = await Promise.race([
    operator.failed,
    new Promise<'stop'>((resolve) => {
      process.once('SIGTERM', () => resolve('stop'));
      process.once('SIGINT', () => resolve('stop'));
    }),
  ]);
  if (signal !== 'stop') log.fatal({ err: signal }, 'the operator ended by itself');
  await operator.stop();
  process.exitCode = signal === 'stop' ? 0 : 1;
} catch (error) {
  process.stderr.write(`coxswain-operator: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

import { setTimeout as delay } from 'node:timers/promises';
import { createKubeClient, systemClock } from '@coxswain/kube';
import { createLogger } from '@coxswain/telemetry';
import { readConfig } from './config/config.ts';
import { startOperator, type Ending } from './operator.ts';
import { EXIT_CODES } from './process/exit-codes.ts';
import { letGo } from './process/let-go.ts';
import { refuseWhileLed } from './process/refuse-while-led.ts';

/** What hangs after the end of a term must not keep the process: its successor waits for nothing but the lease. */
const LEAVE_WITHIN_MS = 5_000;

/** The chart's hook after an uninstall, with NAMESPACE/NAME of the operator's Lease; without an argument the operator itself runs. */
const LET_GO = 'let-go';

async function letGoOfAll(leaseName: string): Promise<void> {
  const [namespace, name] = leaseName.split('/');
  if (namespace === undefined || namespace === '' || name === undefined || name === '') {
    throw new Error(
      `${LET_GO} needs the operator's Lease as NAMESPACE/NAME, for instance coxswain-system/coxswain-operator`,
    );
  }
  const kubeconfigPath = process.env['COXSWAIN_KUBECONFIG'];
  const client = createKubeClient({
    ...(kubeconfigPath === undefined ? {} : { kubeconfigPath }),
    userAgent: 'coxswain-let-go',
  });
  try {
    await refuseWhileLed({ client, clock: systemClock, lease: { namespace, name } });
    const { pods, jobs } = await letGo({ client, pause: () => delay(LET_GO_PAUSE_MS) });
    process.stdout.write(`let go of ${pods} pods and ${jobs} jobs\n`);
  } finally {
    await client.close();
  }
}

/** Longer than an API server takes to hear that the operator's rights are gone. */
const LET_GO_PAUSE_MS = 2_000;

const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort());
const stop = new Promise<undefined>((resolve) => stopping.signal.addEventListener('abort', () => resolve(undefined)));

try {
  if (process.argv[2] === LET_GO) {
    await letGoOfAll(process.argv[3] ?? '');
    process.exit(0);
  }
  const config = readConfig(process.env);
  const log = createLogger({ program: 'coxswain-operator', level: config.logLevel });
  // Nothing is expected to come here; if it does, a fresh process is worth more than one in an unknown state.
  process.on('unhandledRejection', (error) => {
    log.fatal({ err: error }, 'an error was handled nowhere');
    process.exit(EXIT_CODES.failed);
  });
  const operator = await startOperator(config, { log, signal: stopping.signal });
  const ending: Ending | undefined = await Promise.race([operator.ended, stop]);
  if (ending === undefined) await operator.stop();
  else {
    if (ending.kind === 'termOver')
      log.error({ err: ending.reason }, 'the term as leader is over, and so is this process');
    else log.fatal({ err: ending.reason }, 'the operator ended by itself');
    await Promise.race([operator.stop(), delay(LEAVE_WITHIN_MS)]);
    process.exit(ending.kind === 'termOver' ? EXIT_CODES.termOver : EXIT_CODES.failed);
  }
} catch (error) {
  if (!stopping.signal.aborted) {
    process.stderr.write(`coxswain-operator: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = EXIT_CODES.failed;
  }
}

import type { Database } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import { MINUTE_MS } from '@coxswain/units';
import { sweepRegularly } from '../infrastructure/regular-sweeps.ts';
import type { Cluster } from '../infrastructure/tokens.ts';
import { removeOldDeliveries } from './delivery-rows.ts';

const EVERY_MS = 10 * MINUTE_MS;
/** So many at once, that no row is locked for long. */
const BATCH = 1_000;

/** Removes messages that are kept no longer, at the start and each ten minutes, until `signal` aborts. */
export function keepDeliveriesBounded(
  { database, cluster, logger }: { readonly database: Database; readonly cluster: Cluster; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  const sweep = async (): Promise<boolean> => (await removeOldDeliveries(database, cluster, BATCH)) === BATCH;
  const failed = 'old messages to endpoints were not removed; trying later';
  return sweepRegularly({ everyMs: EVERY_MS, sweep, logger, failed }, signal);
}

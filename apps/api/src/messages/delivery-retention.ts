import { setTimeout as delay } from 'node:timers/promises';
import { MINUTE_MS } from '@coxswain/units';
import type { Database } from '@coxswain/persistence';
import type { Logger } from '@coxswain/telemetry';
import type { Cluster } from '../infrastructure/tokens.ts';
import { removeOldDeliveries } from './delivery-rows.ts';

const EVERY_MS = 10 * MINUTE_MS;
/** So many at once, that no row is locked for long. */
const BATCH = 1_000;

/** Removes messages that are kept no longer, at the start and each ten minutes, until `signal` aborts. */
export async function keepDeliveriesBounded(
  { database, cluster, logger }: { readonly database: Database; readonly cluster: Cluster; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      while ((await removeOldDeliveries(database, cluster, BATCH)) === BATCH) if (signal.aborted) return;
    } catch (error) {
      logger.warn({ reason: (error as Error).message }, 'old messages to endpoints were not removed; trying later');
    }
    await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

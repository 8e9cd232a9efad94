import { type Logger, startLivenessServer } from '@coxswain/telemetry';
import type { Config } from '../config/config.ts';
import { type HealthServer, type HealthSource, startHealthServer } from './health-server.ts';

/** The ports for probes; `port` is the health port. */
export type Probes = HealthServer;

/** Serves the health port and, if the configuration names a port for it, liveness from a thread of its own. */
export async function startProbes(
  source: HealthSource,
  { health, liveness, log }: Pick<Config, 'health' | 'liveness'> & { readonly log: Logger },
): Promise<Probes> {
  const server = await startHealthServer(source, health);
  if (liveness.port === undefined) return server;
  const live = await startLivenessServer({
    listenHost: health.listenHost,
    listenPort: liveness.port,
    maxStallMs: liveness.maxStallMs,
    hungReasons: () => source.hungReasons(),
    onDeath: (error) => log.error({ err: error }, 'liveness probes are no longer answered'),
  });
  return {
    port: server.port,
    stop: async () => {
      await Promise.all([server.stop(), live.stop()]);
    },
  };
}

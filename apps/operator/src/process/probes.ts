import { type Logger, startLivenessServer } from '@coxswain/telemetry';
import type { Config } from '../config/config.ts';
import { type HealthSource, startHealthServer } from './health-server.ts';
import type { HttpListener } from './http-listener.ts';

/** Serves the health port, which is the `port` of the result, and, if the configuration names a port for it, liveness from a thread of its own. */
export async function startProbes(
  source: HealthSource,
  { health, liveness, log }: Pick<Config, 'health' | 'liveness'> & { readonly log: Logger },
): Promise<HttpListener> {
  const server = await startHealthServer(source, health);
  if (liveness.port === undefined) return server;
  const live = await startLivenessServer({
    listenHost: health.listenHost,
    listenPort: liveness.port,
    maxStallMs: liveness.maxStallMs,
    hungReasons: () => source.hungReasons(),
    onDeath: (error) => log.error({ err: error }, 'liveness probes are no longer answered'),
  }).catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  return {
    port: server.port,
    stop: async () => {
      await Promise.all([server.stop(), live.stop()]);
    },
  };
}

import type { Clock } from '@coxswain/kube';
import type { Logger } from '@coxswain/telemetry';
import type { Config } from '../config/config.ts';
import type { HealthSource } from './health-server.ts';
import { startMetricsServer, tokenFromFile, type MetricsSource } from './metrics-server.ts';
import { startProbes } from './probes.ts';

/** The plain HTTP ports of this process: probes, and metrics if a token for them is configured. */
export interface ProcessPorts {
  readonly healthPort: number;
  /** Undefined: metrics are not served. */
  readonly metricsPort: number | undefined;
  stop(): Promise<void>;
}

/** Opens the ports. Rejects when one is taken. */
export async function openProcessPorts(
  { health, liveness, metrics }: Pick<Config, 'health' | 'liveness' | 'metrics'>,
  source: HealthSource & Pick<MetricsSource, 'expose'> & { readonly clock: Clock; readonly log: Logger },
): Promise<ProcessPorts> {
  const { clock, log } = source;
  const probes = await startProbes(source, { health, liveness, log });
  const scrapes =
    metrics.tokenFile === undefined
      ? undefined
      : await startMetricsServer(
          { expose: source.expose, token: tokenFromFile(metrics.tokenFile, clock), clock },
          metrics,
        ).catch(async (error: unknown) => {
          await probes.stop();
          throw error;
        });
  return {
    healthPort: probes.port,
    metricsPort: scrapes?.port,
    stop: async () => {
      await Promise.all([probes.stop(), scrapes?.stop()]);
    },
  };
}

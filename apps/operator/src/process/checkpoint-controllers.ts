/** The controllers that run pods on checkpoints: one verifies, one deletes by retention policies, and one converts. */
import type { Clock, KubeClient } from '@coxswain/kube';
import type { Logger } from '@coxswain/telemetry';
import type { ClusterCache } from '../cluster/cluster-cache.ts';
import type { Config } from '../config/config.ts';
import { ConversionController } from '../conversion/conversion-controller.ts';
import { KeptLogsReaders } from '../kept-logs/kept-logs-readers.ts';
import { RetentionController } from '../retention/retention-controller.ts';
import { VerificationController } from '../verification/verification-controller.ts';
import type { JobEventRecorder } from './job-event-recorder.ts';

/** Parts of all three. `client` must reject writes while this process does not lead. */
export interface CheckpointControllerParts {
  readonly config: Pick<Config, 'pods' | 'backgroundBytesPerHour'>;
  readonly client: KubeClient;
  readonly cache: ClusterCache;
  readonly clock: Clock;
  readonly log: Logger;
  readonly jobEvents: JobEventRecorder;
}

/** The controllers, which run until a signal aborts. */
export class CheckpointControllers {
  readonly #verification: VerificationController;
  readonly #retention: RetentionController;
  readonly #conversion: ConversionController;
  /** Pods that read what is kept of logs beside checkpoints. */
  readonly keptLogs: KeptLogsReaders;

  constructor({ config, client, cache, clock, log, jobEvents }: CheckpointControllerParts) {
    const parts = { client, cache, clock, pods: config.pods };
    this.keptLogs = new KeptLogsReaders({
      ...parts,
      onError: (error) =>
        log.warn({ err: error }, 'a pod that read kept logs could not be deleted; the operator retries'),
    });
    this.#verification = new VerificationController({
      ...parts,
      backgroundBytesPerHour: config.backgroundBytesPerHour,
      onCleared: (job, note) => jobEvents.recordClearedCheckpoint(job, note),
      onError: (error) => log.warn({ err: error }, 'a checkpoint could not be verified; the operator retries'),
    });
    this.#retention = new RetentionController({
      ...parts,
      announce: (regarding, reason, about) => jobEvents.recordRetention(regarding, reason, about),
      onError: (error) => log.warn({ err: error }, 'retention of checkpoints failed; the operator retries'),
    });
    this.#conversion = new ConversionController({
      ...parts,
      announce: (regarding, reason, about) => jobEvents.recordConversion(regarding, reason, about),
      onError: (error) => log.warn({ err: error }, 'a checkpoint could not be converted; the operator retries'),
    });
  }

  /** Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const controllers = [this.#verification, this.#retention, this.#conversion, this.keptLogs];
    await Promise.all(controllers.map((one) => one.run(signal)));
  }
}

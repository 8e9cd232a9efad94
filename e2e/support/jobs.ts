import { TrainingJobSpec, type TrainingJobSpecInput } from '@coxswain/api-types';
import { LOCAL_IMAGES } from '@coxswain/local-cluster';

/** What a sleeping engine does: it speaks and saves like a real one, and needs no PyTorch. */
export interface SleeperOptions {
  readonly steps: number;
  readonly stepMs?: number;
  readonly saveEvery?: number;
  /** What goes wrong, on purpose; see engines/sleeper/README.md. */
  readonly fault?: {
    readonly rank: number;
    readonly step: number;
    readonly kind: 'exit' | 'traceback' | 'sigkill' | 'hang';
    readonly code?: number;
    readonly epoch?: number;
  };
}

/** Steps of a job that somebody ends: it never finishes by itself, however slow the machine is. */
export const UNTIL_STOPPED = 1_000_000;

/** A job of four ranks (tp2 x dp2) of the sleeping engine, with short delays. */
export function sleeperSpec(options: SleeperOptions, overrides: Partial<TrainingJobSpecInput> = {}): TrainingJobSpec {
  const { steps, stepMs = 50, saveEvery = 10, fault } = options;
  return TrainingJobSpec.parse({
    engine: {
      name: 'command',
      image: LOCAL_IMAGES.sleeper,
      command: [
        'python3',
        '-m',
        'coxswain_sleeper',
        '--steps',
        String(steps),
        '--step-ms',
        String(stepMs),
        '--save-every',
        String(saveEvery),
      ],
      ...(fault === undefined ? {} : { env: [{ name: 'ENGINE_FAULT', value: JSON.stringify(fault) }] }),
    },
    layout: { tensorParallelDegree: 2, dataParallelDegree: 2 },
    checkpoint: { claimName: 'checkpoints', path: 'runs', everySteps: saveEvery },
    restartPolicy: { maxRestarts: 2, delaySeconds: 0 },
    terminationGracePeriodSeconds: 10,
    ...overrides,
  });
}

/** A real GPT on four ranks, small enough for two cores. */
export function gptSpec(overrides: Partial<TrainingJobSpecInput> = {}): TrainingJobSpec {
  return TrainingJobSpec.parse({
    engine: { name: 'reference', image: LOCAL_IMAGES.reference },
    model: { layers: 2, hiddenSize: 64, attentionHeads: 4, sequenceLength: 64 },
    training: {
      steps: 30,
      globalBatchSize: 8,
      microBatchSize: 2,
      learningRate: 0.002,
      warmupSteps: 3,
      precision: 'fp32',
    },
    data: { claimName: 'corpus', path: 'logbook.txt' },
    layout: { tensorParallelDegree: 2, dataParallelDegree: 2 },
    checkpoint: { claimName: 'checkpoints', everySteps: 10 },
    restartPolicy: { maxRestarts: 2, delaySeconds: 0 },
    ...overrides,
  });
}

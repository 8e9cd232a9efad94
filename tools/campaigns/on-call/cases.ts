import { TrainingJobSpec } from '@coxswain/api-types';

/** A sick job, and what a person on call must read about it. */
export interface SickJob {
  readonly name: string;
  /** What is wrong, in a few words. */
  readonly truth: string;
  /** State that the job reaches. */
  readonly state: RegExp;
  /** What `summary`, cause, advice or incidents say then. */
  readonly says: RegExp;
  readonly blame?: string;
  readonly command?: readonly string[];
  readonly steps?: number;
}

/** Ten kinds; `docs/reference/hour-on-call.md` has how they were judged first. */
export const SICK_JOBS: readonly SickJob[] = [
  {
    name: 'hard-world',
    truth: 'the program waits for 8 ranks; the job has 4',
    state: /Restarting|Running|Starting/,
    says: /world size of the program is WORLD_SIZE/,
  },
  {
    name: 'dead-prefetcher',
    truth: 'a thread of rank 1 died, and its main thread waits for it',
    state: /Starting/,
    says: /Rank 1 stands out, in .*Queue\.get/,
  },
  {
    name: 'killed-worker',
    truth: 'a pool worker of rank 2 was killed, and `map` waits',
    state: /Starting/,
    says: /Rank 2 stands out, in .*ApplyResult/,
  },
  {
    name: 'other-version',
    truth: 'rank 3 has another model',
    state: /Failed/,
    says: /rank 3 has inconsistent 6 params/,
    blame: 'program',
  },
  {
    name: 'not-a-number',
    truth: 'the loss is NaN, and the program exits with 0',
    state: /Failed/,
    says: /The exit code hides an error: the loss is not a number: step 60\/60 loss nan/,
    steps: 60,
  },
  {
    name: 'caught',
    truth: 'exit code 0 hides a ValueError at step 30',
    state: /Failed/,
    says: /The exit code hides an error: ValueError: optimizer got an empty parameter list/,
    blame: 'program',
    steps: 200,
  },
  {
    name: 'poisoned',
    truth: 'batch 47 cannot be read in any attempt',
    state: /Failed/,
    says: /struct\.error: unpack requires a buffer of 4 bytes/,
    blame: 'program',
  },
  {
    name: 'background',
    truth: 'the shell does not wait for the program',
    state: /Failed/,
    says: /ended while it had not waited for python3/,
    command: ['bash', '-c', 'python3 -u /coxswain/data/sick.py background & echo training started; sleep 1'],
  },
  {
    name: 'instruction',
    truth: 'the CPU does not have an instruction of the image',
    state: /Failed/,
    says: /Check for which CPUs the image and its wheels are built/,
    blame: 'unknown',
  },
  {
    name: 'index-beside-data',
    truth: 'the program writes into its read-only data',
    state: /Failed/,
    says: /caches and indexes belong on scratch/,
    blame: 'program',
  },
];

/** The spec of the job: four ranks on two nodes. */
export function specOf({ name, command, steps }: SickJob): TrainingJobSpec {
  return TrainingJobSpec.parse({
    engine: {
      name: 'command',
      image: 'coxswain/engine-reference:dev',
      command: command ?? ['python3', '-u', '/coxswain/data/sick.py', name],
    },
    layout: { dataParallelDegree: 4 },
    resources: { gpusPerNode: 2, cpuPerGpu: '100m', memoryPerGpu: '64Mi' },
    data: { claimName: 'corpus', path: '' },
    checkpoint: { claimName: 'checkpoints', path: name, everySteps: 1000 },
    restartPolicy: { maxRestarts: 2, delaySeconds: 0 },
    terminationGracePeriodSeconds: 5,
    ...(steps === undefined ? {} : { training: { steps, globalBatchSize: 8, microBatchSize: 2, learningRate: 0.001 } }),
  });
}

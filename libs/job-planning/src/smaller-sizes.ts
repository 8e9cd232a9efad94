/** What smaller numbers of GPUs depend on. */
interface Divided {
  readonly gpus: number;
  readonly minGpus: number;
  /** Copies of the model at `gpus`. */
  readonly dataParallelDegree: number;
  readonly globalBatchSize: number;
}

/**
 * Smaller numbers of GPUs, most first: fewer copies of the model that divide the batch, and halves of all GPUs. Whether a layout exists for them is for the
 * planner to say.
 */
export function smallerSizes({ gpus, minGpus, dataParallelDegree, globalBatchSize }: Divided): readonly number[] {
  const ofCopies = Array.from({ length: Math.max(0, dataParallelDegree - 1) }, (_, index) => index + 1)
    .filter((copies) => globalBatchSize % copies === 0)
    .map((copies) => (gpus / dataParallelDegree) * copies);
  const halves = Array.from({ length: Math.ceil(Math.log2(gpus)) }, (_, index) => gpus / 2 ** (index + 1));
  return [...new Set([...ofCopies, ...halves])]
    .filter((fewer) => Number.isInteger(fewer) && fewer >= minGpus)
    .sort((one, other) => other - one);
}

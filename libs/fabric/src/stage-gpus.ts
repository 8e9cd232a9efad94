/** For which type of GPU are the stages of a pipeline meant, where not all are for one? */
/** So many consecutive stages on nodes whose type of GPU is called that. */
export interface StageGpus {
  readonly stages: number;
  readonly gpuType: string;
}

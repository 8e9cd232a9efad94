/** The options with which a program of the Megatron family divides its ranks. */

const OPTIONS: Readonly<Record<string, 'tensorParallelDegree' | 'pipelineParallelDegree' | 'contextParallelDegree'>> = {
  '--tensor-model-parallel-size': 'tensorParallelDegree',
  '--pipeline-model-parallel-size': 'pipelineParallelDegree',
  '--context-parallel-size': 'contextParallelDegree',
};
type Degrees = { readonly [Key in (typeof OPTIONS)[string]]?: number };

/** Degrees above 1 that the words name, and their product; none where they do not divide the ranks, or there are none. */
export function megatronDegrees(
  words: readonly string[],
  ranks: number,
): { readonly degrees: Degrees; readonly product: number } {
  const entries = words.flatMap((word, index) => {
    const [, option = word, inline] = /^(--[\w-]+)=(.*)$/.exec(word) ?? [];
    const field = Object.hasOwn(OPTIONS, option) ? OPTIONS[option] : undefined;
    const degree = Number(inline ?? words[index + 1]);
    return field !== undefined && Number.isSafeInteger(degree) && degree > 1 ? [[field, degree] as const] : [];
  });
  const degrees: Degrees = Object.fromEntries(entries);
  const product = Object.values(degrees).reduce((sofar, degree) => sofar * degree, 1);
  return ranks % product === 0 ? { degrees, product } : { degrees: {}, product: 1 };
}

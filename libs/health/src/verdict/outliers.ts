/** Ranks of an idle gang that differ from the others, and a sentence on how; no ranks and no sentence if none does. */
export interface Outliers {
  readonly ranks: readonly number[];
  readonly why: string;
}

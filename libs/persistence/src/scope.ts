/** Whose rows work may touch: of one cluster those of some projects, mostly one, or (administrators) all of them. Nothing stands for "any cluster". */
export interface Scope {
  readonly clusterId: string;
  /** Who asks: a principal's own rows are shown to that principal alone. */
  readonly principalId: string;
  readonly reach: { readonly kind: 'projects'; readonly ids: readonly string[] } | { readonly kind: 'cluster' };
}

/** In place of a principal: rows of a principal are not seen, and work counts for its project alone. */
export const NO_PRINCIPAL = '00000000-0000-0000-0000-000000000000';

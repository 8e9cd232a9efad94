/** Most ranks of one pod: more GPUs than a node has, and as many as one report of a launcher may tell of. */
export const MAX_RANKS_PER_POD = 16;

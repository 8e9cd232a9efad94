/** Most ranks of one pod: more GPUs than a node has, and as many as fit one report of a launcher. */
export const MAX_RANKS_PER_POD = 16;

/** How much may be asked of running jobs so that a waiting one starts? The numbers of the administrator. */

/** Limits of claims. Seconds unless the name says otherwise. */
export interface ClaimRules {
  /** A gang is protected at least so long after its start. */
  readonly leastProtectedSeconds: number;
  /** It is protected for that many times the cost of one more start, so that making room costs at most that part of its time. */
  readonly protectedStarts: number;
  /** Upper limit of the time in which a gang saves and ends, whatever grace period its job states. */
  readonly longestDeadlineSeconds: number;
  /** Time for the save that is asked for, before the deadline begins. */
  readonly saveSeconds: number;
  /** How long a claim lasts beyond the longest save and deadline: pods end, and lost nodes are fenced. */
  readonly slackSeconds: number;
  /** What another layout adds to a restart: its checkpoint is divided anew. */
  readonly reshardSeconds: number;
  /** A gang that made room so often in the last day does so only for a higher priority than before. */
  readonly mostInADay: number;
  readonly mostVictims: number;
  /** Share of all GPUs that the victims of all standing claims may give up. One claim that stands alone may ask for more. */
  readonly mostShare: number;
}

/** The numbers unless the administrator states others. */
export const DEFAULT_CLAIM_RULES: ClaimRules = {
  leastProtectedSeconds: 900,
  protectedStarts: 10,
  longestDeadlineSeconds: 900,
  saveSeconds: 600,
  slackSeconds: 300,
  reshardSeconds: 60,
  mostInADay: 3,
  mostVictims: 64,
  mostShare: 0.1,
};

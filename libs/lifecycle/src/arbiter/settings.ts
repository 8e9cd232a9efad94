/** Bounds on unrequested ends, each with its reason. */
export const ARBITER_SETTINGS = {
  /**
   * Ends of one cause count together for this time. A gang that was ended trains again within two minutes, so a cause that the end did not remove shows
   * itself well within it.
   */
  windowMs: 300_000,
  /**
   * Largest share of all gangs that is ended for one cause within a window, and at least one gang. A node in a hundred fails a month, so more than a tenth
   * of all gangs at once has a common cause. Notices come from the provider and are seldom wrong: half of the gangs may move at once. A wrong
   * PriorityClass could make many jobs ask others to make room. Such gangs save first, so a quarter of all gangs is the limit for them.
   */
  share: { hang: 0.1, slow: 0.1, leaving: 0.5, growth: 0.1, room: 0.25 },
  /** Gangs of one claim or switch that stand still together and have a common cause: two nodes seldom fail within a minute. */
  leastOfPlace: 2,
  /** Gangs of the whole cluster that have a common cause if they are also more than the share. Fewer gangs of a small cluster may fail by chance. */
  leastOfCluster: 3,
  /** Stalls that began this close to each other began together: as long as a wait lasts before it ends a gang at the earliest. */
  togetherMs: { hang: 60_000, slow: 300_000 },
  /** A stall with a common cause is held for this time: PyTorch's watchdog ends such a gang after ten minutes. After it, one gang ends. */
  holdMs: 600_000,
  /** Others with that common cause end when this gang trains again, and otherwise after this time: a start and a search for GPUs take minutes. */
  probeMs: 1_800_000,
  /** How long before the announced time a gang leaves a node although nothing has room: time to stop and save beyond its grace period. */
  leaveLatestMs: 120_000,
  /** A held end is judged again after this time, if nothing else leads to it. */
  judgeAgainMs: 10_000,
  /** What a held end stands on is read again this often. A hold of hours would otherwise outlive its cause. */
  readAgainMs: 60_000,
} as const;

type Numbers<T> = { readonly [Key in keyof T]: T[Key] extends number ? number : Numbers<T[Key]> };
/** Bounds of {@link ARBITER_SETTINGS}. */
export type ArbiterSettings = Numbers<typeof ARBITER_SETTINGS>;

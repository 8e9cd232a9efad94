/** Index of pods, placements and checkpoints by the UID of their job. */
export const BY_JOB = 'job';
/** Index of jobs by UID. */
export const BY_UID = 'uid';
/** Index of jobs by the checkpoints that they name, as `namespace/name`. */
export const BY_RESUME = 'resume';
/** Index of jobs by the UIDs of the jobs that are to make room for them. */
export const BY_VICTIM = 'victim';
/** Index of the pods of gangs that do not run yet, by the UID of their job, and those that have a node under {@link ALL_STARTING}. */
export const STARTING = 'starting';
export const ALL_STARTING = '*';
/** Index of gang pods by the node that they are bound to. */
export const BY_NODE = 'node';

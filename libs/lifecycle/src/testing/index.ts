export { aCapacity, aCheckpoint, anExit, aNode, aPlacement, aPod, observe } from './builders.ts';
export { plannedAnswer } from './planned-answer.ts';
export { GPUS_PER_POD, SharedCluster } from './shared-cluster.ts';
export { crash, live, settleWithAnswers, staleObservation, storyOf } from './stories.ts';
export { LAGGING, World } from './world.ts';
export type { WorldFault } from './world.ts';

/** Preflight: which pods measure each other before ranks start, and which node a finding blames. */
export { measuredPairs } from './bandwidth.ts';
export { preflightOfGang } from './gang.ts';
export { judgePreflight } from './judge.ts';
export type { Judgement, ObservedPod } from './judgement.ts';
export { confirmingPeersOf, firstPeersOf } from './pairs.ts';

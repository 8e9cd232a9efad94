/** Before ranks start: which pods measure each other, and whose node is to blame for what was found? */
export { measuredPairs } from './bandwidth.ts';
export { preflightOfGang } from './gang.ts';
export { judgePreflight } from './judge.ts';
export type { Judgement, LookedAtPod } from './judgement.ts';
export { confirmingPeersOf, firstPeersOf } from './pairs.ts';

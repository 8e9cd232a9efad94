export { brokenLayoutRules, layoutRefusal } from './layout-refusal.ts';
export { degreesOf } from './reference-layout.ts';
export { engineRefusal, renderRank } from './render-rank.ts';

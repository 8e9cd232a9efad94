export { engineRefusal, renderRank } from './render-rank.ts';
export type { RankContext, RenderedRank } from './render-rank.ts';

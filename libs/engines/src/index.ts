export { brokenLayoutRules, layoutRefusal } from './layout-refusal.ts';
export { modelOfJob, modelRefusals } from './model-of-job.ts';
export { degreesOf } from './reference-layout.ts';
export { engineRefusal, renderEngine } from './render-engine.ts';
export { plainly, type RenderedEngine } from './rendering.ts';

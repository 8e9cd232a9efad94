export { contextOfPlacement } from './answered-rendering.ts';
export { askedRendering } from './asked-rendering.ts';
export { engineList, isEngineName } from './engine-list.ts';
export { ENGINE_GUIDES } from './engine-guides.ts';
export { brokenLayoutRules, layoutRefusal } from './layout-refusal.ts';
export { modelOfJob, modelRefusals } from './model-of-job.ts';
export { degreesOf } from './reference-layout.ts';
export { engineRefusal, renderEngine } from './render-engine.ts';
export { plainly, type RenderedEngine } from './rendering.ts';

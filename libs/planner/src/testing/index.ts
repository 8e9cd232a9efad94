export { aPlan, aPlanAnswer, aPrediction, aStageMemory } from './plan-answers.ts';

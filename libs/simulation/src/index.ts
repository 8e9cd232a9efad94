/** What would weeks on so many GPUs be like, failures and all? Seeded discrete events that drive the real rules on virtual time. */
export type { FailurePresetName } from './presets/failures.ts';
export type { ResponseName } from './presets/responses.ts';
export type { SimulationQuestion } from './report/questions.ts';
export { runsOf, simulate } from './report/simulate.ts';
export type { SimulationReport } from './report/simulate.ts';

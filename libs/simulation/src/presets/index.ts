/** The presets alone, for programs that list them without loading the simulation. */
export { FAILURES } from './failures.ts';
export { RESPONSES } from './responses.ts';

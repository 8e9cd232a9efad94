import type { EngineGuide } from '../engine-guide.ts';

const PLACEHOLDER = 'its name in braces, as in {layout.tensorParallelDegree}; and job.json';

/** The guide of engine `custom`. */
export const CUSTOM_GUIDE: EngineGuide = {
  fields: [
    { field: 'engine.command', to: 'the program', note: 'its arguments can hold placeholders; {{ and }} are braces' },
    { field: 'engine.args', to: 'its arguments', note: 'likewise; $(NAME) is a variable of the rank' },
    { field: 'engine.env', to: 'its environment' },
    {
      field: 'layout',
      to: PLACEHOLDER,
      note: 'layout.worldSize is the number of ranks; degrees that are absent are 1',
    },
    { field: 'model', to: PLACEHOLDER, note: 'with the sizes that a preset or config.json has' },
    {
      field: 'training',
      to: PLACEHOLDER,
      note: 'training.accumulationSteps is the forward passes of a step on one rank',
    },
    { field: 'data', to: PLACEHOLDER, note: 'paths are those inside the container' },
    { field: 'initialWeights', to: PLACEHOLDER },
    { field: 'checkpoint.everySteps', to: PLACEHOLDER },
  ],
  traps: [
    {
      what: 'A program may read less of the layout than the planner and the rules of layouts believe.',
      answer: 'A note names each field that no placeholder mentions; the hook reports what the ranks train.',
      source: 'libs/engines/src/adapters/custom.ts',
    },
  ],
};

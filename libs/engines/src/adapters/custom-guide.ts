import type { EngineGuide } from '../engine-guide.ts';

const PLACEHOLDER = 'its name in braces, as in {layout.tensorParallelDegree}; and job.json';

export const CUSTOM_GUIDE: EngineGuide = {
  words: [
    { word: 'engine.command', to: 'the program', note: 'its words may hold placeholders; {{ and }} are braces' },
    { word: 'engine.args', to: 'its arguments', note: 'likewise; $(NAME) is a variable of the rank' },
    { word: 'engine.env', to: 'its environment' },
    { word: 'layout', to: PLACEHOLDER, note: 'layout.worldSize is the number of ranks; degrees that are absent are 1' },
    { word: 'model', to: PLACEHOLDER, note: 'with the sizes that a preset or config.json has' },
    {
      word: 'training',
      to: PLACEHOLDER,
      note: 'training.accumulationSteps is the forward passes of a step on one rank',
    },
    { word: 'data', to: PLACEHOLDER, note: 'paths are those inside the container' },
    { word: 'initialWeights', to: PLACEHOLDER },
    { word: 'checkpoint.everySteps', to: PLACEHOLDER },
  ],
  traps: [
    {
      what: 'A program may read less of the layout than the planner and the rules of layouts believe.',
      answer: 'A note names each word that no placeholder mentions; the hook tells what is really trained.',
      source: 'libs/engines/src/adapters/custom.ts',
    },
  ],
};

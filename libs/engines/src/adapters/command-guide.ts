import type { EngineGuide } from '../engine-guide.ts';

export const COMMAND_GUIDE: EngineGuide = {
  words: [
    { word: 'engine.command', to: 'the program', note: 'as it is given; a dollar sign stands for itself' },
    { word: 'engine.args', to: 'its arguments' },
    { word: 'engine.env', to: 'its environment' },
  ],
  traps: [
    {
      what: 'The program is told nothing of model, training and layout: the planner and the rules of layouts are.',
      answer: 'Say it in engine.args, or use engine custom, whose arguments hold placeholders.',
      source: 'libs/engines/src/adapters/command.ts',
    },
  ],
};

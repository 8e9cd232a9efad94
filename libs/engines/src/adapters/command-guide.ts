import type { EngineGuide } from '../engine-guide.ts';

/** The guide of engine `command`. */
export const COMMAND_GUIDE: EngineGuide = {
  fields: [
    { field: 'engine.command', to: 'the program', note: 'as it is given; a dollar sign stands for itself' },
    { field: 'engine.args', to: 'its arguments' },
    { field: 'engine.env', to: 'its environment' },
  ],
  traps: [
    {
      what: 'The program receives nothing of model, training and layout; only the planner and the layout rules read them.',
      answer: 'Give it in engine.args, or use engine custom, whose arguments can hold placeholders.',
      source: 'libs/engines/src/adapters/command.ts',
    },
  ],
};

/** Facts of an engine: supported options, and how it is started. */
import { z } from 'zod';
import { RANK_STARTERS } from './engine-run.ts';

const words = z.array(z.string());

const EngineAbilities = z
  .object({
    source: z.string().describe('Where the rest was read.'),
    options: words.describe('Of a layout, dotted; one with parts stands for all of them.'),
    schedules: words,
    vocabularies: words.describe('Where the vocabulary layers of a pipeline can be.'),
    contextAlgorithms: words,
    dynamic: words.describe('Ways to divide samples of unlike lengths.'),
    zeroStages: z.array(z.int().min(0).max(3)),
    optimizers: words,
    offloads: words,
    expertTensor: z.boolean(),
    dispatchers: words,
    balances: words,
    attention: words,
    precisions: words,
    checkpointFormats: words,
  })
  .meta({ id: 'EngineAbilities' });

/** An engine and what it supports. */
export const Engine = z
  .object({
    name: z.string(),
    startsJobs: z.boolean().describe('false: layouts for it are checked and planned, and no job can name it.'),
    releases: words.describe('Those that can be rendered, the newest first; none of a program of your own.'),
    startedBy: z.array(z.enum(RANK_STARTERS)).describe('Programs that may start the ranks; the first is the default.'),
    needsCommand: z.boolean().describe('Whether a job has to give its program.'),
    takesRecipe: z.boolean().describe('Whether a function of the engine may give a configuration to begin with.'),
    abilities: EngineAbilities,
  })
  .meta({ id: 'Engine' });
export type Engine = z.infer<typeof Engine>;

/** All engines. */
export const EngineList = z.object({ items: z.array(Engine) }).meta({ id: 'EngineList' });
export type EngineList = z.infer<typeof EngineList>;

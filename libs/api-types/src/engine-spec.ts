/** The engine that trains, its image, and options that are passed to it unchanged. */
import { EngineOption } from '@coxswain/layout';
import { z } from 'zod';
import { cel, type CelRule } from './cel.ts';
import { ENGINE_NAMES, ENGINE_RELEASES, type EngineName } from './engine-names.ts';
import { ENGINE_CHECKPOINTS, RANK_STARTERS, STEP_LINES } from './engine-run.ts';
import { EnvName } from './field-names.ts';
import { SecretFiles, SecretVariables } from './secret-references.ts';

const EnvVar = z.strictObject({
  name: EnvName.describe('Name of the variable.'),
  value: z.string().max(4096).describe('Its value.'),
});
/** Fields of an engine without the rules between them. */
export const EngineFields = z.strictObject({
  name: z
    .enum(ENGINE_NAMES)
    .describe(
      'reference: the PyTorch GPT of this project. megatron-lm, megatron-bridge, torchtitan, deepspeed, hugging-face: that engine. Coxswain translates layout and training options to its arguments. custom: your own program. Its arguments contain placeholders for these options. command: any program, started unchanged.',
    ),
  image: z
    .string()
    .min(1)
    .max(512)
    .optional()
    .describe('Container image; it needs glibc, and no Node.js. Absent: that of the runtime.'),
  command: z
    .array(z.string().max(4096))
    .min(1)
    .max(64)
    .optional()
    .describe(
      'Program of one rank. Required for command, custom, deepspeed and hugging-face; absent, megatron-lm, megatron-bridge and torchtitan start their own.',
    ),
  release: z
    .string()
    .min(1)
    .max(64)
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)
    .optional()
    .describe(
      'Release of the engine in the image, such as core_v0.16.1 of megatron-lm. Absent: the newest that is known (docs/reference/engines.md).',
    ),
  recipe: z
    .string()
    .max(256)
    .regex(/^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$/, 'must be module:function')
    .optional()
    .describe(
      'Function of the engine that returns the initial configuration, as module:function (torchtitan, megatron-bridge).',
    ),
  startedBy: z
    .enum(RANK_STARTERS)
    .optional()
    .describe(
      'Program that starts the ranks. launcher: the Coxswain launcher starts each rank, and reports their ends most precisely. torchrun, ft_launcher: that program, once per pod. Absent: launcher.',
    ),
  stepLines: z
    .enum(STEP_LINES)
    .optional()
    .describe(
      'For command and custom: the format of the step lines in the log. Absent: plain, any line that names a loss, such as `step 10 loss 2.31 lr 1e-4`. Other engines have their own.',
    ),
  checkpointFormat: z
    .enum(ENGINE_CHECKPOINTS)
    .optional()
    .describe(
      'For command and custom: the format in which the program saves. Absent: the program reports its checkpoints itself.',
    ),
  args: z
    .array(z.string().max(4096))
    .max(256)
    .optional()
    .describe('Appended to the arguments that the engine adapter renders.'),
  options: z
    .array(EngineOption)
    .max(256)
    .optional()
    .describe(
      'Options of the engine or of your fork by their own names, such as ddp.bucket_size of megatron-bridge or zero_optimization.reduce_bucket_size of deepspeed. What sets a field of layout or training is read into it; what contradicts one is refused; the rest is passed through and not priced.',
    ),
  env: z
    .array(EnvVar)
    .max(100)
    .optional()
    .describe(
      'Plain values: everyone who may read the job can read them. Put tokens and passwords into secretEnv or secretFiles.',
    ),
  secretEnv: SecretVariables.optional(),
  secretFiles: SecretFiles.optional(),
});
type Fields = z.infer<typeof EngineFields>;

/** A rule over several fields, as CEL for the API server and as a function. */
interface EngineRule {
  readonly field: keyof Fields;
  /** In CEL; true where the rule is kept. */
  readonly cel: string;
  readonly isKept: (engine: Fields) => boolean;
  readonly message: string;
}

/** Engines whose program only the user knows. */
export const ENGINES_WITHOUT_PROGRAM: readonly EngineName[] = ['command', 'custom', 'deepspeed', 'hugging-face'];
/** Engines that a function of theirs configures. */
export const ENGINES_WITH_RECIPES: readonly EngineName[] = ['torchtitan', 'megatron-bridge'];
/** Engines whose options Coxswain renders. */
export const ENGINES_WITH_OPTIONS: readonly EngineName[] = [
  'megatron-lm',
  'megatron-bridge',
  'torchtitan',
  'deepspeed',
  'hugging-face',
];
/** Engines whose log lines and checkpoint formats are unknown to Coxswain. */
const ENGINES_OF_THE_USER: readonly EngineName[] = ['command', 'custom'];
const RELEASED = ENGINE_NAMES.filter((name) => ENGINE_RELEASES[name].length > 0);

/** The field is for these engines alone. */
function onlyOf(field: keyof Fields, engines: readonly EngineName[], instead: string): EngineRule {
  return {
    field,
    cel: `!has(self.${field}) || self.name in ${listed(engines)}`,
    isKept: (engine) => engine[field] === undefined || engines.includes(engine.name),
    message: `${field} is for ${engines.length === 1 ? 'engine' : 'engines'} ${engines.join(', ')}; ${instead}`,
  };
}

function releaseRule(name: EngineName): EngineRule {
  const known = ENGINE_RELEASES[name];
  return {
    field: 'release',
    cel: `self.name != '${name}' || !has(self.release) || self.release in ${listed(known)}`,
    isKept: (engine) => engine.name !== name || engine.release === undefined || known.includes(engine.release),
    message: `release of ${name} is one of ${known.join(', ')}; name the nearest to the one in your image, or start the program by engine custom`,
  };
}

function listed(words: readonly string[]): string {
  return `[${words.map((word) => `'${word}'`).join(', ')}]`;
}

/** The engine does it in one way only. */
function notOf(field: keyof Fields, name: EngineName, message: string): EngineRule {
  return {
    field,
    cel: `self.name != '${name}' || !has(self.${field})`,
    isKept: (engine) => engine.name !== name || engine[field] === undefined,
    message,
  };
}

const RULES: readonly EngineRule[] = [
  {
    field: 'command',
    cel: `!(self.name in ${listed(ENGINES_WITHOUT_PROGRAM)}) || has(self.command)`,
    isKept: ({ name, command }) => command !== undefined || !ENGINES_WITHOUT_PROGRAM.includes(name),
    message: `command is required by engines ${ENGINES_WITHOUT_PROGRAM.join(', ')}; give the program of one rank`,
  },
  notOf('command', 'reference', 'reference starts its own program; leave command out, or set name to command'),
  onlyOf('recipe', ENGINES_WITH_RECIPES, 'leave it out'),
  onlyOf('options', ENGINES_WITH_OPTIONS, 'give them to the program in args'),
  onlyOf('release', RELEASED, 'leave it out: the image decides what runs'),
  ...RELEASED.map(releaseRule),
  notOf('startedBy', 'reference', 'reference is started rank by rank, by the launcher; leave startedBy out'),
  onlyOf('stepLines', ENGINES_OF_THE_USER, 'the lines of others are known'),
  onlyOf('checkpointFormat', ENGINES_OF_THE_USER, 'of others it is known what they save'),
  {
    field: 'secretEnv',
    cel: '!has(self.env) || !has(self.secretEnv) || !self.secretEnv.exists(one, self.env.exists(other, other.name == one.name))',
    isKept: ({ env = [], secretEnv = [] }) => !secretEnv.some(({ name }) => env.some((one) => one.name === name)),
    message: 'a variable is given either in env or in secretEnv, not in both',
  },
];

/** {@link EngineFields} with the rules between them, for the API server (CEL) and for zod. */
export const EngineSpec = EngineFields.meta({
  id: 'EngineSpec',
  ...cel(...RULES.map(({ field, cel: rule, message }): CelRule => ({ rule, message, fieldPath: `.${field}` }))),
}).superRefine((engine, context) => {
  for (const { field, isKept, message } of RULES) {
    if (!isKept(engine)) context.addIssue({ code: 'custom', path: [field], message });
  }
});
export type EngineSpec = z.infer<typeof EngineSpec>;

/** The engine of an imported program: its words as they are, and a layout with what they say about the division of ranks. */
import type { TrainingJobSpecInput } from '@coxswain/api-types';
import { degreesOfVariables, spelledDegrees } from './degree-spellings.ts';
import { type DeepSpeedFile, deepSpeedFile } from './deepspeed-file.ts';
import { readLayout, type ReadLayout } from './degrees.ts';
import type { ReportLine } from './import-report.ts';
import { offloadLines, offloadOptions } from './offload-lines.ts';
import { packingLines, packingOptions } from './packing-lines.ts';
import { oldVariableLines } from './old-variables.ts';
import { readScript, shellText, UNKNOWN } from './shell-script.ts';

type EngineInput = TrainingJobSpecInput['engine'];
type Variables = readonly { readonly name: string; readonly value: string }[];

/** A program, and what is known of its gang. */
export interface ImportedProgram {
  readonly words: readonly string[];
  readonly variables: Variables;
  readonly ranks: number;
  readonly ranksPerNode?: number;
  /** Where the program stands in what is imported. */
  readonly from: string;
  /** Reads a file that lies beside what is imported; undefined if there is none. */
  readonly readBeside?: ((path: string) => unknown) | undefined;
}

/** Fields of a job, and the lines of the report that they need. */
export interface ImportedEngine {
  readonly engine: Pick<EngineInput, 'name' | 'command' | 'args' | 'stepLines'>;
  readonly layout: ReadLayout['layout'];
  readonly lines: readonly ReportLine[];
}

/** Most words of `engine.command`; what is more goes to `engine.args`. */
const MAX_COMMAND = 64;

/** Reads a program. */
export function importedEngine(program: ImportedProgram): ImportedEngine {
  const { words, variables, ranks, ranksPerNode, from, readBeside } = program;
  const tokens = tokensOf(words, variables);
  const file = deepSpeedFile(tokens, readBeside);
  const spelled = [...degreesOfVariables([...variables, ...(file?.degrees ?? [])]), ...spelledDegrees(tokens)];
  const { layout, isBeyondDegrees, problems } = readLayout(spelled, ranks, ranksPerNode);
  const name = isBeyondDegrees ? 'custom' : 'command';
  const written = isBeyondDegrees ? words.map(withoutPlaceholders) : words;
  const [command, args] = [written.slice(0, MAX_COMMAND), written.slice(MAX_COMMAND)];
  const stepLines = stepLinesOf(tokens);
  return {
    engine: {
      name,
      command: [...command],
      ...(args.length === 0 ? {} : { args: [...args] }),
      ...(stepLines === undefined ? {} : { stepLines }),
    },
    layout,
    lines: [
      ...problems.map((problem): ReportLine => ({ outcome: 'changed', to: 'layout', ...problem })),
      ...(file?.lines ?? []),
      ...configurationLines(
        tokens.filter((token, index) => !isNamed(file, token, tokens[index + 1])),
        spelled.length,
      ),
      ...registeredLines(tokens, spelled.length),
      ...offloadLines(offloadOptions(tokens)),
      ...packingLines(packingOptions(tokens)),
      ...oldVariableLines(from, [...words, ...variables.map(({ value }) => value)], variables),
    ],
  };
}

/** The words of the program; those of a script with its variables replaced, as far as the job knows them. */
export function tokensOf(words: readonly string[], variables: Variables): readonly string[] {
  const known = new Map(variables.map(({ name, value }) => [name, value]));
  const [shell = ''] = words;
  const flags = words.slice(1).findIndex((word) => !/^-[a-z]+$/.test(word) || word.endsWith('c'));
  const [flag = '', script] = words.slice(flags + 1);
  if (/(?:^|\/)(?:ba|da|z|a)?sh$/.test(shell) && /^-\w*c$/.test(flag) && script !== undefined) {
    const inner = readScript(script, known).commands.flatMap(({ words: one }) =>
      one[0] === 'exec' ? one.slice(1) : one,
    );
    return [...inner.map(shellText), ...words.slice(flags + 3)];
  }
  return words.map((word) => replaced(word, known));
}

/** `$(NAME)` as Kubernetes replaces it in commands. */
function replaced(word: string, known: ReadonlyMap<string, string>): string {
  return shellText(
    word.replaceAll(/\$\((\w+)\)/g, (whole, name: string) => known.get(name) ?? whole).replaceAll(UNKNOWN, '$'),
  );
}

const PLACEHOLDER = /\{\{|\}\}|\{[A-Za-z]+(?:\.[A-Za-z0-9]+)*\}/;

/** Engine custom fills placeholders in braces: an imported word means its braces. */
function withoutPlaceholders(word: string): string {
  return PLACEHOLDER.test(word) ? word.replaceAll('{', '{{').replaceAll('}', '}}') : word;
}

const STEP_LINES: readonly (readonly [RegExp, NonNullable<EngineInput['stepLines']>])[] = [
  [/(?:^|\/)pretrain_(?:gpt|llama|mamba|bert|t5|vlm|ict|retro)\w*\.py$/, 'megatron'],
  [/^torchtitan(?:\.|$)/, 'torchtitan'],
];

function stepLinesOf(tokens: readonly string[]): EngineInput['stepLines'] {
  return STEP_LINES.find(([form]) => tokens.slice(0, 8).some((token) => form.test(token)))?.[1];
}

/** Options that name a file in which degrees may stand, by program. */
const CONFIGURATION =
  /^--?(?:job[._-]config[._-]file|config[-_]?file|config[-_]?name|config[-_]?path|config|cfg|deepspeed(?:_config)?|ds_config|conf_dir|recipe)(?:=|$)/;

/** Whether the word is the option that names the file. */
function isNamed(file: DeepSpeedFile | undefined, word: string, next: string | undefined): boolean {
  return file !== undefined && word.startsWith('--') && (next === file.path || word.endsWith(`=${file.path}`));
}

/** A line if the degrees may stand in a file that is not part of what is imported. */
function configurationLines(tokens: readonly string[], spelled: number): readonly ReportLine[] {
  return tokens.flatMap((token, index): ReportLine[] => {
    if (!CONFIGURATION.test(token)) return [];
    const [, inline] = /=([^]*)$/.exec(token) ?? [];
    const file = inline ?? tokens[index + 1] ?? '';
    if (!/\.(?:ya?ml|toml|json|yml)$/.test(file) && !/config[-_]?name/.test(token)) return [];
    return [
      {
        outcome: 'changed',
        from: `${token}${inline === undefined ? ` ${file}` : ''}`,
        to: 'layout',
        why: `degrees and ZeRO stages may stand in this file, which is not part of what was imported${spelled > 0 ? '; those of the command line are read' : ''}`,
        todo: `see what it says: write its degrees into layout, or run coxswain import ${file.replace(/^.*\//, '') || 'FILE'} for the words; the file itself has to be in the image or in a claim`,
      },
    ];
  });
}

/** TorchTitan's registered configurations hold degrees in the code of the program. */
function registeredLines(tokens: readonly string[], spelled: number): readonly ReportLine[] {
  const at = tokens.findIndex((token) => /^--config(?:=|$)/.test(token));
  if (at < 0 || !tokens.some((token) => /^torchtitan(?:\.|$)/.test(token))) return [];
  const name = /=([^]*)$/.exec(tokens[at] ?? '')?.[1] ?? tokens[at + 1] ?? '';
  if (/\.(?:toml|json|ya?ml)$/.test(name)) return [];
  return [
    {
      outcome: 'changed',
      from: `--config ${name}`,
      to: 'layout',
      why: `degrees may stand in this configuration, which is code of the program${spelled > 0 ? '; those of the command line are read' : ''}`,
      todo: 'see what its parallelism says, and write its degrees into layout',
    },
  ];
}

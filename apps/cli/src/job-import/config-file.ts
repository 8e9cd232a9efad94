/** Configuration files that a program reads: what they say of the gang becomes the job, and the file itself has to be where the program looks for it. */
import { accelerateVariables, isAccelerateVariable, type AccelerateSettings } from './accelerate.ts';
import { degreeField, type SpelledDegree } from './degree-spellings.ts';
import { readLayout } from './degrees.ts';
import type { ImportedJob } from './imported-job.ts';
import type { ReportLine } from './import-report.ts';
import { launchedJob, type LaunchOptions } from './launched-job.ts';
import { offloadLines } from './offload-lines.ts';
import { packingLines } from './packing-lines.ts';
import { lineProgram, type RankProgram } from './program.ts';
import { shownLayout } from './shown-layout.ts';

/** A kind of configuration, and how its program is started. */
interface Kind {
  readonly title: string;
  readonly isIt: (settings: AccelerateSettings) => boolean;
  /** The program, where everyone starts the same one. */
  readonly program?: (file: string) => string;
  /** Settings that say how many processes there are. */
  readonly processes?: readonly string[];
  readonly nodes?: readonly string[];
  readonly perNode?: readonly string[];
}

const has =
  (...names: readonly string[]) =>
  (settings: AccelerateSettings): boolean =>
    names.every((name) => Object.keys(settings).some((key) => key === name || key.startsWith(`${name}.`)));

const KINDS: readonly Kind[] = [
  {
    title: 'configuration of Accelerate',
    isIt: (settings) => has('distributed_type')(settings) || has('compute_environment')(settings),
    processes: ['num_processes'],
    nodes: ['num_machines'],
  },
  {
    title: 'configuration of GPT-NeoX',
    isIt: (settings) =>
      has('pipe_parallel_size')(settings) ||
      (has('model_parallel_size')(settings) && has('train_micro_batch_size_per_gpu')(settings)),
    program: (file) => `python3 train.py --conf_dir . ${file}`,
  },
  {
    title: 'configuration of TorchTitan',
    isIt: (settings) => has('parallelism')(settings) || (has('job')(settings) && has('training')(settings)),
    program: (file) => `python3 -m torchtitan.train --job.config_file ${file}`,
  },
  {
    title: 'configuration of axolotl',
    isIt: (settings) => has('base_model')(settings),
    program: (file) => `python3 -m axolotl.cli.train ${file}`,
  },
  {
    title: 'configuration of LLM Foundry',
    isIt: (settings) =>
      has('train_loader')(settings) || (has('max_duration')(settings) && has('global_train_batch_size')(settings)),
    program: (file) => `python3 scripts/train/train.py ${file}`,
  },
  {
    title: 'configuration of NeMo',
    isIt: (settings) =>
      has('trainer.num_nodes')(settings) ||
      has('trainer.devices')(settings) ||
      has('model.tensor_model_parallel_size')(settings),
    nodes: ['trainer.num_nodes'],
    perNode: ['trainer.devices'],
  },
  {
    title: 'configuration of DeepSpeed',
    isIt: (settings) =>
      has('zero_optimization')(settings) ||
      has('train_micro_batch_size_per_gpu')(settings) ||
      (has('train_batch_size')(settings) &&
        (has('optimizer')(settings) || has('fp16')(settings) || has('bf16')(settings))),
  },
];

/** Settings with their sections joined by dots; what is no text, number or switch is left out. */
export function flatSettings(value: unknown, path = '', depth = 0): AccelerateSettings {
  if (typeof value !== 'object' || value === null || depth > 16) return {};
  return Object.entries(value).reduce<Record<string, string>>((sofar, [key, inner]: [string, unknown]) => {
    const here = `${path}${key.replaceAll('-', '_')}`;
    if (typeof inner === 'object' && inner !== null && !Array.isArray(inner)) {
      const below = flatSettings(inner, `${here}.`, depth + 1);
      return Object.keys(below).length === 0 ? { ...sofar, [here]: '' } : { ...sofar, ...below };
    }
    const text = Array.isArray(inner) ? inner.filter((one) => typeof one !== 'object').join(' ') : inner;
    return text === null || text === undefined ? sofar : { ...sofar, [here]: String(text) };
  }, {});
}

/** `[section]` and `key = value` of TOML, as far as numbers, texts and switches go. */
export function tomlSettings(text: string): AccelerateSettings {
  const settings: Record<string, string> = {};
  let section = '';
  for (const line of text.split('\n')) {
    const [, table] = /^\s*\[+([\w.-]+)\]+/.exec(line) ?? [];
    if (table !== undefined) section = `${table}.`;
    const [, key, quoted, plain] = /^\s*([\w-]+)\s*=\s*(?:"([^"]*)"|([^#\s]+))/.exec(line) ?? [];
    if (key !== undefined) settings[`${section}${key}`] = quoted ?? plain ?? '';
  }
  return settings;
}

/** Whether it is TOML: a section and an assignment, and no YAML. */
export function isToml(text: string): boolean {
  return /^\s*\[[\w.-]+\]\s*(?:#.*)?$/m.test(text) && /^\s*[\w-]+\s*=\s*\S/m.test(text) && !/^apiVersion:/m.test(text);
}

/** The job of a configuration file; undefined if it is of no kind that is known. */
export function importConfiguration(settings: AccelerateSettings, options: LaunchOptions): ImportedJob | undefined {
  const kind = KINDS.find(({ isIt }) => isIt(settings));
  if (kind === undefined) return undefined;
  const spelled = degreesIn(kind, settings);
  const first = (names: readonly string[] = []): number | undefined =>
    names.map((name) => Number(settings[name])).find((count) => Number.isSafeInteger(count) && count > 0);
  const written = Object.entries(settings).map(([key, value]) => ({ name: key, value, written: `${key}: ${value}` }));
  const nodes = options.nodes ?? first(kind.nodes) ?? 1;
  const processes = first(kind.processes);
  const least = leastRanks(spelled);
  const perNode =
    options.gpusPerNode ??
    first(kind.perNode) ??
    (processes === undefined || processes % nodes !== 0 ? undefined : processes / nodes);
  const ranks = perNode ?? Math.min(8, Math.max(least, 1));
  const count =
    perNode === undefined && options.nodes === undefined ? Math.max(nodes, Math.ceil(least / ranks)) : nodes;
  const { program, lines } = programOf(kind, options);
  const made = launchedJob(
    {
      program: { ...program, env: [...program.env, ...variablesOf(kind, settings)] },
      name: options.name ?? nameOf(options.file),
      nodes: count,
      ranksPerNode: ranks,
      from: 'the program',
    },
    options,
    [
      ...lines,
      ...stageFile(kind, settings),
      ...(perNode === undefined
        ? [
            {
              outcome: 'changed',
              from: 'number of GPUs',
              to: `layout for ${count} x ${ranks} ranks`,
              why: `a ${kind.title} does not give it; this is the least that its degrees allow`,
              todo: 'import again with --gpus-per-node N and --nodes N',
            } as const,
          ]
        : []),
      ...unreadLines(kind, settings),
      ...offloadLines(written),
      ...packingLines(written),
    ],
  );
  return withDegrees(made, spelled, { nodes: count, ranksPerNode: ranks });
}

/** Degrees of the file; the command line of its program does not have them. */
function degreesIn({ title }: Kind, settings: AccelerateSettings): readonly SpelledDegree[] {
  const isDeepSpeed = / (?:DeepSpeed|GPT-NeoX)$/.test(title);
  return Object.entries(settings).flatMap(([key, value]): SpelledDegree[] => {
    if (title.endsWith('axolotl') && /^fsdp_(?:version|config\.(?:fsdp_)?reshard_after_forward)$/.test(key))
      return [{ field: 'fsdp', written: `${key}: ${value}`, value: key === 'fsdp_version' ? 'true' : value }];
    const written = `${key}: ${value}`;
    if (/(?:^|\.)zero_optimization\.stage$/.test(key) || (isDeepSpeed && key === 'zero_optimization_stage'))
      return [{ field: 'zeroStage', written, value }];
    const field = degreeField(key);
    if (field === 'fsdp' && /reshard/.test(key)) return [{ field, written, value }];
    if (field === undefined || value === '') return [];
    // axolotl and TorchTitan have switches of these names for something else.
    if (!/^-?\d+$/.test(value) && !['fsdp', 'sequenceParallel', 'distributedOptimizer'].includes(field)) return [];
    return [{ field, written, value }];
  });
}

/** Settings of axolotl that name a file of DeepSpeed, which is not part of what is imported. */
function stageFile({ title }: Kind, settings: AccelerateSettings): readonly ReportLine[] {
  const file = title.endsWith('axolotl') ? (settings['deepspeed'] ?? '') : '';
  if (file === '') return [];
  return [
    {
      outcome: 'changed',
      from: `deepspeed: ${file}`,
      to: 'layout',
      why: 'the stage of ZeRO stands in this file, which is not part of what was imported',
      todo: `write layout.states with its zeroStage and implementation deepspeed; coxswain import ${file.replace(/^.*\//, '')} shows them`,
    },
  ];
}

function leastRanks(spelled: readonly SpelledDegree[]): number {
  const product = ['tensor', 'pipeline', 'context', 'shard', 'replicate']
    .map((field) => Number(spelled.findLast((one) => one.field === field)?.value ?? 1))
    .filter((degree) => Number.isSafeInteger(degree) && degree > 0)
    .reduce((sofar, degree) => sofar * degree, 1);
  return Math.min(product, 4096);
}

function programOf(
  { title, program: start }: Kind,
  { program, file = 'FILE' }: LaunchOptions,
): { readonly program: RankProgram; readonly lines: readonly ReportLine[] } {
  const name = file.replace(/^.*\//, '');
  if (program !== undefined) return { program: lineProgram(program), lines: [] };
  if (start !== undefined)
    return {
      program: lineProgram(start(name)),
      lines: [
        {
          outcome: 'changed',
          from: `the ${title}`,
          to: 'engine.command',
          why: 'the program reads it at every start, so it has to be in the pods',
          todo: `put ${name} into the image or into a claim, and correct its path in engine.command`,
        },
      ],
    };
  return {
    program: lineProgram('python3 train.py'),
    lines: [
      {
        outcome: 'changed',
        from: `the ${title}`,
        to: 'engine.command python3 train.py',
        why: 'it does not name the program that it configures',
        todo: "import again with --program 'python3 SCRIPT ARGUMENTS'",
      },
      ...(/DeepSpeed/.test(title)
        ? [
            {
              outcome: 'changed',
              from: `the ${title}`,
              to: 'engine.command',
              why: 'the program reads it at every start, so it has to be in the pods',
              todo: `put ${name} into the image or into a claim, and name it among the arguments of the program`,
            } as const,
          ]
        : []),
    ],
  };
}

/** Settings of a file of `accelerate config`, and lines about those that become no variable; undefined if it is something else. */
export function accelerateFile(
  document: unknown,
): { readonly settings: AccelerateSettings; readonly lines: readonly ReportLine[] } | undefined {
  const settings = flatSettings(document);
  const kind = KINDS.find(({ isIt }) => isIt(settings));
  if (kind?.title.endsWith('Accelerate') !== true) return undefined;
  return { settings: withoutSections(settings), lines: unreadLines(kind, settings) };
}

/** Accelerate's sections are flattened to the settings that its launcher knows. */
function variablesOf({ title }: Kind, settings: AccelerateSettings): RankProgram['env'] {
  return title.endsWith('Accelerate') ? accelerateVariables(withoutSections(settings)) : [];
}

function withoutSections(settings: AccelerateSettings): AccelerateSettings {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      key.replace(/^(?:fsdp_config|deepspeed_config|parallelism_config)\./, ''),
      value,
    ]),
  );
}

const DROPPED_BY_ACCELERATE =
  /^(?:compute_environment|distributed_type|num_processes|num_machines|machine_rank|main_process_ip|main_process_port|main_training_function|rdzv_backend|same_network|use_cpu|debug|gpu_ids|downcast_bf16|tpu_\w+|enable_cpu_affinity)$/;

/** Settings of Accelerate that no variable stands for, and rendezvous that Coxswain does itself. */
function unreadLines({ title }: Kind, settings: AccelerateSettings): readonly ReportLine[] {
  if (!title.endsWith('Accelerate')) return [];
  const unread = Object.entries(withoutSections(settings)).filter(
    ([key, value]) =>
      value !== '' && !isAccelerateVariable(key) && !/^num_(?:processes|machines)$|^distributed_type$/.test(key),
  );
  return unread.map(([key, value]): ReportLine => {
    const from = `${key}: ${value}`;
    return DROPPED_BY_ACCELERATE.test(key)
      ? { outcome: 'left', from, why: 'Coxswain starts and connects the ranks itself' }
      : {
          outcome: 'left',
          from,
          why: 'no variable that Coxswain sets stands for it',
          todo: 'give it to the program, if it is needed',
        };
  });
}

function nameOf(file = 'job'): string {
  const fit = file
    .replace(/^.*\//, '')
    .replace(/\.\w+$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');
  return fit === '' ? 'job' : fit;
}

/** The layout of the file's degrees in place of the one that the command line alone gave. */
function withDegrees(
  made: ImportedJob,
  spelled: readonly SpelledDegree[],
  { nodes, ranksPerNode }: { readonly nodes: number; readonly ranksPerNode: number },
): ImportedJob {
  const { layout, isBeyondDegrees, problems } = readLayout(spelled, nodes * ranksPerNode, ranksPerNode);
  const { spec } = made.job;
  const engine = isBeyondDegrees ? { ...spec.engine, name: 'custom' as const } : spec.engine;
  const written = spelled.map((one): ReportLine => ({ outcome: 'taken', from: one.written, to: 'layout' }));
  const own = made.report.filter(({ todo }) => todo?.includes('run coxswain import') !== true);
  const report = own.map((line) => (/x \d+ ranks$/.test(line.from) ? { ...line, to: shownLayout(layout) } : line));
  const lines = [
    ...written,
    ...report,
    ...problems.map((problem): ReportLine => ({ outcome: 'changed', to: 'layout', ...problem })),
  ];
  return {
    job: { ...made.job, spec: { ...spec, engine, layout } },
    report: (['taken', 'changed', 'left'] as const).flatMap((one) => lines.filter(({ outcome }) => outcome === one)),
  };
}

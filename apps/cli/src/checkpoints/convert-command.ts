import {
  bytesOfDtype,
  CONVERSION_FORMATS,
  type ConversionFormat,
  type ConversionPlan,
  CONVERTED_DTYPES,
  planConversion,
  planFullyReshardable,
  readKeptState,
  SPELLINGS,
  type SpellingName,
  volumeOf,
} from '@coxswain/checkpoint';
import { type ConversionOutcome, runConversion, runReading, sourceIdOf } from '@coxswain/checkpoint-store';
import { formatBytes, formatCount } from '@coxswain/units';
import { type Command, Option } from 'commander';
import { readFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { CliError } from '../cli-error.ts';
import { columns } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import {
  addConverterOptions,
  checkConverterSource,
  type ConverterOptions,
  showConverterJob,
} from './engine-converter.ts';
import { progressOf, verifyFiles } from './look-at-save.ts';
import { addStoreOptions, openAndList, type OpenedStore, openTarget, type StoreOptions } from './opened-store.ts';
import { ranksOf, requireApart, withReshardErrors } from './reshard-command.ts';

interface ConvertOptions extends StoreOptions, ConverterOptions {
  readonly to: ConversionFormat | typeof FSDP_DTENSOR;
  readonly names?: SpellingName | 'keep';
  readonly modelConfig?: string;
  readonly ranks: number;
  readonly dtype?: keyof typeof CONVERTED_DTYPES;
  readonly optimizer?: 'fully_reshardable';
  readonly plan?: boolean;
}

/** Written by the converter of Megatron-LM alone. */
const FSDP_DTENSOR = 'fsdp_dtensor';
/** Of a file of safetensors: as Transformers divides weights. */
const FILE_BYTES = 5_000_000_000;
/** Read and written at a time. */
const BAND_BYTES = 4 << 20;
/** Those of published models have a few kilobytes. */
const MAX_CONFIG_BYTES = 1 << 20;
/** Formats whose tensors are read here, and whether they are archives of `torch.save`. */
const READ_FORMATS: Readonly<Record<string, { readonly isArchived: boolean }>> = {
  dcp: { isArchived: true },
  fsdp_dtensor: { isArchived: true },
  torch_dist: { isArchived: true },
  safetensors: { isArchived: false },
  'hugging-face': { isArchived: false },
};

/** What reads a format only under its own names. */
const NAMES_OF: Readonly<Record<ConversionFormat, SpellingName | 'keep'>> = {
  'hugging-face': 'hugging-face',
  torch_dist: 'megatron',
  safetensors: 'keep',
  dcp: 'keep',
};

/** Adds `checkpoint convert`, which writes the weights of a save in another format. */
export function addConvertCommand(checkpoint: Command, session: Session): void {
  const command = addStoreOptions(checkpoint.command('convert'))
    .argument('<source>', 'directory of one save, or s3://BUCKET/PREFIX')
    .argument('<target>', 'empty directory or prefix for the new save')
    .description(
      'convert the weights of a checkpoint to another format, and to the names that another engine gives them',
    )
    .addOption(
      new Option('--to <format>', 'hugging-face: safetensors with config.json, under the names of Transformers')
        .choices([...CONVERSION_FORMATS, FSDP_DTENSOR])
        .makeOptionMandatory(),
    )
    .addOption(
      new Option(
        '--names <spelling>',
        'names and layouts of tensors (default: hugging-face for --to hugging-face, megatron for --to torch_dist, otherwise keep)',
      ).choices(['keep', ...Object.keys(SPELLINGS)]),
    )
    .option('--model-config <file>', "config.json of the model (default: the source's); needed unless names are kept")
    .option('--ranks <count>', 'of dcp and torch_dist: ranks among which the rows of tensors are divided', ranksOf, 1)
    .addOption(
      new Option('--dtype <dtype>', 'write weights in this dtype (default: theirs)').choices(
        Object.keys(CONVERTED_DTYPES),
      ),
    )
    .addOption(
      new Option(
        '--optimizer <sharding>',
        'of torch_dist: keep all of a save, and store its dp_reshardable optimizer so that every layout loads it',
      )
        .choices(['fully_reshardable'])
        .conflicts(['names', 'modelConfig', 'dtype']),
    )
    .option('--plan', 'show the plan; write nothing');
  addConverterOptions(command)
    .addHelpText('after', EXAMPLES)
    .action(async (source: string, target: string, options: ConvertOptions) => {
      await withReshardErrors(() => convert(session, source, target, options));
    });
}

const EXAMPLES = `
Weights are converted, bit by bit; the optimizer, random states and the position in the data stay behind, and the command names them. What cannot be converted is
refused with all reasons, before anything is written. The new save counts as one only when all of it is written. A run that was interrupted goes on where it was.

Examples:
  coxswain checkpoint convert outputs/checkpoint/step-1000 exported/step-1000 --to hugging-face --model-config llama/config.json
  coxswain checkpoint convert llama start/llama --to dcp --names torchtitan --ranks 8
  coxswain checkpoint convert llama start/llama/release --to torch_dist --ranks 8
  coxswain checkpoint convert outputs/checkpoint/step-1000 weights/step-1000 --to safetensors --plan
  coxswain checkpoint convert checkpoints/iter_0001000 converted/iter_0001000 --to torch_dist --optimizer fully_reshardable --ranks 8
  coxswain checkpoint convert runs/iter_0001000 fsdp/iter_0001000 --to fsdp_dtensor --converter megatron-lm --swiglu \\
      --job to-fsdp --image registry.example.com/megatron:1 --claim checkpoints --memory 64Gi --gpus 8 | kubectl apply -f -`;

async function convert(session: Session, from: string, to: string, options: ConvertOptions): Promise<void> {
  const { converter } = options;
  if (converter !== undefined && options.job !== undefined)
    return await showConverterJob(session, from, to, { ...options, converter });
  if (options.job !== undefined)
    throw new CliError('--job prints a Job for the converter of an engine. Name it: --converter megatron-bridge.');
  if (converter !== undefined && options.plan !== true)
    throw new CliError(
      `The converter of ${converter} runs in the image of its engine. Add --job NAME for a Job of Kubernetes, or --plan to check the source.`,
    );
  const source = await openAndList(session, from, options, 'the directory of one save, such as checkpoint/step-1000');
  if (converter !== undefined) return await checkConverterSource(session, from, source, { ...options, converter });
  const { plan, isArchived, warnings } = await planOf(session, from, source, options);
  const summary = { ...summaryOf(plan), warnings };
  if (options.plan === true) {
    session.show(summary, planText);
    return;
  }
  await requireApart(from, to);
  const target = await openTarget(session, to, options);
  const progress = progressOf(session, [{ path: from, bytes: readBytesOf(plan) }]);
  let uncheckedBytes = 0;
  const outcome = await runConversion({
    plan,
    source: {
      store: source.store,
      files: source.files,
      isArchived,
      signal: session.signal,
      onBytes: progress.add,
      onUnchecked: (bytes) => (uncheckedBytes += bytes),
    },
    sourceId: sourceIdOf(new Uint8Array(), source.files),
    target,
    bandBytes: BAND_BYTES,
  });
  session.show({ ...summary, ...outcome, readBytes: progress.readBytes(), uncheckedBytes }, (done) =>
    doneText(done, to),
  );
}

async function planOf(
  session: Session,
  from: string,
  source: OpenedStore,
  options: ConvertOptions,
): Promise<{ readonly plan: ConversionPlan; readonly isArchived: boolean; readonly warnings: readonly string[] }> {
  const { state, format, verdict, findings } = await verifyFiles(session, source.store, source.files, {
    level: 'V1',
    onBytes: () => undefined,
  });
  if (format === undefined) throw new CliError(`${from} is no save. ${findings[0]?.sentence ?? ''}`);
  const read = READ_FORMATS[format];
  if (state === undefined || read === undefined)
    throw new CliError(
      `${from} is no save whose weights are converted here (format ${format}; read are ${Object.keys(READ_FORMATS).join(', ')}). "coxswain checkpoint loads" says which converter it needs.`,
    );
  if (verdict === 'damaged' || verdict === 'incomplete' || verdict === 'suspect')
    throw new CliError(`${from} is ${verdict}: ${findings[0]?.sentence ?? ''} Use another save.`);
  const warnings = findings.map(({ sentence }) => sentence);
  const { to } = options;
  if (to === FSDP_DTENSOR)
    throw new CliError(`${to} is written by the converter of Megatron-LM alone: add --converter megatron-lm.`);
  if (options.optimizer !== undefined) {
    if (to !== 'torch_dist' || format !== 'torch_dist')
      throw new CliError(
        `--optimizer ${options.optimizer} converts a save of torch_dist to torch_dist, and this is ${format} to ${to}. Leave it out to convert the weights alone.`,
      );
    const kept = await runReading(source.store, source.files, readKeptState(state, source.files, crc32));
    return { plan: planFullyReshardable(state, { ranks: options.ranks, crc32, kept }), ...read, warnings };
  }
  const plan = planConversion(state, {
    to,
    names: options.names ?? NAMES_OF[to],
    config: await configOf(source, options),
    ranks: options.ranks,
    fileBytes: FILE_BYTES,
    dtype: options.dtype,
    crc32,
  });
  return { plan, ...read, warnings };
}

async function configOf(
  { store, files }: OpenedStore,
  { modelConfig: config }: ConvertOptions,
): Promise<Uint8Array | undefined> {
  if (config !== undefined) {
    return await readFile(config).catch((error: unknown) => {
      throw new CliError(
        `${config} cannot be read: ${error instanceof Error ? error.message : String(error)}. Name the config.json of the model.`,
      );
    });
  }
  const own = files.find(({ path, isLink }) => path === 'config.json' && isLink !== true);
  return own === undefined || own.bytes > MAX_CONFIG_BYTES ? undefined : await store.read(own.path, 0, own.bytes);
}

function readBytesOf({ tensors, mustBeEqual }: ConversionPlan): number {
  const compared = mustBeEqual.flatMap(({ one, other }) => [one, other]);
  return [...tensors, ...compared].reduce(
    (sum, { shape, sourceDtype }) => sum + volumeOf(shape) * (bytesOfDtype(sourceDtype) ?? 0),
    0,
  );
}

function summaryOf({ tensors, bytes, files, leftBehind, spellings }: ConversionPlan) {
  return {
    bytes,
    tensors: tensors.map(({ key, dtype, shape }) => ({ key, dtype, shape })),
    plannedFiles: files.map(({ path, bytes: size }) => ({ path, bytes: size })),
    leftBehind,
    ...(spellings === undefined ? {} : { spellings }),
  };
}

type Summary = ReturnType<typeof summaryOf> & { readonly warnings: readonly string[] };

const MAX_ROWS = 20;

function planText(plan: Summary): string {
  const rows = plan.tensors.slice(0, MAX_ROWS).map(({ key, dtype, shape }) => [key, dtype, shape.join(' x ')]);
  const more =
    plan.tensors.length > MAX_ROWS ? `\n… and ${String(plan.tensors.length - MAX_ROWS)} more; see --output json` : '';
  return `${columns([['TENSOR', 'DTYPE', 'SHAPE'], ...rows])}${more}

${formatCount(plan.tensors.length, 'tensor')}, ${formatBytes(plan.bytes)} in ${formatCount(plan.plannedFiles.length, 'file')}${spellingText(plan)}.${besideText(plan)}
Nothing was written: leave out --plan to write the save.`;
}

function spellingText({ spellings }: Summary): string {
  return spellings === undefined ? '' : `, from the names of ${spellings.from} to those of ${spellings.to}`;
}

/** What stays behind, and what is not known about the source. */
function besideText({ leftBehind, warnings }: Summary): string {
  const lines = leftBehind.map(
    ({ what, count, examples }) =>
      `\nLeft behind, ${what}: ${examples.join(', ')}${count > examples.length ? ` and ${String(count - examples.length)} more` : ''}.`,
  );
  return [...lines, ...warnings.map((warning) => `\n${warning}`)].join('');
}

function doneText(
  done: Summary & ConversionOutcome & { readonly readBytes: number; readonly uncheckedBytes: number },
  to: string,
): string {
  const found = done.files.found === 0 ? '' : `; already there: ${String(done.files.found)}`;
  const unchecked =
    done.uncheckedBytes === 0
      ? ''
      : ` ${formatBytes(done.uncheckedBytes)} have no CRC-32 in the source, so nothing was compared.`;
  return `The save in ${to} is complete: ${formatCount(done.tensors.length, 'tensor')}${spellingText(done)}, ${formatBytes(done.readBytes)} read, ${formatCount(done.files.done, 'file')} written${found}.${unchecked}${besideText(done)}`;
}

/** `checkpoint convert --converter`: an engine's own converter, as a Job of Kubernetes. */
import {
  describeUnfitSource,
  describeUnknownConversion,
  ENGINE_CONVERTERS,
  type EngineConversion,
  type EngineConverter,
} from '@coxswain/checkpoint';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CliError } from '../cli-error.ts';
import { render } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { VERSION } from '../version.ts';
import { converterJob } from './converter-job.ts';
import { verifyFiles } from './look-at-save.ts';
import type { OpenedStore } from './opened-store.ts';
import { inPod, ranksOf, requireApart } from './reshard-command.ts';

/** Options of `checkpoint convert` that are those of a converter. */
export interface ConverterOptions {
  readonly converter?: EngineConverter;
  readonly to: string;
  readonly swiglu?: boolean;
  readonly job?: string;
  readonly image?: string;
  readonly cliImage: string;
  readonly claim?: string;
  readonly reference?: string;
  readonly paramGroups?: string;
  readonly gpus?: number;
  readonly memory?: string;
  readonly deadline: number;
}

/** The options with a converter. */
export type WithConverter = ConverterOptions & { readonly converter: EngineConverter };

const MINUTES = 60;

/** Adds the options of converters. */
export function addConverterOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--converter <engine>',
        "the engine's own converter: megatron-bridge (hugging-face from torch_dist, and back) or megatron-lm (fsdp_dtensor from torch_dist)",
      )
        .choices(ENGINE_CONVERTERS)
        .conflicts(['names', 'modelConfig', 'dtype', 'optimizer']),
    )
    .option('--job <name>', 'with --converter: print a Job of Kubernetes that converts and verifies; write nothing')
    .option('--image <name>', 'with --job: image of the engine')
    .option('--claim <name>', 'with --job: claim that holds source and target, which are paths in it')
    .option(
      '--reference <path>',
      'with --converter megatron-bridge --to hugging-face: directory of the claim with config.json and tokenizer of the model',
    )
    .option('--swiglu', 'with --converter megatron-lm: the MLPs of the model have a gate')
    .option(
      '--param-groups <path>',
      'with --converter megatron-lm: file of the claim that names the optimizer group of each parameter',
    )
    .option('--gpus <count>', 'with --converter megatron-lm: GPUs, whose memory holds the save (default: 1)', ranksOf)
    .option('--memory <quantity>', 'with --job: memory of the converter, such as 64Gi', quantityOf)
    .option('--deadline <minutes>', 'with --job: after this time the Job fails', minutesOf, 6 * MINUTES)
    .option('--cli-image <name>', 'with --job: image of this program', `coxswain/cli:${VERSION}`);
}

function quantityOf(text: string): string {
  if (/^[1-9]\d{0,6}[MGT]i?$/.test(text)) return text;
  throw new InvalidArgumentError('It is a number with Mi, Gi or Ti, such as 64Gi.');
}

function minutesOf(text: string): number {
  const minutes = ranksOf(text);
  if (minutes <= MOST_MINUTES) return minutes;
  throw new InvalidArgumentError(`It is at most ${String(MOST_MINUTES)} minutes.`);
}

/** A week. */
const MOST_MINUTES = 7 * 24 * MINUTES;

/** Prints the Job. All that is missing is named at once. */
export async function showConverterJob(
  session: Session,
  from: string,
  to: string,
  options: WithConverter,
): Promise<void> {
  const { job = '', image = '', claim = '', memory = '', reference, paramGroups, gpus, converter } = options;
  const conversion = conversionOf(options);
  const isExport = converter === 'megatron-bridge' && options.to === 'hugging-face';
  const problems = [
    describeUnknownConversion(conversion),
    [from, to].some((place) => place.startsWith('s3://'))
      ? 'Converters of engines read and write directories, and no buckets: copy the save to a claim.'
      : undefined,
    image === '' ? 'Name the image of the engine: --image.' : undefined,
    claim === '' ? 'Name the claim that holds source and target: --claim.' : undefined,
    memory === ''
      ? 'Name the memory of the converter: --memory. It holds the whole model, two to three times at most.'
      : undefined,
    isExport && reference === undefined
      ? 'Name the directory of the claim with config.json and tokenizer of the model: --reference.'
      : undefined,
    !isExport && reference !== undefined
      ? '--reference is an option of megatron-bridge with --to hugging-face.'
      : undefined,
    converter !== 'megatron-lm' && (gpus ?? paramGroups) !== undefined
      ? '--gpus and --param-groups are options of megatron-lm. Megatron-Bridge converts on CPUs.'
      : undefined,
  ].filter((problem) => problem !== undefined);
  if (problems.length > 0) throw new CliError(problems.join('\n'));
  const [source, target] = [inPod(from), inPod(to)].map((path) => path.replace(/\/+$/, '')) as [string, string];
  await requireApart(source, target);
  const made = converterJob({
    ...conversion,
    ...{ name: job, image, claim, memory, source, target, cliImage: options.cliImage },
    deadlineSeconds: options.deadline * MINUTES,
    ...(reference === undefined ? {} : { reference: inPod(reference) }),
    ...(paramGroups === undefined ? {} : { groups: inPod(paramGroups) }),
    ...(converter === 'megatron-lm' ? { gpus: gpus ?? 1 } : {}),
  });
  const format = session.outputFormat();
  session.print(render(made, format === 'table' ? 'yaml' : format, () => ''));
}

/** Reads the source, and refuses what the converter does not get right. The first container of the Job does this. */
export async function checkConverterSource(
  session: Session,
  from: string,
  opened: OpenedStore,
  options: WithConverter,
): Promise<void> {
  const conversion = conversionOf(options);
  const unknown = describeUnknownConversion(conversion);
  if (unknown !== undefined) throw new CliError(unknown);
  const { store, files } = opened;
  const look = await verifyFiles(session, store, files, { level: 'V3', onBytes: () => undefined });
  const problems = describeUnfitSource(conversion, { look, files });
  if (problems.length > 0) throw new CliError(`${from} is not converted. ${problems.join('\n')}`);
  const { converter, to } = conversion;
  const summary = { source: from, format: look.format, converter, to };
  session.show(
    summary,
    () => `${from} (${look.format ?? ''}) can be converted to ${to} by ${converter}. Nothing was written.`,
  );
}

function conversionOf({ converter, to, swiglu = false }: WithConverter): EngineConversion {
  return { converter, to, isGated: swiglu };
}

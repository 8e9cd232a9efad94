import type { DomainError } from '@coxswain/domain-error';
import { brokenSchemaRule } from '@coxswain/layout';
import {
  CONTEXT_ALGORITHMS,
  NIC_KINDS,
  PARTITIONS,
  PlanCluster,
  PlanRequest,
  RANK_ORDERS,
  RECOMPUTE_POLICIES,
  SCHEDULES,
  type NicKind,
  type PlanRequestInput,
} from '@coxswain/planner';
import { gpuOf } from '@coxswain/planner/presets';
import { InvalidArgumentError } from 'commander';
import type { z } from 'zod';
import { BITS_PER_BYTE } from '@coxswain/units';
import { readProfile } from '../calibrate/profile-file.ts';
import { CliError } from '../cli-error.ts';
import { plannedModel } from './planned-model.ts';
import { assignments, positiveNumber, shareOfOne } from '../options/quantities.ts';
import { readDocument } from '../files/read-document.ts';
import { wholeNumber } from '../options/whole-number.ts';

/** What the options of `plan`, `predict` and `why-not` hold; all of them may stand in a file instead. */
export interface RequestOptions {
  readonly file?: string;
  readonly model?: string;
  readonly gpu?: string;
  readonly gpus?: number;
  readonly gpusPerNode?: number;
  readonly scaleUpDomain?: number;
  readonly nicGbps?: number;
  readonly nic?: NicKind;
  readonly island?: Island[];
  readonly stagesInOneIsland?: true;
  readonly betweenIslandsGbps?: number;
  readonly usdPerGpuHour?: number;
  readonly profile?: string;
  readonly globalBatch?: number;
  readonly seq?: number;
  readonly precision?: string;
  readonly stack?: string;
  readonly objective?: string;
  readonly tokens?: number;
  readonly deadline?: number;
  readonly top?: number;
  readonly margin?: number;
  readonly pin?: Pinned;
}

type ClusterInput = PlanRequestInput['cluster'];
type Island = NonNullable<ClusterInput['islands']>[number];
type Pinned = NonNullable<PlanRequestInput['pinned']>;

/** The request that a file and options describe. */
export interface ReadRequest {
  readonly request: PlanRequest;
  /** What the model's file left open. */
  readonly assumed: readonly string[];
}

/**
 * The plan request from options and file; options override the file. `known`, the job of a layout file, overrides it too.
 * Throws a {@link CliError} that names the field and the option for it.
 */
export function readRequest(options: RequestOptions, known: Partial<PlanRequestInput> = {}): ReadRequest {
  const file = { ...fileOf(options.file), ...known };
  const nameOrFile = options.model ?? (typeof file.model === 'string' ? file.model : undefined);
  const { model, modelShape, assumed } =
    nameOrFile === undefined ? { ...shapeOf(file), model: undefined, assumed: [] } : plannedModel(nameOrFile);
  const { pinned, cluster: _cluster, model: _model, modelShape: _shape, ...rest } = file;
  const merged = {
    ...rest,
    ...(model === undefined ? {} : { model }),
    ...(modelShape === undefined ? {} : { modelShape }),
    cluster: clusterOf(options, file.cluster),
    ...given({
      globalBatchSize: options.globalBatch,
      sequenceLength: options.seq,
      precision: options.precision,
      stack: options.stack,
      objective: options.objective,
      tokens: options.tokens,
      deadlineHours: options.deadline,
      top: options.top,
      memoryMarginShare: options.margin,
    }),
    ...(pinned === undefined && options.pin === undefined ? {} : { pinned: { ...pinned, ...options.pin } }),
  };
  const parsed = PlanRequest.safeParse(merged, { reportInput: true });
  if (parsed.success) return { request: parsed.data, assumed };
  throw new CliError(`${NOT_VALID}:\n${parsed.error.issues.map(explained).join('\n')}`);
}

function fileOf(path: string | undefined): Partial<PlanRequestInput> {
  if (path === undefined) return {};
  const document = readDocument(path);
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new CliError(`${path} contains no plan request; expected model, cluster, globalBatchSize, sequenceLength.`);
  return document;
}

function shapeOf({ modelShape }: Partial<PlanRequestInput>): Pick<PlanRequestInput, 'modelShape'> {
  return modelShape === undefined ? {} : { modelShape };
}

/** Bandwidths of options are those of one GPU's NIC in Gb/s, as NICs are named; a request counts GB/s. */
function clusterOf(options: RequestOptions, file: Partial<ClusterInput> | undefined): Partial<ClusterInput> {
  const merged: Partial<ClusterInput> = {
    ...file,
    ...given({
      gpu: options.gpu,
      gpus: options.gpus,
      gpusPerNode: options.gpusPerNode,
      scaleUpDomainGpus: options.scaleUpDomain,
      scaleOutGbPerS: options.nicGbps === undefined ? undefined : options.nicGbps / BITS_PER_BYTE,
      nicKind: options.nic,
      islands: options.island,
      stagesInOneIsland: options.stagesInOneIsland,
      betweenIslandsGbPerS:
        options.betweenIslandsGbps === undefined ? undefined : options.betweenIslandsGbps / BITS_PER_BYTE,
      usdPerGpuHour: options.usdPerGpuHour,
      profile: options.profile === undefined ? undefined : readProfile(options.profile),
    }),
  };
  // Values of a file have any type until the whole request is validated.
  if (typeof merged.gpu !== 'string') return merged;
  const preset = gpuOf(merged.gpu);
  const gpus = merged.gpus ?? gpusOfIslands(merged.islands);
  return {
    ...merged,
    gpu: preset.name,
    ...given({ gpus }),
    gpusPerNode: merged.gpusPerNode ?? Math.min(preset.gpusPerNode, Math.max(1, gpus ?? preset.gpusPerNode)),
  };
}

function gpusOfIslands(islands: unknown): number | undefined {
  return PlanCluster.shape.islands.safeParse(islands).data?.reduce((sum, { gpus }) => sum + gpus, 0);
}

/** The entries that are not undefined. */
function given<T extends object>(entries: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(entries).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>;
  };
}

const OPTION_OF: Readonly<Record<string, string>> = {
  model: '--model',
  cluster: '--gpu and --gpus',
  'cluster.gpu': '--gpu',
  'cluster.gpus': '--gpus',
  'cluster.gpusPerNode': '--gpus-per-node',
  'cluster.scaleOutGbPerS': '--nic-gbps',
  'cluster.scaleUpDomainGpus': '--scale-up-domain',
  'cluster.nicKind': '--nic',
  'cluster.islands': '--island',
  'cluster.stagesInOneIsland': '--stages-in-one-island',
  'cluster.betweenIslandsGbPerS': '--between-islands-gbps',
  'cluster.usdPerGpuHour': '--usd-per-gpu-hour',
  globalBatchSize: '--global-batch',
  sequenceLength: '--seq',
  precision: '--precision',
  objective: '--objective',
  top: '--top',
  memoryMarginShare: '--margin',
  pinned: '--pin',
  tokens: '--tokens',
  deadlineHours: '--deadline',
};

function explained(issue: z.core.$ZodIssue): string {
  return fieldLine(issue.path.map(String), brokenSchemaRule(issue));
}

/** What contradicts the model or the GPUs, in the same words as what is missing. Undefined where no field is to blame. */
export function contradictionText({ code, violations }: DomainError): string | undefined {
  const isAboutFields = violations.length > 0 && violations.every(({ pointer }) => pointer !== '');
  if (code !== 'INVALID_REQUEST' || !isAboutFields) return undefined;
  const lines = violations.map(({ pointer, detail }) => fieldLine(pointer.slice(1).split('/'), detail));
  return `${NOT_VALID}:\n${lines.join('\n')}`;
}

const NOT_VALID = 'The request is not complete or not valid';

function fieldLine(path: readonly string[], detail: string): string {
  const option = OPTION_OF[path.slice(0, 2).join('.')] ?? OPTION_OF[path[0] ?? ''];
  return `  ${path.length === 0 ? 'request' : path.join('.')}${option === undefined ? '' : ` (${option})`}: ${detail}`;
}

const ISLAND_KEYS = ['gpus', 'gpu', 'gbps', 'nic', 'speed'] as const;

/** `gpus=256,gpu=a100,gbps=200,nic=roce,speed=0.8` added to the islands so far. */
export function island(text: string, islands: readonly Island[] = []): Island[] {
  const values = new Map(assignments(text, ISLAND_KEYS));
  const gpus = values.get('gpus');
  if (gpus === undefined) throw new InvalidArgumentError(`"${text}" lacks gpus=.`);
  const gbps = values.get('gbps');
  const nic = values.get('nic');
  const gpu = values.get('gpu');
  const speed = values.get('speed');
  return [
    ...islands,
    {
      gpus: wholeNumber(gpus),
      ...(gpu === undefined ? {} : { gpu: gpuOf(gpu).name }),
      ...(gbps === undefined ? {} : { scaleOutGbPerS: positiveNumber(gbps) / BITS_PER_BYTE }),
      ...(nic === undefined ? {} : { nicKind: oneOf(NIC_KINDS, nic) }),
      ...(speed === undefined ? {} : { relativeSpeed: positiveNumber(speed) }),
    },
  ];
}

/** What each short name of `--pin` sets. */
const PINS: Readonly<Record<string, (value: string) => Pinned>> = {
  tp: (value) => ({ tensor: wholeNumber(value) }),
  cp: (value) => ({ context: wholeNumber(value) }),
  pp: (value) => ({ pipeline: wholeNumber(value) }),
  dp: (value) => ({ data: wholeNumber(value) }),
  ep: (value) => ({ expert: wholeNumber(value) }),
  etp: (value) => ({ expertTensor: wholeNumber(value) }),
  shard: (value) => ({ shardGroup: wholeNumber(value) }),
  vpp: (value) => ({ chunks: wholeNumber(value) }),
  mbs: (value) => ({ microBatchSize: wholeNumber(value) }),
  zero: (value) => ({ zeroStage: wholeNumber(value) }),
  schedule: (value) => ({ schedule: oneOf(SCHEDULES, value) }),
  recompute: (value) => ({ recompute: oneOf(RECOMPUTE_POLICIES, value) }),
  partition: (value) => ({ partition: oneOf(PARTITIONS, value) }),
  context: (value) => ({ contextAlgorithm: oneOf(CONTEXT_ALGORITHMS, value) }),
  order: (value) => ({ rankOrder: oneOf(RANK_ORDERS, value) }),
  'offload-optimizer': (value) => ({ offloadOptimizer: shareOfOne(value) }),
  'offload-activations': (value) => ({ offloadActivations: shareOfOne(value) }),
};

/** `tp=8,pp=4,recompute=none`: choices that are made already. */
export function pinned(text: string): Pinned {
  return Object.assign({}, ...assignments(text, Object.keys(PINS)).map(([key, value]) => PINS[key]?.(value))) as Pinned;
}

function oneOf<T extends string>(values: readonly T[], text: string): T {
  const found = values.find((value) => value === text);
  if (found === undefined) throw new InvalidArgumentError(`"${text}" is not one of ${values.join(', ')}.`);
  return found;
}

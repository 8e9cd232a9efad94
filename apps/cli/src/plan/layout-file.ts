import { layoutWithOptions } from '@coxswain/engines';
import { ModelShape, readLayout, type DeviceMesh, type JobLayout, type LayoutDocument } from '@coxswain/layout';
import { AskedLayout, Plan, type PlanRequestInput } from '@coxswain/planner';
import { CliError } from '../cli-error.ts';
import { NOTHING_FITS } from './ask-planner.ts';
import { readDocument } from '../files/read-document.ts';

/** The layout of a file, with what else the file says about the job. */
export interface LayoutFile {
  readonly asked: AskedLayout;
  /** Facts of the job that the file has besides the layout. */
  readonly known: Partial<PlanRequestInput>;
  /** The engine of the file, with its options. */
  readonly engine?: NonNullable<LayoutDocument['engine']>;
  /** Of a plan over islands with different GPUs: for which of them its stages are cut. */
  readonly stageGpus?: NonNullable<Plan['stageGpus']>;
}

/** Options that override values of a layout file. */
export interface LayoutChoice {
  readonly microBatch?: number;
  /** Which role of a job of several. */
  readonly role?: string;
  /** Predicted instead of the file's model. */
  readonly model?: string;
}

/**
 * A layout from a YAML or JSON file: a layout document as in `examples/layouts`, one role of a job, a layout alone, or one plan of a plan's
 * answer (`coxswain plan --json | jq .best`). The default micro-batch is 1.
 */
export function readLayoutFile(path: string, choice: LayoutChoice = {}): LayoutFile {
  const { document, ofPlan } = readLayoutDocument(path, choice.role);
  const { layout, batch, model } = document;
  if (choice.model === undefined && typeof model === 'object' && 'kind' in model)
    throw new CliError(
      `${path} is for a model of kind ${model.kind}, whose time and memory the planner cannot predict; ` +
        '`coxswain layout check` checks its layout, and --model predicts it as a transformer.',
      NOTHING_FITS,
    );
  const microBatchSize = choice.microBatch ?? ofPlan?.microBatchSize ?? batch?.microBatchSize ?? 1;
  if (!AskedLayout.shape.microBatchSize.safeParse(microBatchSize).success)
    throw new CliError(
      `The micro-batch size of ${path} is ${JSON.stringify(microBatchSize)}; it must be a whole number of samples of at least 1; give --micro-batch.`,
    );
  const stageGpus = stageGpusOf(ofPlan, path);
  return {
    asked: {
      layout: document.engine === undefined ? layout : layoutWithOptions({ engine: document.engine, layout }),
      microBatchSize,
    },
    known: knownOf(document),
    ...(document.engine === undefined ? {} : { engine: document.engine }),
    ...(stageGpus === undefined ? {} : { stageGpus }),
  };
}

function stageGpusOf(ofPlan: unknown, path: string): Plan['stageGpus'] {
  if (typeof ofPlan !== 'object' || ofPlan === null || !('stageGpus' in ofPlan)) return undefined;
  const { data } = Plan.shape.stageGpus.safeParse(ofPlan.stageGpus);
  if (data === undefined)
    throw new CliError(
      `stageGpus of ${path} must be a list of stages and gpu, such as [{"stages": 5, "gpu": "h100-sxm5-80gb"}]; keep it as \`coxswain plan --json\` prints it.`,
    );
  return data;
}

/** The layout of a file and the facts beside it; for a job with several roles, those of one role. */
export function readLayoutDocument(
  path: string,
  role: string | undefined,
): { readonly document: LayoutDocument; readonly ofPlan: AskedLayout | undefined } {
  const value = readDocument(path);
  const ofPlan = planIn(value);
  const read = readLayout(ofPlan?.layout ?? value);
  if (read.kind === 'wrong') {
    const lines = read.problems.map(({ path: at, message }) => `  ${at === '' ? '' : `${at}: `}${message}`);
    throw new CliError(`${path} is not a valid layout:\n${lines.join('\n')}`);
  }
  return { document: read.kind === 'job' ? roleOf(read.document, path, role) : read.document, ofPlan };
}

/** One role with the mesh it runs on. */
function roleOf(job: JobLayout, path: string, name: string | undefined): LayoutDocument {
  const role = name === undefined ? undefined : job.roles[name];
  if (role === undefined) {
    const what = name === undefined ? 'holds a job of several roles' : `has no role "${name}"`;
    throw new CliError(`${path} ${what}; choose one with --role: ${Object.keys(job.roles).join(', ')}.`);
  }
  const mesh = job.meshes[job.roleMesh[name ?? ''] ?? ''];
  return { ...role, ...(mesh === undefined ? {} : { mesh }) };
}

/** One plan of an answer: its layout stands beside its prediction. */
function planIn(value: unknown): AskedLayout | undefined {
  if (typeof value !== 'object' || value === null || !('prediction' in value) || !('layout' in value)) return undefined;
  return value as unknown as AskedLayout;
}

function knownOf({ model, batch, engine, mesh, lora, packing }: LayoutDocument): Partial<PlanRequestInput> {
  return {
    ...modelOfDocument(model),
    ...(batch === undefined ? {} : { globalBatchSize: batch.globalBatchSize }),
    ...(batch?.sequenceLength === undefined ? {} : { sequenceLength: batch.sequenceLength }),
    ...(engine === undefined ? {} : { stack: [engine.name, engine.version].filter(Boolean).join(' ') }),
    ...(lora === undefined ? {} : { lora }),
    ...(packing === undefined ? {} : { packing }),
    ...(mesh === undefined ? {} : { cluster: clusterOf(mesh) }),
  };
}

function modelOfDocument(model: LayoutDocument['model']): Pick<PlanRequestInput, 'model' | 'modelShape'> {
  if (model === undefined) return {};
  if (typeof model === 'string') return { model };
  const shape = ModelShape.safeParse(model);
  return shape.success ? { modelShape: shape.data } : {};
}

/** Segments become islands; their GPUs are planned as those of the first, each at its relative speed. */
function clusterOf({ gpusPerNode, scaleUpDomainGpus, segments }: DeviceMesh): PlanRequestInput['cluster'] {
  const [first] = segments;
  const gpus = segments.reduce((sum, { nodes }) => sum + nodes * gpusPerNode, 0);
  const islands = segments.map(({ nodes, network, relativeSpeed }) => ({
    gpus: nodes * gpusPerNode,
    nicKind: network,
    ...(relativeSpeed === undefined ? {} : { relativeSpeed }),
  }));
  return {
    gpu: first?.gpu ?? '',
    gpus,
    gpusPerNode,
    ...(scaleUpDomainGpus === undefined ? {} : { scaleUpDomainGpus }),
    ...(first === undefined ? {} : { nicKind: first.network }),
    ...(islands.length > 1 ? { islands } : {}),
  };
}

import { ModelShape, readLayout, type DeviceMesh, type LayoutDocument } from '@coxswain/layout';
import type { AskedLayout, PlanRequestInput } from '@coxswain/planner';
import { CliError } from './cli-error.ts';
import { readDocument } from './read-document.ts';

export interface LayoutFile {
  readonly asked: AskedLayout;
  /** What the file says of the job besides its layout. */
  readonly known: Partial<PlanRequestInput>;
}

/**
 * A layout from a YAML or JSON file: a layout document as in `examples/layouts`, a layout alone, or one plan of a plan's answer
 * (`coxswain plan --json | jq .best`). `microBatchSize` of the command line comes first; without one, 1.
 */
export function readLayoutFile(path: string, microBatchSize?: number): LayoutFile {
  const value = readDocument(path);
  const ofPlan = planIn(value);
  const read = readLayout(ofPlan?.layout ?? value);
  if (read.kind === 'wrong') {
    const lines = read.problems.map(({ path: at, message }) => `  ${at === '' ? '' : `${at}: `}${message}`);
    throw new CliError(`${path} is not a valid layout:\n${lines.join('\n')}`);
  }
  if (read.kind === 'job') {
    const roles = Object.keys(read.document.roles).join(', ');
    throw new CliError(
      `${path} holds a job of several roles (${roles}); put the layout of one role in a file of its own.`,
    );
  }
  const { layout, batch } = read.document;
  const size = microBatchSize ?? ofPlan?.microBatchSize ?? batch?.microBatchSize ?? 1;
  return { asked: { layout, microBatchSize: size }, known: knownOf(read.document) };
}

/** One plan of an answer: its layout stands beside its prediction. */
function planIn(value: unknown): AskedLayout | undefined {
  if (typeof value !== 'object' || value === null || !('prediction' in value) || !('layout' in value)) return undefined;
  return value as unknown as AskedLayout;
}

function knownOf({ model, batch, engine, mesh }: LayoutDocument): Partial<PlanRequestInput> {
  return {
    ...modelOfDocument(model),
    ...(batch === undefined ? {} : { globalBatchSize: batch.globalBatchSize }),
    ...(batch?.sequenceLength === undefined ? {} : { sequenceLength: batch.sequenceLength }),
    ...(engine === undefined ? {} : { stack: [engine.name, engine.version].filter(Boolean).join(' ') }),
    ...(mesh === undefined ? {} : { cluster: clusterOf(mesh) }),
  };
}

/** Of a model that is no transformer only the layout can be checked: it must be named otherwise to be predicted. */
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

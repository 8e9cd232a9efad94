/** A layout document as the question to an engine that it is. */
import { ENGINE_RELEASES, type RenderingRequest } from '@coxswain/api-types';
import { type DeviceMesh, type LayoutDocument, type ModelShape, worldSize } from '@coxswain/layout';
import { isEngineName } from './engine-list.ts';

type Fields = Partial<Record<keyof RenderingRequest, unknown>>;

/** A layout with what is known of its job. */
export interface AskedOfEngine extends Pick<LayoutDocument, 'layout' | 'model' | 'batch' | 'lora' | 'packing'> {
  readonly engine: NonNullable<LayoutDocument['engine']>;
  readonly mesh?: DeviceMesh | undefined;
}

/** The fields of a rendering request that a layout document has. */
export function fieldsOfDocument({ engine, layout, model, batch, lora, packing, mesh }: AskedOfEngine): Fields {
  return defined({
    engine: defined({ name: engine.name, release: knownRelease(engine), options: engine.options }),
    layout,
    model: modelFields(model, batch?.sequenceLength),
    training: defined({
      globalBatchSize: batch?.globalBatchSize,
      microBatchSize: batch?.microBatchSize,
      lora,
      packing,
    }),
    ...(mesh === undefined ? {} : meshFields(mesh, layout)),
  });
}

/** The release of a document if it can be rendered. */
export function knownRelease({ name, version }: AskedOfEngine['engine']): string | undefined {
  return isEngineName(name) ? ENGINE_RELEASES[name].find((release) => release === version) : undefined;
}

/** The model of a document, with the length of its samples. */
export function modelFields(
  model: LayoutDocument['model'],
  sequenceLength: number | undefined,
): Fields['model'] & (object | undefined) {
  if (model === undefined || (typeof model === 'object' && 'kind' in model)) return undefined;
  return defined({ ...(typeof model === 'string' ? { preset: model } : sizesOf(model)), sequenceLength });
}

function sizesOf({ name: _name, ...sizes }: ModelShape): object {
  return sizes;
}

const MOST_RANKS_PER_POD = 16;

/** Only if the machines hold exactly the ranks: otherwise the pod of each machine is unknown. */
export function meshFields({ gpusPerNode, segments }: DeviceMesh, layout: LayoutDocument['layout']): Fields {
  const gpusPerPod = Math.min(gpusPerNode, worldSize(layout));
  const nodes = segments.reduce((sum, segment) => sum + segment.nodes, 0);
  const nicClasses = segments.flatMap((segment) => Array<string>(segment.nodes).fill(segment.network));
  return defined({
    gpusPerPod: gpusPerPod > MOST_RANKS_PER_POD ? undefined : gpusPerPod,
    nicClasses: nodes * gpusPerNode === worldSize(layout) ? nicClasses : undefined,
    gpu: segments[0]?.gpu,
  });
}

function defined(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
}

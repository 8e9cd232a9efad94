/** What becomes of the layout of a published system today: the engines that run it as it is, and where its ranks go. */
import { ENGINE_NAMES, ENGINES_WITHOUT_PROGRAM, type EngineName, RenderingRequest } from '@coxswain/api-types';
import { renderRequest } from '@coxswain/engines';
import { type AcrossIslands, assumedTraffic, type Fabric, type FabricNode, placeGang } from '@coxswain/fabric';
import type { DeviceMesh, RoleDocument } from '@coxswain/layout';

/** They run a program of the user, and the layout is what that program makes of it. */
const OF_USER: readonly EngineName[] = ['command', 'custom'];

/** In words: the engines of jobs that run every option of the layout, or how a program of the user does, or why none can. */
export function renderedToday(role: RoleDocument): string {
  const engines = ENGINE_NAMES.filter((name) => !OF_USER.includes(name) && refusalOf(role, name) === undefined);
  if (engines.length > 0) return engines.join(', ');
  const refusal = refusalOf(role, 'custom');
  return refusal === undefined ? 'custom, by your program' : `none: ${refusal}`;
}

/** Undefined if the engine runs the whole layout. */
function refusalOf({ layout, batch, model, lora }: RoleDocument, name: EngineName): string | undefined {
  const { sequenceLength, globalBatchSize, microBatchSize } = batch ?? {};
  const isShape = typeof model === 'object' && !('kind' in model);
  const { name: _title, ...sizes } = isShape ? model : { name: '' };
  const request = RenderingRequest.safeParse({
    engine: { name, ...(ENGINES_WITHOUT_PROGRAM.includes(name) ? { command: ['python3', 'train.py'] } : {}) },
    layout,
    ...(typeof model === 'string' || isShape
      ? { model: { ...(isShape ? sizes : { preset: model }), ...defined({ sequenceLength }) } }
      : {}),
    training: defined({ globalBatchSize, microBatchSize, lora }),
  });
  if (!request.success) return 'a job has no field for the model';
  const { refusal } = renderRequest(request.data);
  return refusal === null ? undefined : `${refusal.why}; ${refusal.fallback}`;
}

function defined(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Nodes below one leaf switch, and leaf switches below one spine, of the fabrics that the examples are placed on. */
const NODES_PER_LEAF = 32;
const LEAVES_PER_SPINE = 16;

/** In words, where the ranks go on the machines of the file, each segment an island of its own with leaf and spine switches. */
export function placeToday({ layout }: RoleDocument, mesh: DeviceMesh): string {
  const fabric = fabricOf(mesh);
  const place = (acrossIslands: AcrossIslands): ReturnType<typeof placeGang> =>
    placeGang({ layout, traffic: () => assumedTraffic(layout), acrossIslands }, { fabric, usedGpus: new Map() });
  const within = place('pipeline');
  // Stages cross islands of one kind of NIC; others reach each other over sockets alone.
  const outcome = within.kind === 'placed' || mesh.segments.length === 1 ? within : place('anyGroup');
  if (outcome.kind !== 'placed') return `not placed: ${outcome.message}`;
  const overSockets = outcome === within ? '' : ', joined by sockets';
  const names = new Set(outcome.nodes);
  const used = fabric.nodes.filter(({ name }) => names.has(name));
  const count = (of: (node: FabricNode) => string | undefined): number => new Set(used.map(of)).size;
  return `${[
    counted(used.length, ['node', 'nodes']),
    counted(
      count(({ switches }) => switches[0]),
      ['leaf', 'leaves'],
    ),
    counted(
      count(({ island }) => island),
      ['island', 'islands'],
    ),
  ].join(', ')}${overSockets}`;
}

function counted(count: number, [one, many]: readonly [string, string]): string {
  return `${count} ${count === 1 ? one : many}`;
}

function fabricOf({ gpusPerNode, scaleUpDomainGpus = gpusPerNode, segments }: DeviceMesh): Fabric {
  const nodesPerDomain = Math.max(1, Math.floor(scaleUpDomainGpus / gpusPerNode));
  const nodes = segments.flatMap(({ nodes: count, network, gpu }, segment) =>
    Array.from({ length: count }, (_, index): FabricNode => {
      const leaf = Math.floor(index / NODES_PER_LEAF);
      const spine = `s${segment}-${Math.floor(leaf / LEAVES_PER_SPINE)}`;
      return {
        name: `node-${segment}-${index}`,
        gpus: gpusPerNode,
        nvlinkDomain: `nvl-${segment}-${Math.floor(index / nodesPerDomain)}`,
        island: `island-${segment}`,
        switches: [`${spine}/l${leaf}`, spine],
        nicType: network,
        gpuType: gpu,
        usable: true,
      };
    }),
  );
  return { nodes };
}

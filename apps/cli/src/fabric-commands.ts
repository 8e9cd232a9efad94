import {
  fabricProblems,
  type FabricCapacity,
  type FabricNode,
  type FabricProblem,
  namedSwitch,
  placeName,
  summarize,
} from '@coxswain/fabric';
import { fabricDrawing } from '@coxswain/plan-report';
import { formatCount } from '@coxswain/units';
import type { Command } from 'commander';
import { columns, render } from './output.ts';
import { clusterOptions, type ClusterOptions, type SeenCluster, seenCluster } from './seen-cluster.ts';
import type { Session } from './session.ts';
import { replaceFile } from './write-file.ts';

const STANDARD_OUTPUT = '-';

/** What `coxswain fabric show --json` prints. */
interface FabricAnswer {
  readonly summary: ReturnType<typeof summarize>;
  /** `usedGpus`: what pods take of it. */
  readonly nodes: readonly (FabricNode & { readonly usedGpus: number })[];
  readonly problems: readonly FabricProblem[];
}

/** What connects the nodes of a cluster, as placement sees it; no server of ours is asked. */
export function addFabricCommands(program: Command, session: Session): void {
  const fabric = program.command('fabric').description('what connects the nodes of a cluster, as placement sees it');

  clusterOptions(fabric.command('show'))
    .description('islands, spines and leaves with what is free, and what labels contradict')
    .option('--json', 'the same as --output json')
    .action(async (options: ClusterOptions & { readonly json?: true }) => {
      const answer = fabricAnswer(await seenCluster(options));
      session.print(render(answer, options.json === true ? 'json' : session.outputFormat(), fabricText));
    });

  clusterOptions(fabric.command('draw'))
    .description('the same as a picture in SVG')
    .option('--out <file>', 'where to (default: -, standard output)')
    .addHelpText('after', DRAW_EXAMPLES)
    .action(async ({ out, ...options }: ClusterOptions & { readonly out?: string }) => {
      const svg = fabricDrawing(await seenCluster(options));
      if (out === undefined || out === STANDARD_OUTPUT) session.print(svg.trimEnd());
      else replaceFile(out, svg);
    });
}

const DRAW_EXAMPLES = `
A gang on it is drawn by coxswain place --draw.

Example:
  coxswain fabric draw --nodes nodes.json --busy pods.json --out fabric.svg`;

function fabricAnswer({ fabric, usedGpus, facts }: SeenCluster): FabricAnswer {
  return {
    summary: summarize(fabric),
    nodes: fabric.nodes.map((node) => ({ ...node, usedGpus: usedGpus.get(node.name) ?? 0 })),
    problems: fabricProblems(facts),
  };
}

/** More leaves than these are told as a number; all nodes are in JSON. */
const MOST_ROWS = 64;

function fabricText({ summary, nodes, problems }: FabricAnswer): string {
  const places = [...Map.groupBy(nodes, placeOf)].sort(([one], [other]) => (one < other ? -1 : 1));
  const rows = places.slice(0, MOST_ROWS).map(([, members]) => rowOf(members));
  const rest = places.length - rows.length;
  const free = nodes.reduce((sum, node) => sum + freeOf(node), 0);
  return [
    `${formatCount(summary.nodes, 'node')} with ${formatCount(summary.gpus, 'GPU')}, ${free.toLocaleString('en')} free; ${formatCount(summary.islandCount, 'island')}, ${formatCount(summary.nvlinkDomains, 'NVLink domain')} of several nodes`,
    `${columns([['ISLAND', 'SPINE', 'LEAF', 'NODES', 'GPUS', 'FREE', 'GPU', 'NETWORK'], ...rows])}${rest === 0 ? '' : `\n… and ${rest} more; --json has every node`}`,
    problems.map(({ message }) => `! ${message}`).join('\n'),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function placeOf({ island, switches }: FabricNode): string {
  return [island, namedSwitch(switches, 1), namedSwitch(switches, 0)].join('\n');
}

function rowOf(members: FabricAnswer['nodes']): readonly string[] {
  const [{ island = '', switches = [] } = {}] = members;
  const [leaf, spine] = [0, 1].map((tier) => namedSwitch(switches, tier));
  const sum = (of: (node: FabricAnswer['nodes'][number]) => number): string =>
    String(members.reduce((total, node) => total + of(node), 0));
  return [
    placeName(island),
    spine === undefined ? '-' : placeName(spine),
    leaf === undefined ? '-' : placeName(leaf),
    String(members.length),
    sum(({ gpus }) => gpus),
    sum(freeOf),
    all(members, ({ gpuType }) => gpuType),
    all(members, networkOf),
  ];
}

function freeOf({ usable, gpus, usedGpus }: FabricAnswer['nodes'][number]): number {
  return usable ? Math.max(0, gpus - usedGpus) : 0;
}

function networkOf({ nicType, nicSpeedGbps, nicCount }: FabricCapacity['fabric']['nodes'][number]): string | undefined {
  const speed = nicSpeedGbps === undefined ? '' : ` ${nicSpeedGbps} Gb/s`;
  return nicType === undefined ? undefined : `${nicCount === undefined ? '' : `${nicCount} x `}${nicType}${speed}`;
}

/** What all say, or that they differ. */
function all(members: FabricAnswer['nodes'], of: (node: FabricNode) => string | undefined): string {
  const said = new Set(members.map(of));
  return said.size > 1 ? 'several' : ([...said][0] ?? '-');
}

import type { RecordedFabric } from '@coxswain/api-types';
import {
  fabricProblems,
  type FabricNode,
  type FabricProblem,
  namedSwitch,
  nodesOf,
  placeName,
  summarize,
  assumedReachSentence,
  unlabelledSentence,
} from '@coxswain/fabric';
import { fabricDrawing } from '@coxswain/plan-report';
import { formatCount } from '@coxswain/units';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { addFabricHistoryCommands, snapshotAt, snapshotLine, TIME_FORM } from './fabric-history-commands.ts';
import { columns, problemLines, render } from '../output/output.ts';
import type { ClusterOptions } from './cluster-options.ts';
import { clusterOptions, type ObservedCluster, observeCluster } from './observed-cluster.ts';
import type { Session } from '../session/session.ts';
import { time } from '../options/time-option.ts';
import { replaceFile } from '../files/write-file.ts';

const STANDARD_OUTPUT = '-';

/** What `coxswain fabric show --json` prints. */
interface FabricAnswer {
  readonly summary: ReturnType<typeof summarize>;
  /** `usedGpus`: what pods take of it. */
  readonly nodes: readonly (FabricNode & { readonly usedGpus: number })[];
  readonly problems: readonly FabricProblem[];
  /** Why nodes without a network label count as separate; absent if no such node is beside labelled ones. */
  readonly unlabelled?: string;
  /** That no label says whether nodes of one island reach each other; absent if a label does. */
  readonly assumedReach?: string;
}

type ShowOptions = ClusterOptions & { readonly json?: true; readonly at?: string };

/** What connects the nodes of a cluster, as placement sees it; no server of ours is asked but for what is recorded. */
export function addFabricCommands(program: Command, session: Session): void {
  const fabric = program
    .command('fabric')
    .description('show how the nodes of a cluster are connected, as placement uses it');

  clusterOptions(fabric.command('show'))
    .description('print islands, spines and leaves with their free GPUs, and labels that contradict each other')
    .option('--json', 'the same as --output json')
    .option('--at <time>', `show the fabric that the server recorded at this time (administrators): ${TIME_FORM}`, time)
    .action(async ({ json, at, ...options }: ShowOptions) => {
      const format = json === true ? 'json' : session.outputFormat();
      if (at === undefined) session.print(render(fabricAnswer(await observeCluster(options)), format, fabricText));
      else session.print(render(await recordedFabric(session, at, options), format, recordedText));
    });

  clusterOptions(fabric.command('draw'))
    .description('draw the fabric as SVG')
    .option('--out <file>', 'output file (default: -, standard output)')
    .addHelpText('after', DRAW_EXAMPLES)
    .action(async ({ out, ...options }: ClusterOptions & { readonly out?: string }) => {
      const svg = fabricDrawing(await observeCluster(options));
      if (out === undefined || out === STANDARD_OUTPUT) session.print(svg.trimEnd());
      else replaceFile(out, svg);
    });

  addFabricHistoryCommands(fabric, session);
}

async function recordedFabric(session: Session, at: string, options: ClusterOptions): Promise<RecordedFabric> {
  const [other] = Object.keys(options);
  if (other !== undefined)
    throw new CliError(
      `--at reads what the server recorded, so it cannot be combined with --${other}; leave one of them out.`,
    );
  const { id } = await snapshotAt(session, at);
  return session.connect().fabricSnapshot(id);
}

const DRAW_EXAMPLES = `
A gang on it is drawn by coxswain place --draw.

Example:
  coxswain fabric draw --nodes nodes.json --busy pods.json --out fabric.svg`;

function fabricAnswer({ fabric, usedGpus, facts, podProblems }: ObservedCluster): FabricAnswer {
  const unlabelled = unlabelledSentence(fabric);
  const assumedReach = assumedReachSentence(fabric.nodes);
  return {
    summary: summarize(fabric),
    nodes: fabric.nodes.map((node) => ({ ...node, usedGpus: usedGpus.get(node.name) ?? 0 })),
    problems: [...podProblems, ...fabricProblems(facts)],
    ...(unlabelled === undefined ? {} : { unlabelled }),
    ...(assumedReach === undefined ? {} : { assumedReach }),
  };
}

/** The table counts further leaves instead of listing them; JSON has all nodes. */
const MOST_ROWS = 64;

function fabricText({ summary, nodes, problems, unlabelled = '', assumedReach = '' }: FabricAnswer): string {
  const free = nodes.reduce((sum, node) => sum + freeOf(node), 0);
  return [
    `${formatCount(summary.nodes, 'node')} with ${formatCount(summary.gpus, 'GPU')}, ${free.toLocaleString('en')} free; ${formatCount(summary.islandCount, 'island')}, ${formatCount(summary.nvlinkDomains, 'NVLink domain')} of several nodes`,
    tableOf(nodes, freeOf),
    sourcesTable(summary.sources),
    unlabelled,
    assumedReach,
    problemLines(problems),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Where facts were read: labels, DRA attributes, device resources. */
function sourcesTable(sources: FabricAnswer['summary']['sources']): string {
  if (sources.length === 0)
    return 'No label or device describes the fabric; docs/reference/fabric.md lists the labels that Coxswain reads.';
  return columns([
    ['FACT', 'READ FROM', 'NODES'],
    ...sources.map(({ fact, key, nodes }) => [fact, key, String(nodes)]),
  ]);
}

function recordedText({ snapshot, ...recorded }: RecordedFabric): string {
  const nodes = nodesOf(recorded).map(({ name, gpus, place, hardware }) => ({
    name,
    gpus,
    ...place,
    ...{ gpuType: hardware.gpuType ?? undefined, nicType: hardware.nicType ?? undefined },
    ...{ nicSpeedGbps: hardware.nicSpeedGbps ?? undefined, nicCount: hardware.nicCount ?? undefined },
  }));
  const { islands, nvlinkDomains } = snapshot;
  const counted = `${formatCount(nodes.length, 'node')} with ${formatCount(snapshot.gpus, 'GPU')}; ${formatCount(islands, 'island')}, ${formatCount(nvlinkDomains, 'NVLink domain')} of several nodes`;
  return [snapshotLine(snapshot), counted, tableOf(nodes)].join('\n\n');
}

/** The columns of a table of nodes. */
type DescribedNode = Pick<FabricNode, 'gpus' | 'island' | 'switches'> & {
  readonly [fact in 'gpuType' | 'nicType']?: string | undefined;
} & { readonly [fact in 'nicSpeedGbps' | 'nicCount']?: number | undefined };

/** A row for each leaf; without `freeOf` the table has no column of free GPUs. */
function tableOf<N extends DescribedNode>(nodes: readonly N[], freeOf?: (node: N) => number): string {
  const places = [...Map.groupBy(nodes, placeOf)].sort(([one], [other]) => (one < other ? -1 : 1));
  const rows = places.slice(0, MOST_ROWS).map(([, members]) => rowOf(members, freeOf));
  const rest = places.length - rows.length;
  const free = freeOf === undefined ? [] : ['FREE'];
  const table = columns([['ISLAND', 'SPINE', 'LEAF', 'NODES', 'GPUS', ...free, 'GPU', 'NETWORK'], ...rows]);
  return `${table}${rest === 0 ? '' : `\n… and ${rest} more; --json has every node`}`;
}

function placeOf({ island, switches }: DescribedNode): string {
  return [island, namedSwitch(switches, 1), namedSwitch(switches, 0)].join('\n');
}

function rowOf<N extends DescribedNode>(members: readonly N[], freeOf?: (node: N) => number): readonly string[] {
  const [{ island = '', switches = [] } = {}] = members;
  const [leaf, spine] = [0, 1].map((tier) => namedSwitch(switches, tier));
  const sum = (of: (node: N) => number): string => String(members.reduce((total, node) => total + of(node), 0));
  return [
    placeName(island),
    spine === undefined ? '-' : placeName(spine),
    leaf === undefined ? '-' : placeName(leaf),
    String(members.length),
    sum(({ gpus }) => gpus),
    ...(freeOf === undefined ? [] : [sum(freeOf)]),
    all(members, ({ gpuType }) => gpuType),
    all(members, networkOf),
  ];
}

function freeOf({ usable, gpus, usedGpus }: FabricAnswer['nodes'][number]): number {
  return usable ? Math.max(0, gpus - usedGpus) : 0;
}

function networkOf({ nicType, nicSpeedGbps, nicCount }: DescribedNode): string | undefined {
  const speed = nicSpeedGbps === undefined ? '' : ` ${nicSpeedGbps} Gb/s`;
  return nicType === undefined ? undefined : `${nicCount === undefined ? '' : `${nicCount} x `}${nicType}${speed}`;
}

/** The value that all members share, or `several`. */
function all(members: readonly DescribedNode[], of: (node: DescribedNode) => string | undefined): string {
  const values = new Set(members.map(of));
  return values.size > 1 ? 'several' : ([...values][0] ?? '-');
}

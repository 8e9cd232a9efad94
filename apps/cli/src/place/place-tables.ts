import {
  BOUNDARIES,
  type Boundary,
  cheaperPodsText,
  type FabricNode,
  type GroupReach,
  isInOwnDomain,
  placeName,
} from '@coxswain/fabric';
import { formatLayout, type ParallelLayout } from '@coxswain/layout';
import { formatSeconds } from '@coxswain/plan-report';
import { formatBytes, formatCount } from '@coxswain/units';
import { columns, problemLines } from '../output/output.ts';
import { inOptions, type Placed, type PlaceAnswer } from './place-answer.ts';

/** The table counts further pods instead of listing them; JSON has all. */
const MOST_PODS = 32;

/** A placement as a person reads it: where, which groups reach how far, what crosses what, how long a step takes. */
export function placeText(answer: PlaceAnswer, layout: ParallelLayout, nodes: readonly FabricNode[]): string {
  const { placement, refusal, gpus, milliseconds, problems = [] } = answer;
  const shown = formatLayout(layout);
  if (placement === undefined) {
    const verdict = refusal?.kind === 'waiting' ? 'waits' : 'cannot be placed';
    const outcome = `${shown} on ${formatCount(gpus, 'GPU')} ${verdict}: ${refusal?.message ?? ''}`;
    return [outcome, problemLines(problems)].filter((part) => part !== '').join('\n\n');
  }
  const pods = podsOf(placement);
  const took = milliseconds < 1 ? 'under 1 ms' : `${Math.round(milliseconds)} ms`;
  return [
    `${shown} on ${formatCount(gpus, 'GPU')}: ${formatCount(pods.length, 'node')} with ${formatCount(placement.ranksPerPod, 'rank')} each, chosen in ${took}`,
    podTable(pods, nodes),
    groupTable(placement.groups),
    crossingTable(answer, placement),
    placement.assumedReach ?? '',
    otherPodsText(placement),
    stepText(placement),
    problemLines(problems),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

interface Pod {
  readonly node: string;
  readonly first: number;
  readonly last: number;
}

function podsOf({ ranks, ranksPerPod }: Placed): readonly Pod[] {
  return ranks
    .filter(({ rank }) => rank % ranksPerPod === 0)
    .map(({ rank, node }) => ({ node, first: rank, last: Math.min(rank + ranksPerPod, ranks.length) - 1 }));
}

function podTable(pods: readonly Pod[], nodes: readonly FabricNode[]): string {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const rows = pods.slice(0, MOST_PODS).map(({ node, first, last }) => {
    const { island = '', switches = [], nvlinkDomain = '' } = byName.get(node) ?? {};
    const domain = isInOwnDomain({ name: node, nvlinkDomain }) ? '-' : placeName(nvlinkDomain);
    const above = switches.slice(0, 2).map(placeName).join(' < ');
    return [
      first === last ? `${first}` : `${first}-${last}`,
      node,
      domain,
      above === '' ? '-' : above,
      placeName(island),
    ];
  });
  const rest = pods.length - rows.length;
  const more = rest === 0 ? '' : `\n… and ${rest} more; --json has every rank`;
  return `${columns([['RANKS', 'NODE', 'NVLINK DOMAIN', 'LEAF < SPINE', 'ISLAND'], ...rows])}${more}`;
}

const WITHIN: Readonly<Record<Boundary, string>> = {
  gpu: 'in a node',
  node: 'in an NVLink domain',
  nvlinkDomain: 'below a leaf',
  leaf: 'below a spine',
  spine: 'below a core',
  core: 'in an island',
  island: 'over islands',
};

function groupTable(groups: readonly GroupReach[]): string {
  const rows = groups.map(({ kind, groups: count, members, pattern, bytesPerPair, farthest }) => [
    kind,
    `${count} of ${members}`,
    `${formatBytes(pattern === 'allToAll' ? bytesPerPair * (members - 1) : bytesPerPair)}`,
    BOUNDARIES.flatMap((boundary) =>
      farthest[boundary] === undefined ? [] : [`${farthest[boundary]} ${WITHIN[boundary]}`],
    ).join(', '),
  ]);
  return rows.length === 0 ? '' : columns([['GROUPS', 'HOW MANY', 'SENT PER RANK', 'WHERE'], ...rows]);
}

const OVER: Readonly<Record<Boundary, string>> = {
  gpu: 'GPUs',
  node: 'nodes',
  nvlinkDomain: 'NVLink domains',
  leaf: 'leaves',
  spine: 'spines',
  core: 'cores',
  island: 'islands',
};

function crossingTable({ traffic }: PlaceAnswer, placement: Placed): string {
  const { crossingBytes, weightedBytes, lowerBoundWeightedBytes: least } = placement;
  const over = least > 0 ? (100 * (weightedBytes - least)) / least : 0;
  const bound = `\nWeighted by what crossing costs, ${over < 1e-6 ? 'no placement on what is free is better' : `at most ${over.toFixed(1)} % above the best on what is free`}.`;
  const rows = BOUNDARIES.filter((boundary) => crossingBytes[boundary] > 0).map((boundary) => [
    `between ${OVER[boundary]}`,
    formatBytes(crossingBytes[boundary]),
  ]);
  const assumed =
    traffic === 'assumed' ? '\nBytes are those of a typical model; set it with --model, --global-batch and --seq.' : '';
  return rows.length === 0 ? '' : `${columns([['CROSSES', 'BYTES PER STEP'], ...rows])}${bound}${assumed}`;
}

function otherPodsText({ cheaperPods }: Placed): string {
  return cheaperPods === undefined ? '' : inOptions(cheaperPodsText(cheaperPods));
}

function stepText({ step }: Placed): string {
  if (step === undefined) return '';
  const { scaleUpDomainGpus, scaleOutGbPerS } = step.network;
  const nvlink = scaleUpDomainGpus === undefined ? '' : ` with NVLink among ${scaleUpDomainGpus} GPUs`;
  const nics = scaleOutGbPerS === undefined ? '' : ` and ${scaleOutGbPerS * 8} Gb/s per GPU beyond`;
  return [`A step takes ${formatSeconds(step.stepTimeS)} here${nvlink}${nics}.`, ...step.leftOut].join('\n');
}

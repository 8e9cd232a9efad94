import type { FabricCapacity, FabricNode } from '@coxswain/fabric';
import { formatLayout, type ParallelLayout, type RankTable, rankTable, worldSize } from '@coxswain/layout';
import { formatCount } from '@coxswain/units';
import { boxesOf, type DrawnBox, WIDTH } from './fabric-boxes.ts';
import { FABRIC_HATCHES, FABRIC_STYLE } from './fabric-style.ts';
import { type Markup, markup } from './markup.ts';

/** A gang on the fabric: pod `i` is on `nodes[i]` and holds the ranks from `i * ranksPerPod` on. */
export interface DrawnGang {
  readonly layout: ParallelLayout;
  readonly nodes: readonly string[];
  readonly ranksPerPod: number;
}

/** Up to so many nodes have their name, and their ranks a number. */
const MOST_NAMED = 64;
const TOP = 78;
/** Stages that the legend names. */
const MOST_LEGEND = 12;
const LEGEND_STEP = 76;

interface Picture {
  readonly capacity: FabricCapacity;
  readonly members: ReadonlyMap<string, readonly Member[]>;
  readonly stages: number;
  readonly cell: number;
  readonly hasNames: boolean;
}

/** A rank on a GPU. */
interface Member {
  readonly rank: number;
  readonly stage: number;
  /** Such as `tensor 4, data 3, expert 1`. */
  readonly words: string;
}

/**
 * The fabric as one SVG that loads nothing. Islands, spines, leaves, NVLink domains and nodes are boxes in each other, with a cell for each GPU. The
 * gang's cells have the colour of their pipeline stage, and show the rank on hover. Above 1,024 nodes a leaf is one bar, or a spine or an island where leaves are as many. Every text is escaped.
 */
export function fabricDrawing(capacity: FabricCapacity, gang?: DrawnGang): string {
  const { nodes } = capacity.fabric;
  const hasNames = nodes.length <= MOST_NAMED;
  const cell = hasNames ? 20 : 7;
  const drawn = boxesOf(nodes, { hasNames, cell });
  const stages = gang?.layout.pipelineParallelDegree ?? 0;
  const members = gang === undefined ? new Map<string, Member[]>() : membersOf(gang);
  const picture: Picture = { capacity, members, stages, cell, hasNames };
  const title = gang === undefined ? 'Fabric' : `${formatLayout(gang.layout)} on ${worldSize(gang.layout)} GPUs`;
  const height = Math.ceil(TOP + drawn.height + 12);
  return markup`<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="fabric-title">
<title id="fabric-title">${title}</title>
<style>${FABRIC_STYLE}</style>
<defs>${FABRIC_HATCHES}</defs>
<rect class="page" width="${WIDTH}" height="${height}"></rect>
<text class="head" x="16" y="28">${title}</text>
<text class="note" x="16" y="46">${summaryOf(capacity, gang)}</text>
${legend(stages)}
<g transform="translate(0 ${TOP})">
${drawn.boxes.map((box) => drawnBox(box, picture))}</g>
</svg>
`.text;
}

function membersOf({ layout, nodes, ranksPerPod }: DrawnGang): ReadonlyMap<string, readonly Member[]> {
  const { ranks } = rankTable(layout);
  const members = ranks.map((rank) => ({ rank: rank.rank, stage: rank.dense.pipeline ?? 0, words: wordsOf(rank) }));
  return new Map(nodes.map((node, pod) => [node, members.slice(pod * ranksPerPod, (pod + 1) * ranksPerPod)]));
}

function wordsOf({ dense, expert }: RankTable['ranks'][number]): string {
  const indexes = [
    ['tensor', dense.tensor],
    ['context', dense.context],
    ['data', dense.data],
    ['expert', expert?.expert],
  ] as const;
  return indexes.flatMap(([axis, index]) => (index === undefined ? [] : [`${axis} ${index}`])).join(', ');
}

function summaryOf(capacity: FabricCapacity, gang: DrawnGang | undefined): string {
  const { nodes } = capacity.fabric;
  const total = nodes.reduce((sum, { gpus }) => sum + gpus, 0);
  const free = nodes.reduce((sum, node) => sum + (node.usable ? node.gpus - usedOf(node, capacity) : 0), 0);
  const unusable = nodes.filter(({ usable }) => !usable).length;
  const without = gang === undefined ? '' : ' without this gang';
  return `${formatCount(nodes.length, 'node')}, ${formatCount(total, 'GPU')}; ${free} free${without}; ${formatCount(unusable, 'node')} out of use`;
}

function drawnBox(box: DrawnBox, picture: Picture): Markup {
  const [first] = box.nodes;
  if (first === undefined) {
    return markup`<rect class="frame d${box.depth % 2}" ${at(box)} rx="4"></rect><text class="label" x="${round(box.x + 6)}" y="${round(box.y + 11)}">${box.label}</text>
`;
  }
  return box.isBar ? drawnBar(box, picture) : drawnNode(box, first, picture);
}

function drawnNode(box: DrawnBox, node: FabricNode, picture: Picture): Markup {
  const used = usedOf(node, picture.capacity);
  const top = box.y + (picture.hasNames ? 14 : 2);
  const members = picture.members.get(node.name) ?? [];
  const cells = Array.from({ length: node.gpus }, (_, gpu) => {
    const square = {
      x: box.x + 2.5 + gpu * picture.cell,
      y: top + 0.5,
      width: picture.cell - 1,
      height: picture.cell - 1,
    };
    const member = members[gpu];
    if (member !== undefined) return drawnRank(member, square, { ...picture, where: `GPU ${gpu} of ${node.name}` });
    // Which GPUs other jobs use is unknown, so they are drawn from the right.
    const state = !node.usable ? 'unusable' : gpu >= node.gpus - used ? 'busy' : 'free';
    return markup`<rect class="${state}" ${at(square)}></rect>`;
  });
  const name = picture.hasNames
    ? markup`<text class="name" x="${round(box.x + 2)}" y="${round(box.y + 10)}">${box.label}</text>`
    : undefined;
  const state = node.usable ? `${used} of ${formatCount(node.gpus, 'GPU')} taken by others` : 'out of use';
  return markup`<g><title>${node.name}: ${state}</title>${name}${cells}</g>
`;
}

type Square = Pick<DrawnBox, 'x' | 'y' | 'width' | 'height'>;

function drawnRank(
  { rank, stage, words }: Member,
  square: Square,
  { stages, hasNames, where }: Pick<Picture, 'stages' | 'hasNames'> & { readonly where: string },
): Markup {
  const [x, y] = [square.x + square.width / 2, square.y + square.height / 2 + 3];
  const number = hasNames ? markup`<text class="rank" x="${round(x)}" y="${round(y)}">${rank}</text>` : undefined;
  return markup`<g><title>rank ${rank}, stage ${stage}, ${words}: ${where}</title><rect fill="${stageColour(stage, stages)}" ${at(square)}></rect>${number}</g>`;
}

/** A leaf as one bar: GPUs of the gang by stage, GPUs of others, unusable GPUs and free GPUs. */
function drawnBar(box: DrawnBox, { capacity, members, stages }: Picture): Markup {
  const here = box.nodes.flatMap(({ name }) => members.get(name) ?? []);
  const total = box.nodes.reduce((sum, { gpus }) => sum + gpus, 0);
  const unusable = box.nodes.reduce((sum, { usable, gpus }) => sum + (usable ? 0 : gpus), 0);
  const busy = box.nodes.reduce((sum, node) => sum + (node.usable ? usedOf(node, capacity) : 0), 0);
  const free = Math.max(0, total - unusable - busy - here.length);
  const ofStages = [...Map.groupBy(here, ({ stage }) => stage)].sort(([one], [other]) => one - other);
  const parts: readonly (readonly [look: Markup, gpus: number])[] = [
    ...ofStages.map(([stage, ranks]) => [markup`fill="${stageColour(stage, stages)}"`, ranks.length] as const),
    [markup`class="busy"`, busy],
    [markup`class="unusable"`, unusable],
    [markup`class="free"`, free],
  ];
  let x = box.x;
  const rects = parts
    .filter(([, gpus]) => gpus > 0)
    .map(([look, gpus]) => {
      const width = (box.width * gpus) / Math.max(1, total);
      const rect = markup`<rect ${look} ${at({ x, y: box.y + 13, width, height: 11 })}></rect>`;
      x += width;
      return rect;
    });
  return markup`<g><title>${box.label}: ${formatCount(box.nodes.length, 'node')}; ${formatCount(here.length, 'GPU')} of this gang, ${busy} of others, ${unusable} out of use, ${free} free</title><text class="name" x="${round(box.x)}" y="${round(box.y + 10)}">${box.label}</text>${rects}</g>
`;
}

function usedOf(node: FabricNode, { usedGpus }: FabricCapacity): number {
  return Math.min(node.gpus, usedGpus.get(node.name) ?? 0);
}

function legend(stages: number): Markup {
  const items = [
    { label: 'free', look: markup`class="free"` },
    { label: 'taken', look: markup`class="busy"` },
    { label: 'out of use', look: markup`class="unusable"` },
    ...Array.from({ length: Math.min(stages, MOST_LEGEND) }, (_, stage) => ({
      label: `stage ${stage}${stage === MOST_LEGEND - 1 && stages > MOST_LEGEND ? ' …' : ''}`,
      look: markup`fill="${stageColour(stage, stages)}"`,
    })),
  ];
  return markup`<g>${items.map(
    ({ label, look }, index) =>
      markup`<rect ${look} x="${16 + index * LEGEND_STEP}" y="56" width="10" height="10"></rect><text class="note" x="${30 + index * LEGEND_STEP}" y="65">${label}</text>`,
  )}</g>`;
}

/** From blue over green to red, as a sample passes through; neighbours differ in lightness too. */
function stageColour(stage: number, stages: number): string {
  const along = stages <= 1 ? 0 : stage / (stages - 1);
  return `hsl(${Math.round(215 * (1 - along))}, 65%, ${stage % 2 === 0 ? 58 : 70}%)`;
}

function at({ x, y, width, height }: Square): Markup {
  return markup`x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

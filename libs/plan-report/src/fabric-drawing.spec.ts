import type { FabricNode } from '@coxswain/fabric';
import { aFabricCapacity, aFabricNode } from '@coxswain/fabric/testing';
import type { ParallelLayout } from '@coxswain/layout';
import { boxesOf, type DrawnBox } from './fabric-boxes.ts';
import { fabricDrawing } from './fabric-drawing.ts';

/** Nodes below two leaves of a spine for every sixteen. */
function nodes(count: number, parts: Partial<FabricNode> = {}): readonly FabricNode[] {
  return Array.from({ length: count }, (_, index) =>
    aFabricNode({ name: `n${index}`, switches: [`l${index >> 3}`, `s${index >> 4}`], ...parts }),
  );
}

const LAYOUT: ParallelLayout = { tensorParallelDegree: 8, pipelineParallelDegree: 2, dataParallelDegree: 1 };
const timesIn = (svg: string, text: string): number => svg.split(text).length - 1;

describe('the picture of a fabric', () => {
  const gang = { layout: LAYOUT, nodes: ['n3', 'n1'], ranksPerPod: 8 };
  const few = fabricDrawing(aFabricCapacity(nodes(16), { n0: 8, n2: 3 }), gang);

  it.each([
    ['a cell for each GPU that is free', 'class="free" x', 16 * 8 - 16 - 11 + 1],
    ['a cell for each GPU that others hold', 'class="busy" x', 11 + 1],
    ['a frame for island, spine and two leaves', 'class="frame', 4],
    ['the number of each rank', 'class="rank"', 16],
    [
      'the place of each rank in its groups',
      '<title>rank 9, stage 1, tensor 1, context 0, data 0: GPU 1 of n1</title>',
      1,
    ],
  ])('has %s', (_sentence, text, count) => {
    expect(timesIn(few, text)).toBe(count);
  });

  it('gives the ranks of a stage one colour, and another stage another one', () => {
    const colourOf = (rank: number): string | undefined =>
      new RegExp(`<title>rank ${rank},.*?fill="(.*?)"`).exec(few)?.[1];
    expect(colourOf(0)).toBe(colourOf(7));
    expect(colourOf(8)).toBe(colourOf(15));
    expect(colourOf(0)).not.toBe(colourOf(8));
  });

  it('shows nodes that take no pods', () => {
    const svg = fabricDrawing(aFabricCapacity(nodes(2, { usable: false })));
    expect(timesIn(svg, 'class="unusable" x')).toBe(16 + 1);
    expect(svg).toContain('2 nodes, 16 GPUs; 0 free; 2 nodes out of use');
  });

  it('escapes every name', () => {
    const evil = '</title><script>alert(1)</script>';
    const node = aFabricNode({ name: evil, island: evil, nvlinkDomain: evil, switches: [evil, evil] });
    const svg = fabricDrawing(aFabricCapacity([node]), { layout: LAYOUT, nodes: [evil], ranksPerPod: 8 });
    expect(svg).not.toContain('<script');
    expect(svg).toContain('&lt;script&gt;');
  });

  it.each<readonly [sentence: string, drawn: readonly FabricNode[]]>([
    ['10,000 nodes below leaves', nodes(10_000)],
    ['10,000 nodes with a leaf each', nodes(10_000).map((node) => ({ ...node, switches: [node.name, 's'] }))],
    ['10,000 nodes with an island each', nodes(10_000).map((node) => ({ ...node, island: node.name }))],
    ['10,000 nodes that tell no switch', nodes(10_000, { switches: [] })],
    ['150,000 nodes that tell no switch, more than a call has arguments', nodes(150_000, { switches: [] })],
    ['1,024 nodes of 16 GPUs', nodes(1024, { gpus: 16 })],
  ])('is bounded: %s', (_sentence, drawn) => {
    expect(fabricDrawing(aFabricCapacity(drawn)).length).toBeLessThan(2_000_000);
  });

  it('has no frame for a switch that no label names', () => {
    const drawn = [
      aFabricNode({ name: 'a', switches: ['topograph:tier-1=s1/?node:a', 'topograph:tier-1=s1'] }),
      aFabricNode({ name: 'b', switches: ['?topograph:tier-0=l2/tier-0=l2', '?topograph:tier-0=l2'] }),
    ];
    const labels = [...fabricDrawing(aFabricCapacity(drawn)).matchAll(/class="label"[^>]*>([^<]*)</g)];
    expect(labels.map(([, label]) => label).sort()).toEqual(['island ib', 'leaf l2', 'spine s1']);
  });

  it('counts in its bars what single cells would show', () => {
    const names = Array.from({ length: 2 }, (_, index) => `n${index}`);
    const svg = fabricDrawing(aFabricCapacity(nodes(2000), { n2: 8, n3: 4 }), {
      layout: LAYOUT,
      nodes: names,
      ranksPerPod: 8,
    });
    expect(svg).toContain('leaf l0: 8 nodes; 16 GPUs of this gang, 12 of others, 0 out of use, 36 free');
  });
});

describe('boxes', () => {
  it.each([16, 100, 512, 3000])('of %d nodes lie within the picture and do not overlap their like', (count) => {
    const { boxes, width } = boxesOf(nodes(count), { cell: 7, hasNames: false });
    expect(width).toBeLessThanOrEqual(1240);
    const shown = boxes.filter((box) => box.nodes.length > 0).slice(0, 400);
    const overlap = (one: DrawnBox, other: DrawnBox): boolean =>
      one.x < other.x + other.width &&
      other.x < one.x + one.width &&
      one.y < other.y + other.height &&
      other.y < one.y + one.height;
    expect(shown.filter((one, at) => shown.slice(at + 1).some((other) => overlap(one, other)))).toEqual([]);
  });
});

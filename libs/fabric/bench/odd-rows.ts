/** Fabrics as nobody would build them, and layouts as few would choose them, a gang for each. */
import type { ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { aFabricNode } from '../src/testing/index.ts';
import { type BenchFabric, randomFrom } from './fabrics.ts';
import type { BenchGang } from './gangs.ts';

interface OddRow {
  readonly fabric: BenchFabric;
  readonly gang: BenchGang;
}

/** Leaf and spine of node `index`; undefined: no switch is told. */
type SwitchesOf = (index: number) => readonly string[];

const below =
  (perLeaf: number, perSpine: number): SwitchesOf =>
  (index) => [`l${Math.floor(index / perLeaf)}`, `s${Math.floor(index / perSpine)}`];

function odd(name: string, nodes: number, switchesOf: SwitchesOf, layout: ParallelLayout): OddRow {
  const members = Array.from({ length: nodes }, (_, index) =>
    aFabricNode({ name: `n${index}`, switches: switchesOf(index) }),
  );
  const { tensorParallelDegree: tp, pipelineParallelDegree: pp, dataParallelDegree: dp } = layout;
  return { fabric: { name, gpusPerNode: 8, nodes: members }, gang: { name: `TP${tp} PP${pp} DP${dp}`, layout } };
}

/** Domains of 1 to 18 nodes of 4 GPUs. */
function unequalDomains(): OddRow {
  const random = randomFrom(7);
  const nodes = Array.from({ length: 20 }, (_, domain) =>
    Array.from({ length: 1 + Math.floor(random() * 18) }, () => domain),
  ).flat();
  const members = nodes.map((domain, index) =>
    aFabricNode({
      name: `n${index}`,
      gpus: 4,
      switches: [`l${domain}`, `s${Math.floor(domain / 4)}`],
      nvlinkDomain: `d${domain}`,
    }),
  );
  const gang = { name: 'TP16 PP4 DP8', layout: dense(16, 4, 8) };
  return { fabric: { name: 'domains of 1 to 18 nodes', gpusPerNode: 4, nodes: members }, gang };
}

/** Every third node has four GPUs. */
function fourAndEight(): OddRow {
  const row = odd('nodes of 4 and 8 GPUs', 120, below(8, 32), dense(8, 4, 16));
  const nodes = row.fabric.nodes.map((node, index) => ({ ...node, gpus: index % 3 === 0 ? 4 : 8 }));
  return { ...row, fabric: { ...row.fabric, nodes } };
}

function dense(tp: number, pp: number, dp: number, more: Partial<ParallelLayout> = {}): ParallelLayout {
  return aLayout({ tensorParallelDegree: tp, pipelineParallelDegree: pp, dataParallelDegree: dp, ...more });
}

const dataInside: Partial<ParallelLayout> = {
  contextParallelDegree: 4,
  rankOrder: ['tensor', 'data', 'context', 'pipeline'],
};

export const ODD_ROWS: readonly OddRow[] = [
  odd(
    'a leaf of 40, and 20 of two',
    80,
    (index) => (index < 40 ? ['a', 'A'] : [`b${Math.floor(index / 2)}`, 'B']),
    dense(8, 4, 16),
  ),
  odd('one node per leaf', 96, (index) => [`l${index}`, `s${index % 8}`], dense(8, 4, 16)),
  unequalDomains(),
  fourAndEight(),
  odd('two spines of 37', 74, (index) => [`l${Math.floor(index / 4)}`, index < 37 ? 'a' : 'b'], dense(8, 4, 16)),
  odd('two spines of 50 and 20', 70, (index) => [`l${Math.floor(index / 4)}`, index < 50 ? 'a' : 'b'], dense(8, 2, 24)),
  odd('no switch told', 80, () => [], dense(8, 4, 16)),
  odd('leaves alone', 90, (index) => [`l${Math.floor(index / 7)}`], dense(8, 4, 16)),
  odd('leaves of several spines', 96, (index) => [`l${index % 4}`, `s${Math.floor(index / 16)}`], dense(8, 4, 16)),
  odd('leaves of 6, primes', 80, below(6, 30), dense(8, 5, 13)),
  odd('leaves of 3, long pipelines', 90, below(3, 15), dense(8, 16, 4)),
  odd('leaves of 6, data inside', 90, below(6, 24), dense(8, 4, 4, dataInside)),
  odd('leaves of 6, experts', 90, below(6, 24), dense(1, 2, 256, { expert: { expertParallelDegree: 256 } })),
];

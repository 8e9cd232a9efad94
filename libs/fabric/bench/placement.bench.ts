/** Time to place 16,384 GPUs (2,048 nodes of 8) in a cluster a quarter larger. Run: `node libs/fabric/bench/placement.bench.ts`. */
import { aLayout } from '@coxswain/layout/testing';
import { placeGang } from '../src/index.ts';
import { aFabricCapacity, aFabricNode } from '../src/testing/index.ts';

const NODES = 2_560;
const nodes = Array.from({ length: NODES }, (_, index) =>
  aFabricNode({
    name: `node-${index}`,
    nvlinkDomain: `domain-${Math.floor(index / 8)}`,
    island: `island-${Math.floor(index / 640)}`,
  }),
);
const layout = aLayout({ tensorParallelDegree: 8, pipelineParallelDegree: 16, dataParallelDegree: 128 });

for (const [name, used] of [
  ['empty', {}],
  [
    'every tenth node partly used',
    Object.fromEntries(nodes.flatMap((node, index) => (index % 10 === 0 ? [[node.name, 4]] : []))),
  ],
] as const) {
  const capacity = aFabricCapacity(nodes, used);
  const startedMs = performance.now();
  const outcome = placeGang({ layout }, capacity);
  const tookMs = performance.now() - startedMs;
  console.log(`${name}: ${outcome.kind} in ${tookMs.toFixed(1)} ms`);
  if (tookMs > 1_000) process.exitCode = 1;
}

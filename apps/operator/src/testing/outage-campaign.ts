/**
 * An outage of the API server with every default controller on, as long as asked: ranks go on, and nothing is charged. Argument: its length
 * in minutes (15).
 */
import { isDeepStrictEqual } from 'node:util';
import { pictureOf, sitOutOutage } from './outage.ts';
import { startWorld } from './world.ts';

const NODES = ['node-a', 'node-b', 'node-c', 'node-d'] as const;
const [minutes = 15] = process.argv.slice(2).map(Number);
if (!(minutes > 0 && minutes <= 120)) {
  console.error('Give the length of the outage in minutes, more than 0 and at most 120.');
  process.exit(2);
}
const startedMs = performance.now();
const print = (sentence: string): void =>
  console.log(`${((performance.now() - startedMs) / 1000).toFixed(1).padStart(7)} s  ${sentence}`);

const world = await startWorld({ judgesNodes: true });
let isSame = false;
try {
  await Promise.all(NODES.map((name) => world.node(name, 2)));
  // As it is set by default: what is tested is what is installed.
  const environment = { COXSWAIN_NODE_GRACE_MS: '120000' };
  await world.operator({ environment });
  const job = await world.job(await world.namespace(), 'unmoved');
  await world.until(job, 'running', ({ status }) => status?.state === 'Running');
  const before = await pictureOf(world, job);
  print(`A gang runs in epoch ${before.epoch}. The API server goes away for ${minutes} min.`);
  await sitOutOutage(world, { nodes: NODES, outageMs: minutes * 60_000, afterMs: 0 });
  print('It is back, and every node is ready again. The operator that lost its term is followed by another.');
  await world.operator({ identity: 'next', environment });
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  const after = await pictureOf(world, job);
  isSame = isDeepStrictEqual(before, after);
  print(
    isSame ? 'Every pod is the same and runs; nothing was charged.' : `FAILED: ${JSON.stringify({ before, after })}`,
  );
} finally {
  await world.stop();
}
process.exitCode = isSame ? 0 : 1;

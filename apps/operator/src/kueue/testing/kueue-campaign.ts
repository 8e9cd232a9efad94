/**
 * Shows with the real Kueue, on a real API server with made-up nodes, what the rows say. Arguments: pieces of the sentences to choose rows by. An auditor looks
 * at nodes and quota all the time.
 */
import { startWorld } from '../../testing/world.ts';
import { ADMISSION_ROWS } from './admission-rows.ts';
import { FAULT_ROWS } from './fault-rows.ts';
import { KueueGround } from './kueue-ground.ts';
import type { Row } from './rows.ts';
import { SIZE_ROWS } from './size-rows.ts';

const pieces = process.argv.slice(2);
const rows = [...ADMISSION_ROWS, ...SIZE_ROWS, ...FAULT_ROWS].filter(
  ({ sentence }) => pieces.length === 0 || pieces.some((piece) => sentence.includes(piece)),
);
if (rows.length === 0) {
  console.error(`No row has ${pieces.map((piece) => JSON.stringify(piece)).join(' or ')} in its sentence.`);
  process.exit(2);
}

const world = await startWorld();
let failures = 0;
try {
  const ground = await KueueGround.prepare(world);
  console.log(`Kueue ${ground.kueue.version}, its log is ${ground.kueue.logPath}`);
  for (const row of rows) if (!(await holds(row, ground))) failures += 1;
  await ground.auditor.stop();
  const { looks } = ground.auditor;
  console.log(`${rows.length - failures} of ${rows.length} rows hold; the auditor looked ${looks} times`);
  await ground.kueue.kill();
} finally {
  await world.stop();
}
process.exitCode = failures === 0 ? 0 : 1;

async function holds({ sentence, ownOperator = false, run }: Row, ground: KueueGround): Promise<boolean> {
  const startedMs = performance.now();
  const problems: string[] = [];
  let measured: string | undefined;
  try {
    if (!ownOperator) await world.operator({ environment: { COXSWAIN_KUEUE: 'true' } });
    measured = await run(ground);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  world.kubelet.isAwake = true;
  problems.push(...ground.auditor.found);
  ground.auditor.found.clear();
  try {
    await ground.kueue.start();
    if (ownOperator) await world.operator({ identity: 'afterwards', environment: { COXSWAIN_KUEUE: 'true' } });
    await ground.clear();
  } catch (error) {
    problems.push(`afterwards: ${error instanceof Error ? error.message : String(error)}`);
  }
  await world.clear();
  ground.auditor.quotaMayBeFree = false;
  const took = `${((performance.now() - startedMs) / 1000).toFixed(1).padStart(6)} s`;
  console.log(`${took}  ${problems.length === 0 ? 'holds ' : 'FAILED'}  ${sentence}`);
  for (const line of [...problems, ...(measured === undefined ? [] : [measured])])
    console.log(`${' '.repeat(20)}${line}`);
  return problems.length === 0;
}

/**
 * Kills the operator at every write of a job's life, before it is sent, when its answer is lost and after it has arrived, and compares
 * what becomes of the job with a clean life. Arguments: every how-manieth write to try (1), and the first one (0).
 */
import { differences, KILL_MOMENTS, KillGround, type Life } from './kill-points.ts';
import { startWorld } from './world.ts';

const [stride = 1, first = 0] = process.argv.slice(2).map(Number);
if (!Number.isInteger(stride) || stride < 1 || !Number.isInteger(first) || first < 0) {
  console.error('Give whole numbers: every how-manieth write to try (from 1), and the first one (from 0).');
  process.exit(2);
}
const startedMs = performance.now();
const print = (sentence: string): void =>
  console.log(`${((performance.now() - startedMs) / 1000).toFixed(1).padStart(7)} s  ${sentence}`);

const world = await startWorld();
let failures = 0;
let tried = 0;
let unreached = 0;
let mostWrites = 0;
try {
  const ground = await KillGround.prepare(world);
  const clean = await ground.live();
  print(`A clean life has ${clean.writes.length} writes, ${clean.done} of them carried out and no Events:`);
  for (const [index, write] of clean.writes.entries()) console.log(`            ${index} ${write}`);
  console.log(`            ends as ${JSON.stringify(clean.end)}`);
  failures += clean.broken.length;
  for (let write = first; write < clean.writes.length; write += stride) {
    const outcomes: string[] = [];
    for (const moment of KILL_MOMENTS) {
      tried += 1;
      let life: Life | undefined;
      const problems = await ground.live({ write, moment }).then(
        (lived) => {
          life = lived;
          return differences(lived, clean);
        },
        async (error: unknown) => {
          await ground.restartOperator();
          return [error instanceof Error ? error.message : String(error)];
        },
      );
      if (life !== undefined && !life.killed) unreached += 1;
      mostWrites = Math.max(mostWrites, life?.done ?? 0);
      if (problems.length > 0) failures += 1;
      outcomes.push(
        problems.length === 0
          ? `${moment} ${life?.killed === true ? 'ok' : 'not reached'}`
          : `${moment} FAILED: ${problems.join('; ')}`,
      );
    }
    print(`write ${write} (${clean.writes[write]}): ${outcomes.join(', ')}`);
  }
  print(
    `${clean.done} writes in a clean life (Events left out), at most ${mostWrites} in a life with a kill; ${tried} kill points tried, ${unreached} not reached, ${failures} failed.`,
  );
} finally {
  await world.stop();
}
process.exitCode = failures === 0 && tried > unreached ? 0 : 1;

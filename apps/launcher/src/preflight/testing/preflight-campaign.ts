/** `npm run campaign -- preflight`: each fault at each of some places, then clean runs of which none may blame anybody. */
import { findEnginePython } from '@coxswain/local-cluster';
import { FAULTS, tryGang, type Fault, type Trial } from './gang.ts';

const LIMIT_MS = 60_000;
const POD_COUNT = 8;
const DEFAULT_CLEAN_RUNS = 50;

const cleanRuns = Number(process.argv[2] ?? DEFAULT_CLEAN_RUNS);
const python = findEnginePython();
let broken = 0;

function printTrial(what: string, trial: Trial, isRight: boolean): void {
  const { judgement, reports, tookMs } = trial;
  const named = judgement.findings.map(({ node, message }) => `${node} (${message})`).join(', ') || 'nobody';
  const partial = reports.filter(({ outcome }) => outcome !== 'Done').length;
  const verdict = isRight ? 'right' : 'WRONG';
  const more = partial === 0 ? '' : `; ${partial} reports are not whole: ${judgement.notes.join('; ')}`;
  process.stdout.write(`${verdict}  ${what}: named ${named}, after ${(tookMs / 1000).toFixed(1)} s${more}\n`);
  if (!isRight) broken += 1;
}

for (const [index, fault] of (Object.keys(FAULTS) as Fault[]).entries()) {
  // Rank 0's pod, which holds the board, is one of them.
  for (const podIndex of [(index + 1) % POD_COUNT, (7 * index) % POD_COUNT]) {
    const planted = { [podIndex]: fault };
    const trial = await tryGang({ python, podCount: POD_COUNT, level: 'Full', timeoutMs: LIMIT_MS, planted });
    const named = trial.judgement.findings.map((one) => `${one.podIndex} ${one.check}`);
    const isRight = named.join() === `${podIndex} ${FAULTS[fault]}` && trial.tookMs < LIMIT_MS;
    printTrial(`${fault} at pod ${podIndex}`, trial, isRight);
  }
}
for (let run = 1; run <= cleanRuns; run += 1) {
  const trial = await tryGang({ python, podCount: POD_COUNT, level: 'Full', timeoutMs: LIMIT_MS });
  const isWhole = trial.reports.every(({ outcome }) => outcome === 'Done');
  printTrial(`clean run ${run} of ${cleanRuns}`, trial, isWhole && trial.judgement.findings.length === 0);
}
process.stdout.write(broken === 0 ? 'Everything held.\n' : `${broken} runs were wrong.\n`);
process.exitCode = broken === 0 ? 0 : 1;

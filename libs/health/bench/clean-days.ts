/**
 * `npm run health:clean-days [-- --days N] [--step-sec N]`: how often are ranks of a clean job of 16,384 accused? Steps as 2,048 pods tell them, with a noise of 3 % that
 * has a heavy tail (one step in a hundred of a rank is half as long again), and chips that differ by 1 % for good. One JSON line for each hour, the last one
 * counts: the upper end of a 95 % interval of what a day brings, if alarms come by chance (Poisson).
 */
import { parseArgs } from 'node:util';
import type { TraceHeader } from '../src/trace/records.ts';
import { randomOf } from '../src/testing/random.ts';
import { watchHealth } from '../src/watch/watch-health.ts';

const { values } = parseArgs({
  options: { days: { type: 'string', default: '4' }, 'step-sec': { type: 'string', default: '30' } },
});
const RANKS = 16_384;
const RANKS_PER_POD = 8;
const STEP_MS = 1_000 * Number(values['step-sec']);
const HOUR_MS = 3_600_000;
/** Of an expectation of which so many were seen: half the 95 % quantile of chi-squared with twice one more degrees of freedom. */
const UPPER_OF_SEEN = [3, 4.74, 6.3, 7.75, 9.15, 10.51] as const;

const header: TraceHeader = {
  kind: 'header',
  version: 1,
  layout: { tensorParallelDegree: 8, pipelineParallelDegree: 16, dataParallelDegree: 128 },
  nodes: Array.from({ length: RANKS / RANKS_PER_POD }, (_, pod) => ({
    node: `node-${pod}`,
    ranks: `${pod * RANKS_PER_POD}-${pod * RANKS_PER_POD + RANKS_PER_POD - 1}`,
  })),
  reportEveryMs: 10_000,
};
const random = randomOf(16_384);
// Drawn once and then taken from everywhere: a normal draw for each of so many steps would cost more than the detectors.
const NOISES = Float32Array.from({ length: 1_048_573 }, () => {
  const spread = Math.exp(0.03 * random.normal());
  return random.uniform() < 0.01 ? 1.5 * spread : spread;
});
const chips = Float32Array.from({ length: RANKS }, () => 1 + 0.01 * random.normal());
const watch = watchHealth(header);
const accused: string[] = [];
const startedMs = performance.now();
const untilMs = 24 * HOUR_MS * Number(values.days);

function report(atMs: number): void {
  const days = atMs / (24 * HOUR_MS);
  const upper = (UPPER_OF_SEEN[accused.length] ?? 1.3 * accused.length + 5) / days;
  const line = { bench: 'health-clean-days', ranks: RANKS, stepSec: STEP_MS / 1_000, hours: Math.round(24 * days) };
  const tookSec = Math.round((performance.now() - startedMs) / 1_000);
  process.stdout.write(
    `${JSON.stringify({ ...line, falseAlarms: accused.length, upperPerDay: Number(upper.toFixed(2)), tookSec, accused: accused.slice(0, 4) })}\n`,
  );
}

for (let atMs = STEP_MS, step = 1; atMs <= untilMs; atMs += STEP_MS, step += 1) {
  for (let first = 0; first < RANKS; first += RANKS_PER_POD) {
    let place = Math.floor(random.uniform() * NOISES.length);
    const ranks = Array.from({ length: RANKS_PER_POD }, (_, at) => {
      place = place + 1 === NOISES.length ? 0 : place + 1;
      const forward = 0.6 * STEP_MS * (chips[first + at] ?? 1) * (NOISES[place] ?? 1);
      return { rank: first + at, stepTimeMs: STEP_MS, timingsMs: { forward, communication: STEP_MS - forward } };
    });
    for (const verdict of watch.observe({ kind: 'step', atMs, step, loss: null, gradNorm: null, ranks })) {
      if (verdict.kind !== 'blind') accused.push(`${verdict.kind}: ${verdict.message}`);
    }
  }
  if (atMs % HOUR_MS === 0) report(atMs);
}

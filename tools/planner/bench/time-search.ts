/** Runs one search of the benchmark in a process of its own, so that its memory is its own, and prints what it took as one JSON line. */
import { plan } from '@coxswain/planner';
import { SEARCH_CASES } from './search-cases.ts';

const found = SEARCH_CASES[Number(process.argv[2])];
if (found === undefined) throw new Error(`there is no case ${process.argv[2]}`);
const before = process.cpuUsage();
const startedAt = performance.now();
const { counted, best } = plan(found.request);
const wallS = (performance.now() - startedAt) / 1000;
const { user, system } = process.cpuUsage(before);
const cpuS = (user + system) / 1e6;
process.stdout.write(
  `${JSON.stringify({
    name: found.name,
    cpuS,
    wallS,
    evaluated: counted.legal,
    perSecond: counted.legal / cpuS,
    peakMemoryMiB: process.resourceUsage().maxRSS / 1024,
    stepTimeS: best?.prediction.stepTimeS ?? null,
    atMostS: found.atMostS ?? null,
  })}\n`,
);

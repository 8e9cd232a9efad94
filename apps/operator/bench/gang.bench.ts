/**
 * What does the operator cost at scale? Run: `npm run gang:bench`; the last line is one JSON object.
 *
 * kube-apiserver, etcd, scheduler and controller-manager are real, nodes are simulated by kwok, and the operator is a process of its own. Times
 * depend on the machine and on what else runs there; ratios and processor time much less.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BenchCluster } from './bench-cluster.ts';
import type { Progress } from './progress.ts';
import type { Measurement, Scenario, Size } from './scenario.ts';
import { gangBesideBareClient, largeGang } from './scenarios/gang-start.ts';
import { manyGangs } from './scenarios/many-gangs.ts';
import { settled } from './scenarios/settled.ts';
import { waitingJobs } from './scenarios/waiting-jobs.ts';

const SCENARIOS: readonly Scenario[] = [settled, gangBesideBareClient, largeGang, manyGangs, waitingJobs];

const HELP = `npm run gang:bench [-- [SCENARIO ...] [--quick] [--json FILE] [--cpu-profiles FOLDER]]

Measures the operator at scale on a real control plane with simulated nodes. Without a name every scenario is run.

${SCENARIOS.map(({ name, question }) => `  ${name.padEnd(14)}${question}`).join('\n')}

  --quick               fewer and smaller: shows that it works, says nothing of the bars
  --json FILE           also write the figures to FILE
  --cpu-profiles FOLDER write a CPU profile of every operator process there
`;

interface ScenarioResult {
  readonly scenario: string;
  readonly measurements: readonly Measurement[];
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      'cpu-profiles': { type: 'string' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const unknown = positionals.find((name) => SCENARIOS.every((scenario) => scenario.name !== name));
  if (unknown !== undefined) {
    process.stderr.write(`error: there is no scenario "${unknown}"\n\n${HELP}`);
    return 2;
  }
  const size = values.quick ? 'quick' : 'full';
  const wanted = SCENARIOS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const results = await runAll(wanted, { size, cpuProfiles: values['cpu-profiles'] });
  const report = JSON.stringify({ size, machine: machine(), results });
  process.stdout.write(`${table(results)}\n${report}\n`);
  if (values.json !== undefined) writeFileSync(values.json, report);
  const isMissed = results.some(({ measurements }) => measurements.some((one) => verdictOf(one) === 'MISSED'));
  return isMissed && size === 'full' ? 1 : 0;
}

async function runAll(
  scenarios: readonly Scenario[],
  { size, cpuProfiles }: { readonly size: Size; readonly cpuProfiles: string | undefined },
): Promise<readonly ScenarioResult[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'coxswain-bench-'));
  const startedMs = performance.now();
  const progress: Progress = (what) => {
    const seconds = (performance.now() - startedMs) / 1_000;
    process.stderr.write(`[${seconds.toFixed(0).padStart(4)} s] ${what}\n`);
  };
  const cluster = await BenchCluster.start({ scratch, progress, cpuProfiles });
  try {
    const results: ScenarioResult[] = [];
    for (const { name, question, run } of scenarios) {
      progress(`${name}: ${question}`);
      results.push({ scenario: name, measurements: await run({ cluster, size, progress }) });
    }
    return results;
  } finally {
    await cluster.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

function verdictOf({ value, atMost }: Measurement): 'met' | 'MISSED' | '' {
  if (atMost === undefined) return '';
  return value <= atMost ? 'met' : 'MISSED';
}

function table(results: readonly ScenarioResult[]): string {
  const rows = results.flatMap(({ scenario, measurements }) =>
    measurements.map((one) => [
      scenario,
      one.what,
      `${rounded(one.value)} ${one.unit}`.trim(),
      one.atMost === undefined ? '' : `at most ${one.atMost} ${one.unit}`.trim(),
      verdictOf(one),
      one.of === undefined ? '' : one.of.map(rounded).join(', '),
    ]),
  );
  const all = [['scenario', 'what', 'measured', 'bar', '', 'of'], ...rows];
  const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function machine(): Readonly<Record<string, unknown>> {
  return { cores: availableParallelism(), processor: cpus()[0]?.model, node: process.version };
}

process.exitCode = await main();

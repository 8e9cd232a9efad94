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
import type { Context, Measurement, Scenario, Size } from './scenario.ts';
import { changingLabels } from './scenarios/changing-labels.ts';
import { contestedSearch } from './scenarios/contested-search.ts';
import { gangBesideBareClient, largeGang } from './scenarios/gang-start.ts';
import { manyGangs } from './scenarios/many-gangs.ts';
import { rackGang } from './scenarios/rack-gang.ts';
import { scatteredLoad } from './scenarios/scattered-load.ts';
import { settled } from './scenarios/settled.ts';
import { waitingJobs } from './scenarios/waiting-jobs.ts';

const SCENARIOS: readonly Scenario[] = [
  scatteredLoad,
  rackGang,
  changingLabels,
  contestedSearch,
  settled,
  gangBesideBareClient,
  largeGang,
  waitingJobs,
  manyGangs,
];

const HELP = `npm run gang:bench [-- [SCENARIO ...] [--quick] [--json FILE] [--cpu-profiles FOLDER]]

Measures the operator at scale on a real control plane with simulated nodes. Without a name every scenario is run.

${SCENARIOS.map(({ name, question }) => `  ${name.padEnd(14)}${question}`).join('\n')}

  --quick               fewer and smaller: shows that it works, says nothing of the bars
  --json FILE           also write the figures to FILE
  --cpu-profiles FOLDER write a CPU profile of every operator process there

A run ends after 60 minutes with what it has. Measured elsewhere: what reports of launchers cost
(apps/operator/bench/ingest.bench.ts, welcome.bench.ts), and which files of a checkpoint a launcher opens (libs/checkpoint/src/files-of-ranks.spec.ts).
`;

/** One row of the report. */
interface Row {
  readonly scenario: string;
  readonly what: string;
  /** null where it could not be measured. */
  readonly measured: number | null;
  readonly unit: string;
  /** At most so much is promised; null: told for information. */
  readonly bar: number | null;
  readonly met: boolean | null;
  readonly of?: readonly number[];
  /** Why it could not be measured. */
  readonly problem?: string;
}

/** A run ends by itself after so long, with a report of what it has. */
const LONGEST_MS = 60 * 60_000;

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
  const rows: Row[] = [];
  const isWhole = await runAll(wanted, rows, { size, cpuProfiles: values['cpu-profiles'] });
  const report = JSON.stringify({ size, machine: machine(), isWhole, rows });
  process.stdout.write(`${table(rows)}\n${report}\n`);
  if (values.json !== undefined) writeFileSync(values.json, report);
  const isMissed = rows.some(({ met }) => met === false);
  const isUnmeasured = rows.some(({ problem }) => problem !== undefined);
  return !isWhole || isUnmeasured || (isMissed && size === 'full') ? 1 : 0;
}

/** Adds the rows of each scenario as they come; false where time ran out or somebody stopped it before all were through. */
async function runAll(
  scenarios: readonly Scenario[],
  rows: Row[],
  { size, cpuProfiles }: { readonly size: Size; readonly cpuProfiles: string | undefined },
): Promise<boolean> {
  const scratch = mkdtempSync(join(tmpdir(), 'coxswain-bench-'));
  const startedMs = performance.now();
  const progress: Progress = (what) => {
    const seconds = (performance.now() - startedMs) / 1_000;
    process.stderr.write(`[${seconds.toFixed(0).padStart(4)} s] ${what}\n`);
  };
  const cut = Promise.withResolvers<string>();
  const timer = setTimeout(() => cut.resolve('time has run out'), LONGEST_MS);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => cut.resolve(`stopped by ${signal}`));
  const starting = BenchCluster.start({ scratch, progress, cpuProfiles });
  const work = async (): Promise<undefined> => {
    const cluster = await starting;
    for (const [index, scenario] of scenarios.entries()) {
      progress(`${scenario.name}: ${scenario.question}`);
      const isLast = index === scenarios.length - 1;
      const left: (() => Promise<void>)[] = [];
      const done = await rowsOf(scenario, { cluster, size, progress, clearUp: (clear) => void left.push(clear) });
      rows.push(...done);
      for (const row of done) progress(sentence(row));
      if (isLast || left.length === 0) continue;
      progress('clears up');
      for (const clear of left) await clear();
    }
    return undefined;
  };
  try {
    const why = await Promise.race([work(), cut.promise]);
    if (why === undefined) return true;
    progress(`${why}: what was not measured is missed`);
    const isTold = new Set(rows.map(({ scenario }) => scenario));
    for (const scenario of scenarios) if (!isTold.has(scenario.name)) rows.push(...unmeasured(scenario, why));
    return false;
  } finally {
    clearTimeout(timer);
    progress('stops the cluster and removes its files');
    await starting.then((cluster) => cluster.stop()).catch((error: unknown) => progress(String(error)));
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** One that fails does not spoil the others. */
async function rowsOf(scenario: Scenario, context: Context): Promise<readonly Row[]> {
  try {
    return (await scenario.run(context)).map((one) => rowOf(scenario.name, one));
  } catch (error) {
    return unmeasured(scenario, error instanceof Error ? error.message : String(error));
  }
}

function rowOf(scenario: string, { what, value, unit, atMost, of }: Measurement): Row {
  const measured = Number.isFinite(value) ? value : null;
  const met = atMost === undefined ? null : measured !== null && measured <= atMost;
  return { scenario, what, measured, unit, bar: atMost ?? null, met, ...(of === undefined ? {} : { of }) };
}

function unmeasured({ name, bars }: Scenario, problem: string): readonly Row[] {
  return bars.map((what) => ({ scenario: name, what, measured: null, unit: '', bar: null, met: false, problem }));
}

function sentence({ what, measured, unit, bar, met, problem }: Row): string {
  if (measured === null) return `${what}: not measured (${problem ?? ''})`;
  const verdict = bar === null ? '' : `, at most ${bar}: ${met === true ? 'met' : 'MISSED'}`;
  return `${what}: ${rounded(measured)} ${unit}`.trimEnd() + verdict;
}

function table(results: readonly Row[]): string {
  const rows = results.map((one) => [
    one.scenario,
    one.what,
    one.measured === null ? 'not measured' : `${rounded(one.measured)} ${one.unit}`.trim(),
    one.bar === null ? '' : `at most ${one.bar} ${one.unit}`.trim(),
    one.met === null ? '' : { true: 'met', false: 'MISSED' }[`${one.met}`],
    one.of === undefined ? (one.problem ?? '') : one.of.map(rounded).join(', '),
  ]);
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

// Calls of a scenario that was cut short may still be under way.
process.exit(await main());

/** Times the verbs of one tenant, quiet and while another one changes jobs as fast as it may, in turn and in one run. */
import { aJobSpec } from '@coxswain/api-types/testing';
import { type Answers, changeLabels } from './busy-tenant.ts';
import { timeVerbs, VERBS, type Verb } from './timed-verbs.ts';
import { startTurnsWorld, type Tenant, type TurnsWorld } from './world.ts';

const JOBS_OF_A = 40;
/** Quiet and loaded rounds take turns, so that both meet the same machine. */
const PHASES = 4;
const MOST_TIMES_QUIET = 3;

type Times = Readonly<Record<Verb, number>>;

const rounds = Number(process.argv[2] ?? 40);
process.exitCode = (await campaign()) ? 0 : 1;

async function campaign(): Promise<boolean> {
  const world = await startTurnsWorld();
  try {
    const [a, b] = [await world.tenant('a'), await world.tenant('b')];
    const jobIds: string[] = [];
    for (let index = 0; index < JOBS_OF_A; index++)
      jobIds.push((await a.api.createJob('a', { name: `a-${index}`, spec: aJobSpec() })).id);
    // Statements are planned and code is compiled before anything is timed.
    for (let time = 0; time < 3; time++) await timeVerbs(world.plane, b, `warm-${time}`);
    return report(await measure(world, { a, b, jobIds }));
  } finally {
    await world.stop();
  }
}

interface Measured {
  readonly quiet: Times[];
  readonly loaded: Times[];
  readonly answers: Answers;
  readonly mostEntries: number;
}

async function measure(
  world: TurnsWorld,
  { a, b, jobIds }: { readonly a: Tenant; readonly b: Tenant; readonly jobIds: readonly string[] },
): Promise<Measured> {
  const [quiet, loaded]: [Times[], Times[]] = [[], []];
  const answers: Answers = new Map();
  let mostEntries = 0;
  const each = Math.ceil(rounds / PHASES);
  for (let phase = 0; phase < PHASES; phase++) {
    for (let time = 0; time < each; time++) quiet.push(await timeVerbs(world.plane, b, `quiet-${phase}-${time}`));
    const stop = new AbortController();
    const busy = changeLabels(world.url, a, { jobIds, answers, signal: stop.signal });
    for (let time = 0; time < each; time++) {
      loaded.push(await timeVerbs(world.plane, b, `loaded-${phase}-${time}`));
      const { rows } = await world.database.query<{ n: number }>('SELECT count(*)::integer AS n FROM outbox');
      mostEntries = Math.max(mostEntries, rows[0]?.n ?? 0);
    }
    stop.abort();
    await busy;
  }
  return { quiet, loaded, answers, mostEntries };
}

function report({ quiet, loaded, answers, mostEntries }: Measured): boolean {
  const all = (times: readonly Times[]): number[] => times.flatMap((of) => VERBS.map((verb) => of[verb]));
  for (const verb of VERBS) {
    const [still, busy] = [quiet.map((of) => of[verb]), loaded.map((of) => of[verb])];
    print(
      `${verb.padEnd(8)} quiet p50 ${ms(at(still, 0.5))} p99 ${ms(at(still, 0.99))}   loaded p50 ${ms(at(busy, 0.5))} p99 ${ms(at(busy, 0.99))}`,
    );
  }
  const [quietMs, loadedMs] = [at(all(quiet), 0.99), at(all(loaded), 0.99)];
  const statuses = [...answers].map(([status, count]) => `${status}: ${count}`).join(', ');
  print(`answers of tenant a: ${statuses}; most entries in the outbox: ${mostEntries} (it has ${JOBS_OF_A} jobs)`);
  print(`p99 of tenant b: quiet ${ms(quietMs)}, loaded ${ms(loadedMs)} (${(loadedMs / quietMs).toFixed(2)} times)`);
  return loadedMs <= MOST_TIMES_QUIET * quietMs && mostEntries <= JOBS_OF_A + 1;
}

function at(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`.padStart(8);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/**
 * Requests of all kinds to an API over a real database, made from its OpenAPI document and its GraphQL schema: by Schemathesis and by a fuzzer of ours
 * that has two tenants. Arguments: how long (`5000` requests, `30m`) and a seed. What must hold: no failure of the server, no answer that the document
 * does not state, no byte of what the other tenant keeps, memory within the container’s; and of 10,000 requests or more, every operation answered both well and with a refusal.
 */
import { join } from 'node:path';
import { describeExit, lastLines } from '@coxswain/local-cluster';
import { Dice } from '../support/random.ts';
import { Findings } from './findings.ts';
import { watchMemory } from './memory.ts';
import { OwnFuzzer } from './own-fuzzer.ts';
import { startRelay } from './relay.ts';
import { operationsOf } from './requests.ts';
import { fuzzByGraphql, fuzzByOpenApi } from './schemathesis.ts';
import { readStreams } from './streams.ts';
import { type FuzzWorld, startFuzzWorld } from './world.ts';

/** Memory of the API’s container in the chart. */
const MEMORY_MIB = 768;
/** What Schemathesis asks of an operation for each example that it is told to make: its other phases ask about as much again. */
const REQUESTS_OF_AN_EXAMPLE = 60;
/** About as many as it asks on a small machine: its share is a matter of minutes, and what it does not get to is asked by ours. */
const PUBLIC_REQUESTS_A_SECOND = 50;
/** Fewer requests may not have met every operation both ways. */
const ENOUGH_FOR_ALL = 10_000;
/** Answered otherwise for a reason that is no fault: the cluster serves no jobs, so the process is never ready; and a process lives or does not answer. */
const NEVER_WELL = new Set(['GET /readyz']);
const NEVER_REFUSED = new Set([
  ...['GET /healthz', 'GET /readyz', 'GET /metrics', 'GET /openapi.json'],
  // A browser is sent on, whatever it brought.
  'GET /v1/sign-in/callback',
]);

interface Length {
  readonly requests: number;
  readonly seconds: number;
}

function lengthOf(text: string): Length | undefined {
  const [, number = '', unit = ''] = /^([1-9][0-9]{0,6})(m?)$/.exec(text) ?? [];
  if (number === '') return undefined;
  return unit === 'm'
    ? { requests: Infinity, seconds: Number(number) * 60 }
    : { requests: Number(number), seconds: Infinity };
}

const [wanted = '5000', seedText = String(Date.now() % 1_000_000)] = process.argv.slice(2);
const length = lengthOf(wanted);
const seed = Number(seedText);
if (length === undefined || !Number.isInteger(seed)) {
  console.error(
    'Give a number of requests (5000) or of minutes (30m) and, to repeat a run, its seed (a whole number).',
  );
  process.exit(2);
}

const startedMs = performance.now();
const say = (sentence: string): void =>
  console.log(`${((performance.now() - startedMs) / 1000).toFixed(0).padStart(6)} s  ${sentence}`);

say(`Seed ${seed}; ${wanted === String(length.requests) ? `${wanted} requests` : wanted}.`);
const world = await startFuzzWorld();
const findings = new Findings(world.canary);
try {
  const look = watchMemory(world.api.pid);
  void world.api.exited.then((exit) =>
    findings.violate(`the API ended (${describeExit(exit)}): ${lastLines(world.api.logPath)}`),
  );
  await fuzz(world, length);
  const memory = look();
  say(`Memory of the API: ${memory.firstMib} MiB at first, ${memory.highestMib} at most, ${memory.lastMib} at last.`);
  if (memory.highestMib > MEMORY_MIB)
    findings.violate(`the API took ${memory.highestMib} MiB; ${MEMORY_MIB} are its container’s`);
} finally {
  console.log(findings.table());
  if (findings.total >= ENOUGH_FOR_ALL) judgeCoverage();
  else
    say(
      `Fewer than ${ENOUGH_FOR_ALL} requests: whether every operation was answered well and with a refusal is not judged.`,
    );
  const before = findings.violations.length;
  await world.stop({ keepLogs: before > 0 });
  findings.violations.length = before;
}
if (findings.violations.length > 0) say(`Logs are in ${world.directory}`);
for (const violation of findings.violations) console.log(`VIOLATION: ${violation}`);
say(
  `${findings.total} requests (${findings.askedBy.Schemathesis} by Schemathesis, ${findings.askedBy.streams} streams, ${findings.askedBy.ours} by our own fuzzer); ${findings.violations.length === 0 ? 'no violation' : `${findings.violations.length} violations`}.`,
);
process.exitCode = findings.violations.length === 0 ? 0 : 1;

async function fuzz(place: FuzzWorld, { requests, seconds }: Length): Promise<void> {
  const document: unknown = await (await fetch(`${place.url}/openapi.json`)).json();
  const operations = operationsOf(document);
  const dice = new Dice(seed);
  const own = new OwnFuzzer(place, { document, dice, findings });

  // A quarter for the public fuzzer, which may stop before, and a little for streams: what is left is ours, so that all that was wanted is asked.
  await askByPublicFuzzer(place, { requests: requests / 4, seconds: seconds / 4, operations });
  say(`Streams: ${Number.isFinite(requests) ? Math.ceil(requests / 50) : 300} are opened and left.`);
  await readStreams(place, { findings, dice, count: Number.isFinite(requests) ? Math.ceil(requests / 50) : 300 });
  say('Our own fuzzer, with two tenants.');
  // However much the others asked, half of what is wanted is asked here.
  const end = Math.max(requests, findings.total + requests / 2);
  const isOver = (): boolean => findings.total >= end || performance.now() - startedMs > seconds * 1_000;
  await own.run({ isOver, report: say });
}

async function askByPublicFuzzer(
  place: FuzzWorld,
  share: Length & { readonly operations: ReturnType<typeof operationsOf> },
): Promise<void> {
  const relay = await startRelay(place.url, { findings, operations: share.operations });
  const logPath = join(place.directory, 'schemathesis.log');
  const fuzzing = {
    url: relay.url,
    token: place.tenants.guest.token ?? '',
    seed,
    examplesOfEach: Math.max(2, Math.min(500, Math.round(share.requests / REQUESTS_OF_AN_EXAMPLE))),
    seconds: Math.round(Math.min(share.seconds, 60 + share.requests / PUBLIC_REQUESTS_A_SECOND) / 2),
    logPath,
  };
  try {
    for (const [name, run] of [
      ['the OpenAPI document', fuzzByOpenApi],
      ['the GraphQL schema', fuzzByGraphql],
    ] as const) {
      say(`Schemathesis, from ${name}.`);
      if (!(await run(fuzzing))) findings.violate(`Schemathesis found something by ${name}: ${lastLines(logPath, 60)}`);
    }
  } finally {
    await relay.close();
  }
}

/** A fuzzer that never gets in, or never is refused, has looked at half of an operation. */
function judgeCoverage(): void {
  const rest = /^[A-Z]+ \//;
  const fields = /^(query|mutation) /;
  const never = (outcome: RegExp, operations: RegExp, excepted: ReadonlySet<string>): readonly string[] =>
    findings.neverAnswered(outcome, operations).filter((name) => !excepted.has(name));
  const missing = [
    ...never(/^2|^302$/, rest, NEVER_WELL).map((name) => `${name} was never answered well`),
    ...never(/^4/, rest, NEVER_REFUSED).map((name) => `${name} was never refused`),
    ...never(/^data$/, fields, NEVER_WELL).map((name) => `${name} was never answered well`),
    ...never(/^[A-Z_]+$/, fields, new Set(['query whoAmI', 'query projects'])).map(
      (name) => `${name} was never refused`,
    ),
  ];
  for (const sentence of missing) findings.violate(sentence);
}

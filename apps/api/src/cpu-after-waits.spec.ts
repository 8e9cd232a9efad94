/** Is a request charged for what it does after it waited for something other than the database? */
import { setImmediate as turn } from 'node:timers/promises';
import type { Database } from '@coxswain/persistence';
import { createLogger, createMetrics } from '@coxswain/telemetry';
import type { Authenticator } from './auth/authenticator.ts';
import { readConfig } from './config/config.ts';
import type { Issuer } from './identity/issuer.ts';
import { keyOf } from './identity/seal.ts';
import type { JobsService } from './jobs/jobs.service.ts';
import { AnswerTurns } from './limits/answer-turns.ts';
import { ProjectLimits } from './limits/project-limits.ts';
import { afterWaiting, CpuMeter, partsAfterWaiting, withinRequest } from './limits/request-cpu.ts';
import { type Planner, ProjectPlanner } from './plans/project-planner.ts';
import { SignInService } from './sign-in/sign-in.service.ts';
import { StacksService } from './stacks/stacks.service.ts';
import { aPrincipal } from './testing/a-principal.ts';
import { scriptedSql } from './testing/scripted-sql.ts';

const NOW = new Date('2026-01-01T00:00:00Z');
const clock = { now: () => NOW };
// Nothing listens there.
const config = readConfig({
  DATABASE_URL: 'postgresql://x@127.0.0.1/x',
  COXSWAIN_OPERATOR_SERIES_URLS: 'https://127.0.0.1:1',
});
const limits = new ProjectLimits(config, clock, createMetrics());
const principal = aPrincipal();

/** Something outside that answers in another turn of the loop. */
async function answerLater(): Promise<never> {
  await turn();
  throw new Error('an answer, of whatever kind');
}

async function largeAnswer(use: () => void): Promise<void> {
  const turns = new AnswerTurns(limits);
  const large = { cost: 1_320_000, gone: new AbortController().signal };
  const first = Promise.withResolvers<void>();
  const others = turns.build(principal, large, () => first.promise);
  const own = turns.build(principal, large, () => Promise.resolve(use()));
  setImmediate(() => first.resolve());
  await Promise.all([others, own]);
}

function planOf(): Promise<unknown> {
  const planner = { load: { waiting: 0, running: 0 }, ask: answerLater } as unknown as Planner;
  return new ProjectPlanner(planner, clock, createMetrics(), limits).plan({ id: 'a', name: 'a' }, {} as never);
}

function stacksOf(): Promise<unknown> {
  const row = { uid: 'u', name: 'j', state: 'Running', namespace: 'a', project_id: 'a' };
  const jobs: Pick<JobsService, 'reading'> = {
    reading: (_principal, _address, work) => work(scriptedSql([]), row as never),
  };
  const service = new StacksService(config, jobs as JobsService, limits);
  const { signal } = new AbortController();
  return service.take(principal, { project: 'a', jobId: 'j' }, { signal });
}

function signIn(): Promise<unknown> {
  const service = new SignInService(
    {} as Database,
    { id: 'c', name: 'c' },
    clock,
    config,
    createLogger({ program: 'test', level: 'silent' }),
    keyOf('a secret', 'pending-sign-in'),
    { verify: answerLater } as unknown as Issuer,
    {} as Authenticator,
    { note: () => undefined },
  );
  return service.trade({ idToken: 'token' }, { requestId: 'r', sourceAddress: '192.0.2.1', userAgent: undefined });
}

async function readParts(use: () => void): Promise<void> {
  const parts = (async function* () {
    await turn();
    yield 1;
  })();
  for await (const _part of partsAfterWaiting(parts)) use();
}

/** What a request is charged that uses 7 ms after it waited. */
async function chargedAfter(wait: (use: () => void) => Promise<unknown>): Promise<number> {
  let usedMs = 0;
  let chargedMs = 0;
  const cpu = new CpuMeter(() => usedMs).request();
  cpu.claim((ms) => (chargedMs += ms));
  let isUsed = false;
  const use = (): void => {
    if (!isUsed) usedMs += 7;
    isUsed = true;
  };
  await withinRequest(cpu, async () => {
    await wait(use).catch(() => undefined);
    use();
  });
  await turn();
  return chargedMs;
}

describe('processor time that a request uses after it waited', () => {
  it.each<[string, (use: () => void) => Promise<unknown>]>([
    ['for the turn of a large answer', largeAnswer],
    ['for the planner', planOf],
    ['for the operator', stacksOf],
    ['for the issuer of accounts', signIn],
    ['for a part of a stream', readParts],
    ['for anything else', () => afterWaiting(answerLater())],
  ])('%s is charged', async (_sentence, wait) => {
    expect(await chargedAfter(wait)).toBe(7);
  });

  it('is charged only where the code after the wait calls resumeRequest', async () => {
    expect(await chargedAfter(answerLater)).toBe(0);
  });
});

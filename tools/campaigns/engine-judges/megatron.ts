/** What does Megatron-LM say of the command lines that are rendered for it? */
import { brokenJobs, CAPABILITIES, type JudgedJob, megatronRelease, soundJobs } from '@coxswain/engines/testing';
import { readFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { driftBetween, linesOf } from './judge-process.ts';
import { publishedJobs } from './megatron-published.ts';
import { megatronRows } from './megatron-rows.ts';

const JUDGES = resolve(import.meta.dirname, '../../../engines/judges/megatron');
const OPTIONS = resolve(import.meta.dirname, '../../../libs/engines/src/megatron/options');

const PYTHON = process.env['MEGATRON_LM_PYTHON'] ?? 'python3';
/** How often each capability occurs. */
const TIMES = 5;

export function megatronCheckouts(): readonly string[] {
  return (process.env['MEGATRON_LM_CHECKOUT'] ?? '').split(delimiter).filter((path) => path !== '');
}

/** Resolves with true when options, rows and jobs of this release agree. */
export async function judgeMegatron(checkout: string, seed: number): Promise<boolean> {
  const named = releaseOf(checkout);
  const release = megatronRelease(named);
  if (release === undefined) throw new Error(`${checkout} holds ${named}, whose options are not committed`);
  const { tag } = release;
  const drift = await driftOf(checkout, tag);
  const sound = [...megatronRows(release), ...publishedJobs(release), ...soundJobs(release, { times: TIMES, seed })];
  const broken = brokenJobs(release, { count: sound.length, seed });
  const jobs = [...sound, ...broken];
  const verdicts = await verdictsOn(jobs, checkout);
  const wrong = jobs.flatMap((job, index) => disagreement(job, { why: verdicts[index], minor: release.minor }));
  const holes = new Set(
    broken.flatMap((job, index) => (verdicts[index + sound.length] === null ? [job.broken?.rule] : [])),
  );
  const shown = new Set(sound.map(({ capability }) => capability));
  const absent = Object.keys(CAPABILITIES).filter((name) => !shown.has(name));
  for (const line of [...drift, ...wrong]) say(`  ${line}`);
  say(
    `${named} by ${tag}: ${sound.length} sound jobs and ${broken.length} that break one of ${new Set(broken.map((job) => job.broken?.rule)).size} rules, ` +
      `${wrong.length} disagreements, ${holes.size} known holes (${[...holes].join(', ')}), absent here: ${absent.join(', ') || 'nothing'}`,
  );
  return drift.length === 0 && wrong.length === 0;
}

/** As the package in the checkout names itself; that of tag core_v0.19.0 says 0.19.1. */
function releaseOf(checkout: string): string {
  const text = readFileSync(join(checkout, 'megatron/core/package_info.py'), 'utf8');
  const [major, minor, patch] = ['MAJOR', 'MINOR', 'PATCH'].map(
    (name) => new RegExp(`^${name} = (\\d+)$`, 'm').exec(text)?.[1],
  );
  return `core_v${major ?? '?'}.${minor ?? '?'}.${patch ?? '?'}`;
}

/** Lines of options that the checkout has otherwise than what is committed. */
async function driftOf(checkout: string, tag: string): Promise<readonly string[]> {
  const lines = await linesOf([PYTHON, join(JUDGES, 'megatron_options.py'), checkout, tag], '');
  return driftBetween(lines, readFileSync(join(OPTIONS, `${tag}.generated.json`), 'utf8'));
}

/** What the judge says against each job; null where it says nothing. */
async function verdictsOn(
  jobs: readonly JudgedJob[],
  checkout: string,
): Promise<readonly (string | null | undefined)[]> {
  const questions = jobs.map(({ args, env, worldSize }, id) => {
    const placed = args.map((word) =>
      word.replaceAll(/\$\((\w+)\)/g, '/tmp/$1').replace('/tmp/COXSWAIN_RESUME_STEP', '100'),
    );
    return JSON.stringify({ id, args: placed, env, worldSize });
  });
  const lines = await linesOf([PYTHON, join(JUDGES, 'judge.py'), checkout], `${questions.join('\n')}\n`);
  const verdicts: (string | null | undefined)[] = [];
  for (const line of lines.filter((one) => one.startsWith('{"id"'))) {
    const { id, why } = JSON.parse(line) as { readonly id: number; readonly why: string | null };
    verdicts[id] = why;
  }
  return verdicts;
}

function disagreement(
  { name, broken, refusals }: JudgedJob,
  { why, minor }: { readonly why: string | null | undefined; readonly minor: number },
): readonly string[] {
  if (why === undefined) return [`${name}: no verdict`];
  if (broken === undefined) {
    const ours = refusals.map(({ rule }) => rule);
    if (ours.length > 0) return [`${name}: refused here (${ours.join(', ')}), and ${why ?? 'taken there'}`];
    return why === null ? [] : [`${name}: rendered, and refused there: ${why}`];
  }
  const isHole = broken.hole !== undefined && (broken.holeIn?.includes(minor) ?? true);
  if (isHole === (why === null)) return [];
  return [isHole ? `${name}: listed as a hole, and refused there: ${why}` : `${name}: refused here, and taken there`];
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

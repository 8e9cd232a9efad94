/** Renders jobs and asks TorchTitan, DeepSpeed and transformers, in processes of their own, what they make of them. */
import { type EffectiveSpec, TrainingJobSpec } from '@coxswain/api-types';
import { type RenderedEngine, renderEngine } from '@coxswain/engines';
import { lookUpUpstreamPython, torchExtensionsDirectory } from '@coxswain/local-cluster';
import { temporaryDirectory } from '@coxswain/test-harness';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import type { JudgedCase } from './pytorch-cases.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const JUDGES = join(ROOT, 'engines/judges');
const JUDGE_SECONDS = 300;

/** What a judge said. */
export interface Judged {
  /** How far the engine came. */
  readonly reached: string;
  /** Why no further; null where it came to the end. */
  readonly why: string | null;
  readonly read: Readonly<Record<string, unknown>>;
}

/** A rendering on disk, with what the launcher would put in place of its names. */
export interface Placed {
  readonly rendered: RenderedEngine;
  readonly directory: string;
  readonly args: readonly string[];
}

/** Renders the case into a new directory. Throws where it is refused. */
export function place({ title, job }: JudgedCase): Placed {
  const parsed = TrainingJobSpec.parse(job);
  if (parsed.layout === undefined) throw new Error(`${title} has no layout`);
  const rendered = renderEngine({ ...parsed, layout: parsed.layout } as EffectiveSpec);
  if (rendered.kind === 'refused') throw new Error(`${title} is refused: ${rendered.field}: ${rendered.why}`);
  return placed(rendered);
}

/** The rendering in a new directory. */
export function placed(rendered: RenderedEngine): Placed {
  const directory = temporaryDirectory('judge');
  const put = (output: string): string =>
    output
      .replaceAll('$(COXSWAIN_ENGINE_FILES)', directory)
      .replaceAll('$(COXSWAIN_SAVE_DIR)', join(directory, 'saved'))
      .replaceAll('$$', '$');
  for (const file of rendered.files) writeFileSync(join(directory, file.path), put(file.text));
  return { rendered, directory, args: rendered.command.map(put) };
}

/** Runs a program of engines/judges; `paths` come before what Python finds by itself. */
export async function ask(program: string, args: readonly string[], paths: readonly string[] = []): Promise<Judged> {
  const out = await run(program, args, paths);
  const line = out.split('\n').findLast((one) => one.startsWith('JUDGED '));
  if (line === undefined) return { reached: 'nothing', why: `the judge ended: ${out.slice(-400)}`, read: {} };
  return JSON.parse(line.slice('JUDGED '.length)) as Judged;
}

/** Whether what a program prints is what is committed. */
export async function isCurrent(program: string, committed: string, paths: readonly string[] = []): Promise<boolean> {
  const printed = (await run(program, [], paths)).split('\n').findLast((line) => line.startsWith('{')) ?? '{}';
  const file = readFileSync(join(ROOT, 'libs/engines/src/adapters', committed), 'utf8');
  const sorted = (json: string): string => {
    const { release, options } = JSON.parse(json) as { release?: string; options?: Record<string, string> };
    return JSON.stringify([release, Object.entries(options ?? {}).sort(([one], [other]) => (one < other ? -1 : 1))]);
  };
  return sorted(printed) === sorted(file);
}

/** What an engine's own parser reads of a rendering; names as of PricedFacts. */
export type ReadFacts =
  { readonly facts: Readonly<Record<string, unknown>>; readonly why?: undefined } | { readonly why: string };

/** Asks the parsers of engines what they read of rendered jobs, in one process. */
export async function readBack(jobs: readonly object[]): Promise<readonly ReadFacts[]> {
  const input = jobs.map((job) => `${JSON.stringify(job)}\n`).join('');
  const out = await run('priced_facts.py', [], [], input);
  const read = out.split('\n').filter((line) => line.startsWith('READ '));
  if (read.length !== jobs.length)
    throw new Error(`it read ${read.length} of ${jobs.length} jobs: ${out.slice(-2000)}`);
  return read.map((line) => JSON.parse(line.slice('READ '.length)) as ReadFacts);
}

async function run(program: string, args: readonly string[], paths: readonly string[], input = ''): Promise<string> {
  const python = lookUpUpstreamPython();
  if (python === undefined) throw new Error('run "npm run setup -- upstream-engines" once: it installs the engines');
  const child = spawn(python, [join(JUDGES, program), ...args], {
    env: {
      ...process.env,
      PYTHONPATH: [...paths, JUDGES, join(ROOT, 'engines/torchtitan-cpu')].join(delimiter),
      OMP_NUM_THREADS: '1',
      // What DeepSpeed’s ranks meet through was compiled at set-up.
      TORCH_EXTENSIONS_DIR: torchExtensionsDirectory(),
      PATH: [dirname(python), process.env['PATH'] ?? ''].join(delimiter),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: JUDGE_SECONDS * 1000,
    killSignal: 'SIGKILL',
  });
  child.stdin.end(input);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return `${err.slice(-2000)}\n${out}`;
}

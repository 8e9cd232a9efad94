import { findChromium } from '@coxswain/test-harness';
import type { BinaryName } from '@coxswain/local-cluster';
import { availableParallelism } from 'node:os';
import { binaryTasks, ensureBinaries } from './binaries.ts';
import { buildTasks, ensureBuilds } from './builds.ts';
import { estimateSeconds, minutes, type Task } from './estimate.ts';
import { progressOn, type Progress } from './progress.ts';
import { ensureEnginePython, pythonTasks } from './python.ts';
import { stopCommands } from './run-command.ts';
import { ensureUpstreamEngines, upstreamTasks } from './upstream-engines.ts';

/** What can be prepared on its own. */
export const SETUP_PARTS = [
  'cluster',
  'test-programs',
  'python',
  'builds',
  'browser',
  'object-store',
  'upstream-engines',
  'kueue',
  'other-controllers',
] as const;
/** One entry of {@link SETUP_PARTS}. */
export type SetupPart = (typeof SETUP_PARTS)[number];

/** What each part is, for people. */
export const PART_MEANINGS: Record<SetupPart, string> = {
  cluster: 'what a local cluster runs: etcd, kube-apiserver, kube-scheduler, kube-controller-manager',
  'test-programs': 'what only tests run: kubectl, helm, kwok',
  python: 'Python environment of the engines, with PyTorch',
  builds: 'API, dashboard and launcher',
  browser: 'Chromium, for tests of the dashboard',
  'object-store': 'gofakes3, an S3 server; only if named, or a test that runs it is',
  'upstream-engines': 'TorchTitan, DeepSpeed, Transformers and ft_launcher; only if named, or a test that runs them is',
  kueue: 'the manager of Kueue; only if named, or by the campaign that runs it',
  'other-controllers': 'those of JobSet and PyTorchJob; only if named, or by the campaign that runs them',
};

/** What is prepared unless parts are named. */
export const USUAL_PARTS: readonly SetupPart[] = SETUP_PARTS.filter(
  (part) => part !== 'object-store' && part !== 'upstream-engines' && part !== 'kueue' && part !== 'other-controllers',
);

/** What `npm run quickstart` needs. */
export const QUICKSTART_PARTS: readonly SetupPart[] = ['cluster', 'python', 'builds'];

const PROGRAMS: Partial<Record<SetupPart, readonly BinaryName[]>> = {
  cluster: ['etcd', 'kube-apiserver', 'kube-scheduler', 'kube-controller-manager'],
  'test-programs': ['kubectl', 'helm', 'kwok'],
  'object-store': ['gofakes3'],
  kueue: ['kueue'],
  'other-controllers': ['jobset', 'training-operator'],
};

/** What to prepare, and where to tell about it. */
export interface SetupOptions {
  /** {@link USUAL_PARTS} unless given. */
  readonly only?: readonly SetupPart[];
  /** Standard error unless given. */
  readonly progress?: Progress;
}

/** What is missing of some parts. Empty when everything is there. */
export async function missingTasks(parts: readonly SetupPart[] = USUAL_PARTS): Promise<readonly Task[]> {
  const [programs, python] = await Promise.all([
    binaryTasks(programsOf(parts)),
    parts.includes('python') || parts.includes('upstream-engines') ? pythonTasks() : [],
  ]);
  return [
    ...programs,
    ...python,
    ...(parts.includes('upstream-engines') ? upstreamTasks() : []),
    ...(parts.includes('builds') ? buildTasks() : []),
  ];
}

/** "about 9 min on 2 cores: build of etcd 3.6.8, …"; `moreSeconds` is what follows set-up. */
export function describeTasks(tasks: readonly Task[], moreSeconds = 0): string {
  const cores = availableParallelism();
  const time = `${minutes(estimateSeconds(tasks, cores) + moreSeconds)} on ${cores} cores that do nothing else`;
  return tasks.length === 0 ? time : `${time}: ${tasks.map(({ title }) => title).join(', ')}`;
}

/**
 * Prepares what is asked for, side by side where that is possible; what is there already costs nothing. Rejects with
 * what to do when it cannot.
 */
export async function ensureSetup(options: SetupOptions = {}): Promise<void> {
  const progress = options.progress ?? progressOn(process.stderr);
  const parts = options.only ?? USUAL_PARTS;
  const whenAsked = (part: SetupPart, make: () => Promise<unknown>): Promise<unknown>[] =>
    parts.includes(part) ? [make()] : [];
  try {
    await Promise.all([
      ensureBinaries(programsOf(parts), progress),
      ...whenAsked('python', () => ensureEnginePython(progress)),
      ...whenAsked('builds', () => ensureBuilds(progress)),
      ...whenAsked('browser', () => findChromium()),
      ...whenAsked('upstream-engines', () => ensureUpstreamEngines(progress)),
    ]);
  } catch (error) {
    await stopCommands(); // The rest would be made for nobody.
    throw error;
  }
}

function programsOf(parts: readonly SetupPart[]): BinaryName[] {
  return parts.flatMap((part) => PROGRAMS[part] ?? []);
}

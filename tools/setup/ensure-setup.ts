import { findChromium } from '@coxswain/test-harness';
import { ensureBinaries } from './binaries.ts';
import { ensureBuilds } from './builds.ts';
import { progressOn, type Progress } from './progress.ts';
import { ensureEnginePython } from './python.ts';

/** What can be prepared on its own. */
export const SETUP_PARTS = ['binaries', 'python', 'builds', 'browser'] as const;
export type SetupPart = (typeof SETUP_PARTS)[number];

/** What each part is, for people. */
export const PART_MEANINGS: Record<SetupPart, string> = {
  binaries: 'Kubernetes programs: etcd, kube-apiserver, kube-scheduler, kube-controller-manager, kubectl, helm, kwok',
  python: 'Python environment of the engines, with PyTorch',
  builds: 'API, dashboard and launcher',
  browser: 'Chromium, for tests of the dashboard',
};

const MAKERS: Record<SetupPart, (progress: Progress) => Promise<unknown>> = {
  binaries: ensureBinaries,
  python: ensureEnginePython,
  builds: ensureBuilds,
  browser: () => findChromium(),
};

/** What to prepare, and where to tell about it. */
export interface SetupOptions {
  /** All parts unless given. */
  readonly only?: readonly SetupPart[];
  /** Standard error unless given. */
  readonly progress?: Progress;
}

/** Prepares what is asked for; what is there already costs nothing. Rejects with what to do when it cannot. */
export async function ensureSetup(options: SetupOptions = {}): Promise<void> {
  const progress = options.progress ?? progressOn(process.stderr);
  for (const part of options.only ?? SETUP_PARTS) {
    await MAKERS[part](progress);
  }
}

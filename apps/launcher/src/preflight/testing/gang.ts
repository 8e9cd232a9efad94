/** The preflight of a whole gang on this machine: one process of the program per pod, and nobody between them but what the operator would pass on. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type PreflightLevel, type PreflightReport, sourcedCommand } from '@coxswain/api-types';
import { judgePreflight, type Judgement, type ObservedPod } from '@coxswain/preflight';
import type { PreflightBoard } from '../../reports/preflight-board.ts';
import { PreflightProcess } from '../preflight-process.ts';

/** What can be planted under the Python of a pod (`faults/sitecustomize.py`), and the check that is to see it. */
export const FAULTS = { shm: 'sharedMemory', clock: 'clock', torch: 'versions', link: 'bandwidth' } as const;
export type Fault = keyof typeof FAULTS;

export interface GangOnTrial {
  readonly python: string;
  readonly podCount: number;
  readonly level: Exclude<PreflightLevel, 'Off'>;
  readonly timeoutMs: number;
  /** Fault of each pod that has one, by its index. */
  readonly planted?: Readonly<Record<number, Fault>>;
  /** Script of each pod whose runtime sources one, by its index. */
  readonly scripts?: Readonly<Record<number, string>>;
}

/** What came out, and after how long. */
export interface Trial {
  readonly reports: readonly PreflightReport[];
  readonly judgement: Judgement;
  readonly tookMs: number;
}

export async function tryGang(gang: GangOnTrial): Promise<Trial> {
  const begunMs = performance.now();
  const board = Promise.withResolvers<PreflightBoard>();
  const pods = Array.from({ length: gang.podCount }, (_, podIndex) => podOf(gang, podIndex, board));
  try {
    const reports = await Promise.all(pods.map((pod) => pod.report));
    const lookedAt = reports.map((report, podIndex): ObservedPod => ({
      podIndex,
      node: `node-${podIndex}`,
      ranks: 1,
      report,
    }));
    return { reports, judgement: judgePreflight(lookedAt), tookMs: performance.now() - begunMs };
  } finally {
    for (const pod of pods) pod.end();
  }
}

function podOf(gang: GangOnTrial, podIndex: number, board: PromiseWithResolvers<PreflightBoard>): PreflightProcess {
  const { python, podCount, level, timeoutMs, planted, scripts } = gang;
  const script = scripts?.[podIndex];
  const [first = python, ...rest] = script === undefined ? [] : sourcedCommand(script, [python]);
  return new PreflightProcess({
    level,
    timeoutMs,
    podIndex,
    podCount,
    isHost: podIndex === 0,
    command: [first, ...rest],
    environment: {
      ...process.env,
      OMP_NUM_THREADS: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONPATH: join(import.meta.dirname, 'faults'),
      ...(planted?.[podIndex] === undefined ? {} : { PLANTED_FAULT: planted[podIndex] }),
    },
    bootId: randomUUID(),
    onBoard: ({ port, key }) => board.resolve({ address: `127.0.0.1:${port}`, key }),
    board: board.promise,
  });
}

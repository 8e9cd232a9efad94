/** `coxswain-launcher observe PID`: reports the ranks below that process until it ends. */
import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { POD_ENV } from '@coxswain/api-types';
import { beginningOf } from '../processes/process-facts.ts';
import { isHttpsBase, LAUNCHER_ENV } from '../program/settings.ts';
import { Observer } from './observer.ts';
import { ReportSender, type ReportTarget } from './send-report.ts';

const REPORT_MS = 5_000;
const HASTY_REPORT_MS = 1_000;
/** How often it looks whether the program has ended. */
const CHECK_MS = 500;

type Environment = Readonly<Record<string, string | undefined>>;

/** Ends with the program. Ends at once if it cannot report; it prints nothing. */
export async function observe(pid: number, environment: Environment): Promise<void> {
  const begun = beginningOf(pid);
  const target = targetIn(environment);
  const { [LAUNCHER_ENV.bootId]: bootId, [LAUNCHER_ENV.reportSocket]: socketPath } = environment;
  if (begun === undefined || target === undefined || bootId === undefined || socketPath === undefined) return;
  takeLeast();
  const sender = new ReportSender(target);
  const observer = await Observer.start({ pid, bootId, socketPath, send: (report) => sender.send(report) });
  const runs = (): boolean => beginningOf(pid) === begun;
  while (runs()) {
    await observer.report();
    const untilMs = performance.now() + (observer.isHasty ? HASTY_REPORT_MS : REPORT_MS);
    while (runs() && performance.now() < untilMs) await delay(CHECK_MS);
  }
  await observer.stop();
  sender.close();
}

/** The program comes first: for processors, and when memory runs out where the kernel ends one process and not the whole container. */
function takeLeast(): void {
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // A sandbox may forbid it.
  }
}

function targetIn(environment: Environment): ReportTarget | undefined {
  const urls = (environment[POD_ENV.reportUrls] ?? '').split(',').filter(isHttpsBase);
  const tokenFile = environment[POD_ENV.tokenFile];
  if (urls.length === 0 || tokenFile === undefined) return undefined;
  return { urls, ca: environment[POD_ENV.reportCa], tokenFile };
}

/** Limit of the time and priority of an imported job. */
import { PriorityClassName } from '@coxswain/api-types';
import type { ImportReport } from './import-report.ts';
import type { Source } from './source.ts';

/** Fields of a job that follow from other systems' deadlines and priority classes. */
export interface RunLimits {
  readonly maxRuntimeSeconds?: number;
  readonly priorityClassName?: string;
}

/** Bounds of spec.maxRuntimeSeconds. */
const SECONDS = { least: 60, most: 31_536_000 } as const;

const COUNTS = 'it counts the time for which a run holds GPUs, over its restarts; the wait does not count';

/** The seconds if a job may have such a limit. */
export function asMaxRuntime(seconds: number | undefined): number | undefined {
  return seconds !== undefined && seconds >= SECONDS.least && seconds <= SECONDS.most ? seconds : undefined;
}

/** Takes the first deadline and the first priority class that are there; the report names the others as left. */
export function readRunLimits(
  { deadlines, classes }: { readonly deadlines: readonly Source[]; readonly classes: readonly Source[] },
  report: ImportReport,
): RunLimits {
  const deadline = deadlines.find((one) => one.isThere);
  const maxRuntimeSeconds = asMaxRuntime(deadline?.count());
  if (deadline !== undefined && maxRuntimeSeconds !== undefined)
    report.changed(deadline, `maxRuntimeSeconds ${maxRuntimeSeconds}`, { why: COUNTS });
  const named = classes.find((one) => PriorityClassName.safeParse(one.value).success);
  const priorityClassName = named?.text();
  if (named !== undefined && priorityClassName !== undefined)
    report.changed(named, `priorityClassName ${priorityClassName}`, {
      why: 'its value orders the jobs that wait; it evicts no pod',
      todo: `an administrator lets the project use it: coxswain project priority-classes PROJECT --add ${priorityClassName}`,
    });
  for (const other of classes) if (other !== named) report.left(other, { why: 'a job has one priority class' });
  return {
    ...(maxRuntimeSeconds === undefined ? {} : { maxRuntimeSeconds }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
  };
}

/** `--time` of Slurm in seconds: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]]; undefined: none of these. */
export function secondsOfSlurm(text: string): number | undefined {
  const [, days, clock = ''] = /^(?:(\d{1,4})-)?(\d{1,6}(?::\d{1,2}){0,2})$/.exec(text) ?? [];
  if (clock === '') return undefined;
  const parts = clock.split(':').map(Number);
  const [hours = 0, minutes = 0, seconds = 0] =
    days !== undefined || parts.length === 3 ? parts : [0, parts[0] ?? 0, parts[1] ?? 0];
  return Number(days ?? 0) * 86_400 + hours * 3_600 + minutes * 60 + seconds;
}

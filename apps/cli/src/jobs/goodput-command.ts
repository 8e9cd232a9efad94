import {
  formatRecommendedSaves,
  goodputWords,
  type JobGoodput,
  type JobRecovery,
  nameOfRun,
  RESTART_PHASES,
} from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import type { Command } from 'commander';
import { columns } from '../output/output.ts';
import type { Session } from '../session/session.ts';

/** `coxswain goodput` */
export function addGoodputCommand(program: Command, session: Session): void {
  program
    .command('goodput <job>')
    .description('show where the GPU time of a job went; each GPU-second is in exactly one category')
    .action(async (name: string) => {
      const project = await session.open();
      const { at, job } = await project.find(name);
      session.show(await project.api.goodput(at), (shown) => goodputText(job.name, shown));
    });
}

const BAR_COLUMNS = 30;
/** `-o json` has the rest. */
const SHOWN_RECOVERIES = 10;
const SHOWN_STOPS = 8;
const PHASES = Object.keys(RESTART_PHASES);

function goodputText(name: string, goodput: JobGoodput): string {
  const waits = waitSentence(goodput);
  if (goodput.goodput === null) return [`${name} has held no GPUs yet.`, ...waits].join('\n');
  const rows = goodput.shares
    .filter(({ gpuSeconds }) => gpuSeconds > 0)
    .toSorted((left, right) => right.gpuSeconds - left.gpuSeconds)
    .map(({ category, gpuSeconds, share }) => [
      `  ${goodputWords(category)}`,
      percent(share).padStart(7),
      formatDuration(gpuSeconds * 1000),
      '#'.repeat(Math.round(share * BAR_COLUMNS)),
    ]);
  const held = formatDuration(goodput.gpuSeconds * 1000);
  return [
    `${name}: ${percent(goodput.goodput)} of ${held} of GPU time was productive.`,
    columns([['  CATEGORY', '  SHARE', 'GPU TIME', ''], ...rows]),
    ...waits,
    ...saveSentence(goodput),
    ...recommendationSentence(goodput),
    ...stopLines(goodput),
    ...recoveryLines(goodput),
    ...phaseLines(goodput),
    ...leftOut(goodput),
  ].join('\n');
}

function waitSentence({ heldSeconds, waitingSeconds, suspendedSeconds }: JobGoodput): readonly string[] {
  const times = [
    ['GPUs held for', heldSeconds],
    ['waited for', waitingSeconds],
    ['suspended for', suspendedSeconds],
  ] as const;
  const spent = times.filter(([, seconds]) => seconds > 0);
  if (spent.length === 0) return [];
  return [`Wall time: ${spent.map(([words, seconds]) => `${words} ${formatDuration(seconds * 1000)}`).join(', ')}.`];
}

function saveSentence({ secondsPerSave }: JobGoodput): readonly string[] {
  if (secondsPerSave === null || secondsPerSave === undefined) return [];
  return [`On average, a save stopped the ranks for ${formatDuration(secondsPerSave * 1000)}.`];
}

/** What would cost least; empty if no save was measured. */
export function recommendationSentence({ recommendedSaves }: JobGoodput): readonly string[] {
  if (recommendedSaves === null || recommendedSaves === undefined) return [];
  const text = formatRecommendedSaves(recommendedSaves, (seconds) => formatDuration(seconds * 1000));
  return [`Recommended: save ${text}.`];
}

function recoveryLines({ recoveries = [] }: JobGoodput): readonly string[] {
  if (recoveries.length === 0) return [];
  const shown = recoveries.slice(-SHOWN_RECOVERIES);
  return [
    shown.length === recoveries.length
      ? 'From the last step before each failure to the next one:'
      : `From the last step before each of the ${shown.length} newest failures to the next one:`,
    columns([
      ['  RUN', 'LAST STEP', 'FROM STEP', ...PHASES.map((phase) => phase.toUpperCase()), 'TOTAL'],
      ...shown.map(recoveryRow),
    ]),
    ...(shown.some(hasUnknown) ? ['?: not known; its time is in the next known phase.'] : []),
  ];
}

function recoveryRow({ epoch, incarnation, lastStep, resumedFromStep, phases, total }: JobRecovery): readonly string[] {
  const textOf = (seconds: number | null, absent: string): string =>
    seconds === null ? absent : formatDuration(seconds * 1000);
  return [
    `  ${nameOfRun(epoch, incarnation)}`,
    `${lastStep ?? '-'}`,
    `${resumedFromStep}`,
    ...phases.map(({ seconds }) => textOf(seconds, total === null ? '-' : '?')),
    textOf(total, '-'),
  ];
}

function hasUnknown({ phases, total }: JobRecovery): boolean {
  return total !== null && phases.some(({ seconds }) => seconds === null);
}

/** What all restarts cost, phase by phase. */
function phaseLines({ restartPhases = [] }: JobGoodput): readonly string[] {
  const known = restartPhases.filter(({ restarts }) => restarts > 0);
  if (known.length === 0) return [];
  return [
    'All restarts, by phase:',
    columns([
      ['  PHASE', 'RESTARTS', 'TIME', 'GPU TIME'],
      ...known.map(({ phase, restarts, seconds, gpuSeconds }) => [
        `  ${phase}`,
        `${restarts}`,
        formatDuration(seconds * 1000),
        formatDuration(gpuSeconds * 1000),
      ]),
    ]),
  ];
}

/** How long ranks stood still for each of the newest saves. */
function stopLines({ saveStops = [] }: JobGoodput): readonly string[] {
  if (saveStops.length === 0) return [];
  const stops = saveStops
    .slice(-SHOWN_STOPS)
    .map(({ step, seconds }) => `step ${step} ${formatDuration(seconds * 1000)}`);
  return [`The newest saves stopped the ranks for: ${stops.join(', ')}.`];
}

function leftOut({ attemptsLeftOut }: JobGoodput): readonly string[] {
  return attemptsLeftOut === 0 ? [] : [`The ${attemptsLeftOut} oldest attempts are not counted.`];
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

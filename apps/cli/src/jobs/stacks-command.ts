import {
  type JobStacks,
  rankIsIn,
  silenceWords,
  type StackGroup,
  stackHolders,
  STACKS_WITHIN_MS,
} from '@coxswain/api-types';
import { mostAndOdd } from '@coxswain/health';
import type { Command } from 'commander';
import { utcText } from '../output/output.ts';
import type { Session } from '../session/session.ts';
import { wholeNumber } from '../options/whole-number.ts';

interface StacksOptions {
  readonly rank?: number;
  readonly threads?: true;
}

/** After this time the CLI prints that it waits. */
const WAIT_NOTICE_MS = 2_000;

/** `coxswain stacks` */
export function addStacksCommand(program: Command, session: Session): void {
  program
    .command('stacks <job>')
    .description("print the current stack traces of a job's ranks; equal stacks are grouped, the rarest come last")
    .option('--rank <rank>', 'only this rank, with all its threads', wholeNumber)
    .option('--threads', 'show all threads, not only the main thread of each process')
    .addHelpText(
      'after',
      '\nPython functions, innermost first. Training continues while the ranks report their stacks.',
    )
    .action(async (name: string, { rank, threads }: StacksOptions) => {
      const project = await session.open();
      const { at, job } = await project.find(name);
      const answered = new AbortController();
      void session.pause(WAIT_NOTICE_MS, answered.signal).then(() => {
        if (answered.signal.aborted || session.signal.aborted) return;
        session.printError(`Asking the ranks of ${job.name}; each has ${STACKS_WITHIN_MS / 1_000} s to answer.`);
      });
      const stacks = await project.api.stacks(at, { rank }).finally(() => answered.abort());
      const wanted = rank === undefined ? stacks : ofRank(stacks, rank);
      session.show(wanted, (shown) => stacksText(job.name, shown, threads === true || rank !== undefined));
    });
}

/** Keeps one rank: the server also asked the other ranks of its pod. */
function ofRank({ groups, silent, leftOut, ...about }: JobStacks, rank: number): JobStacks {
  const has = ({ ranks }: { readonly ranks: string }): boolean => rankIsIn(rank, ranks);
  const only = { ranks: String(rank) };
  return {
    ...about,
    rankCount: 1,
    groups: groups.filter(has).map((group) => ({ ...group, ...only, rankCount: 1 })),
    silent: silent.filter(has).map((one) => ({ ...one, ...only })),
    leftOut: rankIsIn(rank, leftOut) ? String(rank) : '',
  };
}

function stacksText(name: string, stacks: JobStacks, hasThreads: boolean): string {
  const { takenAt, epoch, rankCount, groups, silent, leftOut } = stacks;
  const { most, odd } = mostAndOdd(groups);
  const others = groups.filter(({ isMain }) => !isMain);
  return [
    `${name}, attempt ${epoch}, ${utcText(takenAt)} UTC: stacks of ${ranksWords(rankCount)}.`,
    ...(most === undefined ? [] : [groupText(most, rankCount)]),
    ...(most === undefined || odd.length === 0 ? [] : ['Other stacks, the rarest last:']),
    ...odd.map((group) => groupText(group, rankCount)),
    ...(silent.length === 0 ? [] : [`No stack trace:\n${silent.map((one) => `  ${silenceWords(one)}`).join('\n')}`]),
    ...(hasThreads ? others.map((group) => groupText(group, rankCount)) : threadsHint(others)),
    ...(leftOut === ''
      ? []
      : [`The answer was too large: stacks of ranks ${leftOut} are incomplete. Ask for one rank with --rank.`]),
  ].join('\n\n');
}

function threadsHint(others: readonly StackGroup[]): readonly string[] {
  return others.length === 0 ? [] : [`Other threads have ${others.length} different stacks; show them with --threads.`];
}

/** The innermost function first, as py-spy and pstack print it. */
function groupText(group: StackGroup, of: number): string {
  const { frames, isCut } = group;
  return [
    stackHolders(group, of),
    ...frames.map((frame) => `    ${frame}`),
    ...(isCut === true ? ['    … functions further out are left out'] : []),
  ].join('\n');
}

function ranksWords(count: number): string {
  return count === 1 ? '1 rank' : `${count} ranks`;
}

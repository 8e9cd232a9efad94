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

/** Nobody wonders about less. */
const WONDERS_AFTER_MS = 2_000;

/** `coxswain stacks` */
export function addStacksCommand(program: Command, session: Session): void {
  program
    .command('stacks <job>')
    .description('what each rank of a running job is in the middle of: equal stacks together, who stands apart last')
    .option('--rank <rank>', 'of this rank alone, with all its threads', wholeNumber)
    .option('--threads', 'of all threads, not only the one that each program began with')
    .addHelpText('after', '\nFunctions of Python, innermost first. The ranks train on: they are asked, not stopped.')
    .action(async (name: string, { rank, threads }: StacksOptions) => {
      const project = await session.open();
      const { at, job } = await project.find(name);
      const answered = new AbortController();
      void session.pause(WONDERS_AFTER_MS, answered.signal).then(() => {
        if (answered.signal.aborted || session.signal.aborted) return;
        session.printError(`Asking the ranks of ${job.name}; each has ${STACKS_WITHIN_MS / 1_000} s to answer.`);
      });
      const stacks = await project.api.stacks(at, { rank }).finally(() => answered.abort());
      const wanted = rank === undefined ? stacks : ofRank(stacks, rank);
      session.show(wanted, (shown) => stacksText(job.name, shown, threads === true || rank !== undefined));
    });
}

/** The others of its pod were asked as well. */
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
    `${name}, epoch ${epoch}, ${utcText(takenAt)} UTC: ${ranksWords(rankCount)} asked.`,
    ...(most === undefined ? [] : [groupText(most, rankCount)]),
    ...(most === undefined || odd.length === 0 ? [] : ['In the middle of something else, the fewest last:']),
    ...odd.map((group) => groupText(group, rankCount)),
    ...(silent.length === 0 ? [] : [`No stack:\n${silent.map((one) => `  ${silenceWords(one)}`).join('\n')}`]),
    ...(hasThreads ? others.map((group) => groupText(group, rankCount)) : threadsHint(others)),
    ...(leftOut === ''
      ? []
      : [`The answer was full: of ranks ${leftOut} something is left out. Ask for one with --rank.`]),
  ].join('\n\n');
}

function threadsHint(others: readonly StackGroup[]): readonly string[] {
  return others.length === 0 ? [] : [`Other threads have ${others.length} different stacks; --threads shows them.`];
}

/** As py-spy and pstack print it: the innermost function first. */
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

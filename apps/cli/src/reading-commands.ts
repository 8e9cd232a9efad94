import type { CheckpointRecord, JobSummary } from '@coxswain/api-types';
import { formatBytes } from '@coxswain/units';
import type { Command } from 'commander';
import { LogText } from './log-text.ts';
import { columns, eventLine, jobDetails, jobTable } from './output.ts';
import type { Session } from './session.ts';
import { watchJob } from './watch.ts';
import { wholeNumber } from './whole-number.ts';

/** Commands that change nothing: get, list, watch, events, checkpoints, logs, whoami. */
export function addReadingCommands(program: Command, session: Session): void {
  program
    .command('get <job>')
    .description('show one job, by name or id')
    .action(async (name: string) => {
      const { job } = await (await session.open()).find(name);
      session.show(job, (shown) => jobDetails(shown, session.now()));
    });

  program
    .command('list')
    .description('list the jobs of the project, newest first')
    .option('--state <state>', 'only jobs in this state, e.g. Running')
    .action(async (options: { state?: string }) => {
      const { api, project } = await session.open();
      const jobs: JobSummary[] = [];
      for await (const job of api.jobs(project, options.state)) jobs.push(job);
      session.show(jobs, (shown) => jobTable(shown, { now: session.now(), widthColumns: session.widthColumns }));
    });

  program
    .command('watch <job>')
    .description('follow a job live until it ends; exit code 0 if it completes, 3 if not')
    .action(async (name: string) => {
      const project = await session.open();
      session.setExitCode(await watchJob(project, (await project.find(name)).job, session));
    });

  program
    .command('events <job>')
    .description('what happened to a job, in plain words')
    .action(async (name: string) => {
      const project = await session.open();
      session.show(await project.api.jobEvents((await project.find(name)).at), ({ items }) =>
        items.length === 0 ? 'Nothing has happened yet.' : items.map(eventLine).join('\n'),
      );
    });

  program
    .command('checkpoints <job>')
    .description('the saved states of a job')
    .action(async (name: string) => {
      const project = await session.open();
      session.show(await project.api.checkpoints((await project.find(name)).at), ({ items }) => checkpointTable(items));
    });

  program
    .command('logs <job>')
    .description('print the log of the pod that runs a rank')
    .option('--rank <rank>', 'global rank', wholeNumber, 0)
    .option('--tail <lines>', 'only the last lines', wholeNumber)
    .option('-f, --follow', 'keep printing as the log grows')
    .option('--raw', 'byte for byte on a terminal too, which then obeys whatever the program wrote')
    .action(async (name: string, options: { rank: number; tail?: number; follow?: true; raw?: true }) => {
      const project = await session.open();
      const { at } = await project.find(name);
      const log = await project.api.logs(at, {
        rank: options.rank,
        follow: options.follow === true,
        tailLines: options.tail,
      });
      const write = async (chunk: Uint8Array | string): Promise<void> => {
        if (!session.stdout.write(chunk)) await new Promise((resolve) => session.stdout.once('drain', resolve));
      };
      const isShown = session.widthColumns !== undefined && options.raw !== true;
      const text = new LogText();
      for await (const chunk of log) await write(isShown ? text.push(chunk) : chunk);
      await write(text.end());
    });

  program
    .command('whoami')
    .description('who the token belongs to and what it may do')
    .action(async () => {
      session.show(
        await session.connect().whoAmI(),
        (me) => `${me.name}: ${me.role} of ${me.project ?? 'every project'}`,
      );
    });
}

function checkpointTable(items: readonly CheckpointRecord[]): string {
  const rows = items.map((item) => [
    String(item.step),
    String(item.epoch),
    item.state,
    formatBytes(item.bytes),
    item.name,
  ]);
  return rows.length === 0 ? 'No checkpoints yet.' : columns([['STEP', 'EPOCH', 'STATE', 'SIZE', 'NAME'], ...rows]);
}

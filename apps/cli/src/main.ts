import { CheckpointList, JobEvent, JobEventList, Job, StepPoint } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { formatBytes } from '@coxswain/units';
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { ApiClient } from './api-client.ts';
import { CliError } from './cli-error.ts';
import { readJobFile } from './job-file.ts';
import {
  columns,
  eventLine,
  jobDetails,
  jobTable,
  OUTPUT_FORMATS,
  progressLine,
  render,
  type OutputFormat,
} from './output.ts';
import { resolveSettings, type SettingsFlags } from './settings.ts';

/** What the commands need of the process they run in; tests give their own. */
export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
  readonly stdout: NodeJS.WritableStream;
  readonly signal: AbortSignal;
}

type Globals = SettingsFlags & { readonly output: OutputFormat };

const FINISHED = new Set<Job['state']>(['Complete', 'Failed', 'Cancelled', 'Refused', 'Deleted']);

/** Runs one command line; resolves to the exit code: 0 done, 1 refused or wrong, 2 server out of reach, 3 a watched job failed. */
export async function main(argv: readonly string[], context: CliContext = processContext()): Promise<number> {
  let exitCode = 0;
  const program = cli(context, (code) => (exitCode = code));
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    if (error instanceof CliError) {
      context.printError(error.message);
      return error.exitCode;
    }
    if (context.signal.aborted) return 130;
    throw error;
  }
}

function processContext(): CliContext {
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort());
  return {
    env: process.env,
    now: () => new Date(),
    print: (line) => console.log(line),
    printError: (line) => console.error(line),
    stdout: process.stdout,
    signal: abort.signal,
  };
}

function cli(context: CliContext, setExitCode: (code: number) => void): Command {
  const program = new Command('coxswain')
    .description('Trains large models on Kubernetes: submit jobs, watch them, bring them back.')
    .option('--server <url>', 'address of the API (COXSWAIN_SERVER)')
    .option('--token-file <file>', 'file with the API token (COXSWAIN_TOKEN holds the token itself)')
    .option('--project <name>', 'project (COXSWAIN_PROJECT; default: the one the token belongs to)')
    .option('--config <file>', 'configuration file (COXSWAIN_CONFIG; default: ~/.config/coxswain/config.yaml)')
    .addOption(new Option('-o, --output <format>', 'what to print').choices(OUTPUT_FORMATS).default('table'))
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.print(text.trimEnd()),
      writeErr: (text) => context.printError(text.trimEnd()),
    })
    .showHelpAfterError('(add --help for what the command takes)');
  const globals = (): Globals => program.opts<Globals>();
  const api = (): ApiClient => new ApiClient(resolveSettings(globals(), context.env));
  const show = <T>(data: T, table: (data: T) => string): void => context.print(render(data, globals().output, table));
  const showJob = (job: Job): void => show(job, (shown) => jobDetails(shown, context.now()));

  program
    .command('submit')
    .description('submit a job from a YAML or JSON file')
    .requiredOption('-f, --file <file>', 'TrainingJob manifest or {name, spec}; - reads standard input')
    .option('--name <name>', 'name to use instead of the one in the file')
    .option('--idempotency-key <key>', 'the same key twice makes one job (default: a fresh one)')
    .option('-w, --watch', 'follow the job until it ends')
    .addHelpText('after', '\nExample:\n  coxswain submit -f examples/jobs/tiny-gpt.yaml --watch')
    .action(async (options: { file: string; name?: string; idempotencyKey?: string; watch?: true }) => {
      const client = api();
      const body = readJobFile(options.file, options.name === undefined ? {} : { name: options.name });
      const job = await client.createJob(body, options.idempotencyKey ?? randomUUID());
      if (options.watch === undefined) return showJob(job);
      context.print(`Submitted ${job.name} (${job.id}).`);
      setExitCode(await watch(client, job, context));
    });

  program
    .command('get <job>')
    .description('show one job, by name or id')
    .action(async (name: string) => showJob(await api().job(name)));

  program
    .command('list')
    .description('list the jobs of the project, newest first')
    .option('--state <state>', 'only jobs in this state, e.g. Running')
    .action(async (options: { state?: string }) => {
      const jobs: Job[] = [];
      for await (const job of api().jobs(options.state)) jobs.push(job);
      show(jobs, (shown) => jobTable(shown, context.now()));
    });

  program
    .command('watch <job>')
    .description('follow a job live until it ends (exit code 3 if it fails)')
    .action(async (name: string) => {
      const client = api();
      setExitCode(await watch(client, await client.job(name), context));
    });

  program
    .command('events <job>')
    .description('what happened to a job, in plain words')
    .action(async (name: string) => {
      const client = api();
      show(await client.listOf(JobEventList, await client.job(name), 'events'), (list) =>
        list.items.map(eventLine).join('\n'),
      );
    });

  program
    .command('checkpoints <job>')
    .description('the saved states of a job')
    .action(async (name: string) => {
      const client = api();
      const list = await client.listOf(CheckpointList, await client.job(name), 'checkpoints');
      show(list, ({ items }) =>
        columns([
          ['STEP', 'EPOCH', 'STATE', 'SIZE', 'NAME'],
          ...items.map((item) => [
            String(item.step),
            String(item.epoch),
            item.state,
            formatBytes(item.bytes),
            item.name,
          ]),
        ]),
      );
    });

  program
    .command('logs <job>')
    .description('print the log of a rank’s pod')
    .option('--rank <rank>', 'global rank', count, 0)
    .option('--tail <lines>', 'only the last lines', count)
    .option('-f, --follow', 'keep printing as the log grows')
    .action(async (name: string, options: { rank: number; tail?: number; follow?: true }) => {
      const client = api();
      const query = new URLSearchParams({ rank: String(options.rank) });
      if (options.tail !== undefined) query.set('tailLines', String(options.tail));
      if (options.follow === true) query.set('follow', 'true');
      const body = await client.logs(await client.job(name), query);
      await body.pipeTo(Writable.toWeb(context.stdout as Writable) as WritableStream<Uint8Array>, {
        preventClose: true,
        signal: context.signal,
      });
    });

  for (const [action, description] of [
    ['suspend', 'save, stop and hold a job; its GPUs become free'],
    ['cancel', 'stop a job for good'],
  ] as const) {
    program
      .command(`${action} <job>`)
      .description(description)
      .action(async (name: string) => {
        const client = api();
        showJob(await client.act(await client.job(name), action));
      });
  }

  program
    .command('resume <job>')
    .description('run a suspended job again, on the same or another layout')
    .option('--tensor-parallel <ways>', 'tensor parallel degree', count)
    .option('--pipeline-parallel <ways>', 'pipeline parallel degree', count)
    .option('--data-parallel <ways>', 'data parallel degree', count)
    .action(
      async (name: string, options: { tensorParallel?: number; pipelineParallel?: number; dataParallel?: number }) => {
        const client = api();
        const job = await client.job(name);
        const { layout } = job.spec;
        const wanted: ParallelLayout = {
          tensorParallelDegree: options.tensorParallel ?? layout.tensorParallelDegree,
          pipelineParallelDegree: options.pipelineParallel ?? layout.pipelineParallelDegree,
          dataParallelDegree: options.dataParallel ?? layout.dataParallelDegree,
        };
        showJob(await client.act(job, 'resume', Object.keys(options).length === 0 ? {} : { layout: wanted }));
      },
    );

  program
    .command('delete <job>')
    .description('delete a job and its pods; its checkpoints stay')
    .action(async (name: string) => {
      const client = api();
      const job = await client.job(name);
      await client.deleteJob(job);
      context.print(`Deleting ${job.name}.`);
    });

  program
    .command('whoami')
    .description('who the token belongs to and what it may do')
    .action(async () =>
      show(await api().whoAmI(), (me) => `${me.name}: ${me.role} of ${me.project ?? 'every project'}`),
    );

  return program;
}

/** A whole number from 0; commander prints the option's name before the sentence. */
function count(text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new InvalidArgumentError(`"${text}" is not a whole number.`);
  return Number(text);
}

/** Prints events and a progress line now and then until the job ends; reconnects where it left off. Resolves to the exit code. */
async function watch(client: ApiClient, job: Job, context: CliContext): Promise<number> {
  let lastEventId: string | undefined;
  let lastProgressAtMs = 0;
  for (;;) {
    const stream = await client.events(job, {
      signal: context.signal,
      ...(lastEventId === undefined ? {} : { lastEventId }),
    });
    for await (const { event, data, id } of stream) {
      if (id !== undefined) lastEventId = id;
      if (event === 'event') context.print(eventLine(JobEvent.parse(JSON.parse(data))));
      if (event === 'step' && context.now().getTime() - lastProgressAtMs >= 1_000) {
        lastProgressAtMs = context.now().getTime();
        context.print(stepLine(StepPoint.parse(JSON.parse(data)), job));
      }
      if (event !== 'job') continue;
      const current = Job.parse(JSON.parse(data));
      if (FINISHED.has(current.state)) return finish(current, context);
    }
    const current = await client.job(job.id);
    if (FINISHED.has(current.state)) return finish(current, context);
  }
}

function stepLine(point: StepPoint, job: Job): string {
  const progress = {
    step: point.step,
    totalSteps: job.spec.training?.steps ?? null,
    loss: point.loss,
    tokensPerSecond: point.tokensPerSecond,
    etaSeconds: null,
    reportedAt: point.at,
  };
  return `${point.at.slice(11, 19)}   ${progressLine(progress)}`;
}

function finish(job: Job, context: CliContext): number {
  context.print(`${job.name}: ${job.state}. ${job.summary}`);
  return job.state === 'Complete' ? 0 : 3;
}

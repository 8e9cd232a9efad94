import { join } from 'node:path';
import {
  CONVERT_CHECKPOINT,
  DELETE_CHECKPOINT,
  EXIT_CODES,
  INSPECT_CHECKPOINT,
  POD_ENV,
  POD_PATHS,
  KeptLogsQuestion,
  READ_LOGS,
} from '@coxswain/api-types';
import { type CheckpointStore, openStore } from '@coxswain/checkpoint-store';
import { conversionInBucket } from './bucket/convert-in-bucket.ts';
import { openBucketStore } from './bucket/open-bucket.ts';
import { verifyInBucket } from './bucket/verify-in-bucket.ts';
import { type CodeProblem, fetchCode, withoutCodeUrl } from './code/fetch-code.ts';
import { runConversion } from './checkpoints/convert-checkpoint.ts';
import { runDeletion } from './checkpoints/delete-checkpoint.ts';
import { runWorker } from './checkpoints/worker.ts';
import { KEEP_LOGS, keepLogs, type LogsToKeep } from './kept-logs/keep-logs.ts';
import { readKeptLogs } from './kept-logs/read-kept-logs.ts';
import { runVerifier, VERIFY_CHECKPOINT } from './checkpoints/verifier-process.ts';
import { WATCH_SAVES, watchSaves } from './engine-saves/watch-saves.ts';
import { installObserver } from './observe/install-observer.ts';
import { observe } from './observe/observe-command.ts';
import { install } from './program/install.ts';
import { run } from './pod/run.ts';
import { waitForSignal } from './program/rest.ts';
import { bucketIn, parseSettings } from './program/settings.ts';
import { fitCause, writeTerminationMessage } from './ending/termination.ts';
import { LAUNCHER_VERSION } from './program/version.ts';

const NAME = 'coxswain-launcher';
const HELP = `${NAME} ${LAUNCHER_VERSION}: the first process of a training container.

  ${NAME} run -- <program> [arguments]   start one process of the engine per GPU, watch and report
  ${NAME} install --to <directory>       copy this program into a directory, as ${NAME}
  ${NAME} install <file>                 copy this program to a path
  ${NAME} install-observer <directory>   copy what observes a pod of another controller into a directory
  ${NAME} observe <pid>                  observe the ranks below that process until it ends
  ${NAME} rest                           stay idle until SIGTERM or SIGINT, in a pod that only pulls images
  ${NAME} version                        print the version
  ${NAME} --help                         print this

"run" takes everything from COXSWAIN_* variables that the operator writes into the pod. It ends with:
${Object.values(EXIT_CODES)
  .map(({ code, meaning }) => `  ${String(code).padStart(3)}  ${meaning}`)
  .join('\n')}
Any other code is the failing rank's own; a rank ended by signal n gives 128 + n.
`;
const WRONG_USE = 64;

/** Runs one subcommand and returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const [subcommand, ...rest] = args;
  switch (subcommand) {
    case 'run':
      return await runRanks(rest);
    case 'install':
      return await installSelf(rest);
    case 'install-observer':
      // The pod of another controller starts whatever happens here.
      await installObserver(process.execPath, rest[0] ?? '').catch((error: unknown) => {
        process.stderr.write(`${NAME}: the pod will not be observed: ${String(error)}\n`);
      });
      return 0;
    case 'observe':
      await observe(Number(rest[0]), process.env).catch(() => undefined);
      return 0;
    case 'rest':
      await waitForSignal();
      return 0;
    case VERIFY_CHECKPOINT:
      await runVerifier(rest[0] ?? '', writeOut);
      return 0;
    case INSPECT_CHECKPOINT:
      return await verifyForOperator(rest[0] ?? '');
    case DELETE_CHECKPOINT:
      return await runDeletion(rest[0] ?? '', process.env, openBucketOfPod);
    case CONVERT_CHECKPOINT:
      return await runConversion(process.env, { inBucket: conversionInBucket(openBucketOfPod) });
    case WATCH_SAVES:
      await watchSaves(rest[0] ?? '', { input: process.stdin, write: writeOut });
      return 0;
    case KEEP_LOGS:
      await keepLogs(JSON.parse(rest[0] ?? '') as LogsToKeep, await storeOfPod(), {
        input: process.stdin,
        write: (text) => void process.stdout.write(text),
      });
      return 0;
    case READ_LOGS:
      await readKeptLogs(KeptLogsQuestion.parse(JSON.parse(rest[0] ?? '')), await storeOfPod(), writeOut);
      return 0;
    case 'version':
    case '--version':
      process.stdout.write(`${LAUNCHER_VERSION}\n`);
      return 0;
    case 'help':
    case '--help':
    case '-h':
      process.stdout.write(HELP);
      return 0;
    default:
      process.stderr.write(
        `${NAME}: ${subcommand === undefined ? 'name a subcommand' : `${subcommand} is not a subcommand`}.\n\n${HELP}`,
      );
      return WRONG_USE;
  }
}

async function openBucketOfPod(): Promise<CheckpointStore | undefined> {
  const bucket = bucketIn(process.env);
  return bucket && (await openBucketStore(bucket));
}

/** Where the job keeps its checkpoints: a bucket, or the claim. */
async function storeOfPod(): Promise<CheckpointStore> {
  return (
    (await openBucketOfPod()) ?? (await openStore(process.env[POD_ENV.checkpointMount] ?? POD_PATHS.checkpoints, {}))
  );
}

async function verifyForOperator(question: string): Promise<number> {
  const bucket = bucketIn(process.env);
  if (bucket === undefined) return await runWorker(question, process.env);
  return await runWorker(question, process.env, async (checkpoint, options) =>
    verifyInBucket(await openBucketStore(bucket), checkpoint, options),
  );
}

/** Settles when the text is written: an exit would cut off what a pipe did not accept yet. */
async function writeOut(text: string | Buffer): Promise<void> {
  await new Promise((resolve) => process.stdout.write(text, resolve));
}

async function runRanks([separator, program, ...args]: readonly string[]): Promise<number> {
  if (separator !== '--' || program === undefined) {
    process.stderr.write(`${NAME}: name the engine's program after two dashes: ${NAME} run -- python3 train.py\n`);
    return EXIT_CODES.launcherFailed.code;
  }
  const parsed = parseSettings(process.env);
  if (parsed.kind === 'refused') return refuse({ message: parsed.sentence });
  const { settings } = parsed;
  let environment = process.env;
  if (settings.code !== undefined) {
    const problem = await fetchCode(settings.code, (sentence) => process.stderr.write(`[launcher] ${sentence}\n`));
    if (problem !== undefined) return refuse({ ...problem, epoch: settings.epoch });
    // Ranks start where their launcher is.
    process.chdir(settings.code.directory);
    environment = { ...withoutCodeUrl(process.env), PWD: process.cwd() };
  }
  return await run({ settings, command: [program, ...args], environment });
}

async function installSelf(args: readonly string[]): Promise<number> {
  const [first, directory] = args;
  const target =
    first === '--to' && directory !== undefined ? join(directory, NAME) : args.length === 1 ? first : undefined;
  if (target === undefined || target.startsWith('-')) {
    process.stderr.write(`${NAME}: name the target directory: ${NAME} install --to <directory>\n`);
    return WRONG_USE;
  }
  await install(process.execPath, target);
  return 0;
}

/** There is no connection to an operator yet: the sentence goes to the log and the termination message. */
function refuse({
  message,
  kind = 'launcherFailed',
  epoch = 0,
}: Partial<CodeProblem> & { readonly message: string; readonly epoch?: number }): number {
  process.stderr.write(`[launcher] ${message}\n`);
  const { COXSWAIN_TERMINATION_LOG = POD_PATHS.terminationMessage, COXSWAIN_NODE_NAME } = process.env;
  const { code } = EXIT_CODES[kind];
  const cause = fitCause({
    version: 1,
    kind,
    epoch,
    node: (COXSWAIN_NODE_NAME ?? '').slice(0, 253),
    exitCode: code,
    message,
    lastLines: [],
    unreportedCheckpoints: [],
  });
  writeTerminationMessage(COXSWAIN_TERMINATION_LOG, cause);
  return code;
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`[launcher] ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(EXIT_CODES.launcherFailed.code);
  },
);

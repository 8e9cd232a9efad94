import { ApiProblem } from '@coxswain/api-client';
import type { CheckpointRecord } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import { formatBytes } from '@coxswain/units';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { readLayoutFile } from '../files/read-layout-file.ts';
import type { ProjectJobs } from '../session/project-jobs.ts';
import type { Session } from '../session/session.ts';

const POLL_MS = 2_000;
const MAX_POLLS = 900;

interface AdoptOptions {
  readonly claim: string;
  readonly path: string;
  readonly namespace?: string;
  readonly layout?: string;
  readonly wait?: true;
}

/** Adds `checkpoint adopt`. */
export function addAdoptCommand(checkpoint: Command, session: Session): void {
  checkpoint
    .command('adopt')
    .argument('<name>', 'name of the new Checkpoint')
    .description('make a checkpoint that no job saved known, so that jobs can resume from it once it is verified')
    .requiredOption('--claim <name>', 'PersistentVolumeClaim that holds it')
    .requiredOption('--path <directory>', 'directory of one checkpoint inside the claim')
    .option('--namespace <name>', 'namespace of the claim; default: the first of the project')
    .option('--layout <file>', 'layout that it was saved at; default: what its files say')
    .option('--wait', 'wait until it is verified; exit code 1 if no job can resume from it')
    .addHelpText(
      'after',
      '\nExample:\n  coxswain checkpoint adopt llama-run-7 --claim old-runs --path llama/iter_0001000 --wait',
    )
    .action(async (name: string, { claim, path, namespace, layout, wait }: AdoptOptions) => {
      const project = await session.open();
      const adopted = await project.api.adoptCheckpoint(project.project, {
        name,
        claimName: claim,
        path,
        ...(namespace === undefined ? {} : { namespace }),
        ...(layout === undefined ? {} : { layout: layoutOf(layout) }),
      });
      const found = wait === true ? await waitForVerdict(session, project, adopted) : adopted;
      session.show(found, adoptionText);
      const { verdict } = found.verification ?? {};
      if (wait === true && (verdict === 'damaged' || verdict === 'incomplete')) session.setExitCode(1);
    });
}

function layoutOf(path: string): ParallelLayout {
  const read = readLayoutFile(path);
  if (read.kind === 'job')
    throw new CliError(
      `${path} holds the layouts of several roles. Give the layout of the role that saved the checkpoint.`,
    );
  return read.document.layout;
}

/** The record once it was verified. Rejects if it could not be read. */
async function waitForVerdict(
  session: Session,
  { api, project }: ProjectJobs,
  adopted: CheckpointRecord,
): Promise<CheckpointRecord> {
  let found = adopted;
  for (let polls = 0; polls < MAX_POLLS; polls++) {
    if (found.verification !== null) return found;
    if (found.message !== null) throw new CliError(`Checkpoint ${found.name} is not verified. ${found.message}`);
    await session.pause(POLL_MS);
    session.signal.throwIfAborted();
    // The record comes a moment after the object.
    found = await api.checkpointByUid(project, adopted.uid).catch((error: unknown) => {
      if (error instanceof ApiProblem && error.status === 404) return found;
      throw error;
    });
  }
  throw new CliError(`Checkpoint ${found.name} was not verified within 30 minutes. Its state is ${found.state}.`);
}

/** What was adopted, and what comes next. */
export function adoptionText({ name, claimName, path, verification, contents }: CheckpointRecord): string {
  const what = `Checkpoint ${name} is adopted: ${path} on claim ${claimName}.`;
  if (verification === null) return `${what} A pod verifies it before a job can resume from it.`;
  const { level, verdict, findings } = verification;
  const [first] = findings;
  const why = first === undefined ? '' : ` ${first.message}`;
  const holds =
    contents === null
      ? ''
      : ` It holds ${formatBytes(contents.bytes)}${contents.step === undefined ? '' : ` of step ${contents.step}`}${contents.isResumable ? '' : ', weights alone'}.`;
  return `${what}${holds} It is ${verdict} as far as ${level} sees.${why}`;
}

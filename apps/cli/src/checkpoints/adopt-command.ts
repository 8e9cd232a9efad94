import {
  type Checkpoint,
  type CheckpointAdoptInput,
  type CheckpointRecord,
  describeLocation,
} from '@coxswain/api-types';
import { adoptionProblem } from '@coxswain/checkpoint';
import type { ParallelLayout } from '@coxswain/layout';
import { formatBytes } from '@coxswain/units';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { readLayoutFile } from '../files/read-layout-file.ts';
import { wholeNumber } from '../options/whole-number.ts';
import type { ProjectJobs } from '../session/project-jobs.ts';
import type { Session } from '../session/session.ts';
import { waitForVerdict } from './wait-for-verdict.ts';

/** The API has no right to delete Checkpoints. */
const FORGET = 'To remove it, run `kubectl delete checkpoint NAME`; its files stay.';
/** Of the list of its files the record has nothing; there is one as soon as there is a verification. */
const NOT_IN_RECORD = { count: 0, bytes: 0, sha256: '0'.repeat(64) };

interface AdoptOptions {
  readonly claim?: string;
  readonly path?: string;
  readonly endpoint?: string;
  readonly region?: string;
  readonly credentialsSecret?: string;
  readonly namespace?: string;
  readonly layout?: string;
  readonly wait?: true;
  readonly timeout: number;
}

/** Adds `checkpoint adopt`. */
export function addAdoptCommand(checkpoint: Command, session: Session): void {
  checkpoint
    .command('adopt')
    .argument('<name>', 'name of the new Checkpoint')
    .argument('[location]', 's3://BUCKET/PREFIX of one checkpoint; without it, --claim and --path say where it is')
    .description('register an existing checkpoint so that jobs can resume from it')
    .option('--claim <name>', 'PersistentVolumeClaim that holds it')
    .option('--path <directory>', 'directory of one checkpoint inside the claim')
    .option('--endpoint <url>', 'of a bucket: address of a store that is not AWS, as pods reach it')
    .option('--region <name>', 'of a bucket: its region; default: that of the pod')
    .option('--credentials-secret <name>', 'of a bucket: Secret of the namespace, whose name begins with "job-"')
    .option('--namespace <name>', 'namespace of the claim; default: the first of the project')
    .option('--layout <file>', 'layout that it was saved at; default: what its files say')
    .option('--wait', 'wait until it is verified; exit code 1 if no job can resume from it')
    .option('--timeout <minutes>', 'with --wait, give up after so many minutes', wholeNumber, 30)
    .addHelpText(
      'after',
      '\nExamples:\n  coxswain checkpoint adopt llama-run-7 --claim old-runs --path llama/iter_0001000 --wait\n  coxswain checkpoint adopt llama-run-8 s3://training/llama/iter_0001000 --credentials-secret job-bucket',
    )
    .action(async (name: string, location: string | undefined, options: AdoptOptions) => {
      const { namespace, layout, wait, timeout } = options;
      const project = await session.open();
      const adopted = await project.api.adoptCheckpoint(project.project, {
        name,
        ...placeOf(location, options),
        ...(namespace === undefined ? {} : { namespace }),
        ...(layout === undefined ? {} : { layout: layoutOf(layout) }),
      });
      if (wait !== true) return session.show(adopted, adoptionText);
      const found = await waitUntilVerified(session, project, { adopted, timeoutMinutes: timeout });
      session.show(found, adoptionText);
      const problem = problemOf(found);
      if (problem === undefined) return;
      session.printError(`No job can resume from Checkpoint ${name}: it ${problem.replace(/\.?$/, '.')} ${FORGET}`);
      session.setExitCode(1);
    });
}

/** The directory of the checkpoint is the last part of its location; what is before it is the bucket and its prefix. */
function placeOf(
  location: string | undefined,
  { claim, path, endpoint, region, credentialsSecret }: AdoptOptions,
): Pick<CheckpointAdoptInput, 'claimName' | 'bucket' | 'path'> {
  const access = {
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(credentialsSecret === undefined ? {} : { credentialsSecret }),
  };
  if (location === undefined) {
    if (claim === undefined || path === undefined || Object.keys(access).length > 0)
      throw new CliError('Name the checkpoint by s3://BUCKET/PREFIX, or by --claim and --path.');
    return { claimName: claim, path };
  }
  const found = /^(s3:\/\/.+)\/([^/]+)\/*$/.exec(location);
  if (found === null || claim !== undefined || path !== undefined)
    throw new CliError(
      `${location} is no checkpoint in a bucket. Name one as s3://BUCKET/DIRECTORY, without --claim and --path.`,
    );
  const [, uri = '', directory = ''] = found;
  return { bucket: { uri, ...access }, path: directory };
}

function layoutOf(path: string): ParallelLayout {
  const read = readLayoutFile(path);
  if (read.kind === 'job')
    throw new CliError(
      `${path} holds the layouts of several roles. Give the layout of the role that saved the checkpoint.`,
    );
  return read.document.layout;
}

/** The record once a pod verified it. What the cluster tries again, such as a claim that does not exist yet, is printed and awaited. */
async function waitUntilVerified(
  session: Session,
  project: ProjectJobs,
  { adopted, timeoutMinutes }: { readonly adopted: CheckpointRecord; readonly timeoutMinutes: number },
): Promise<CheckpointRecord> {
  const at = { project: project.project, uid: adopted.uid };
  const asked = { level: 'V0', requestedAt: null } as const;
  const detail = { ...adopted, verifications: [], tensorGroups: null, loads: null, usedBy: null };
  await waitForVerdict(session, { project, at }, { asked, timeoutMinutes, adopted: detail });
  return await project.api.checkpoint(at);
}

/** Why no job can resume from it, completing "Checkpoint x ..."; undefined: jobs can. */
function problemOf(record: CheckpointRecord): string | undefined {
  const { verification, contents, message } = record;
  return adoptionProblem({
    spec: record,
    status: {
      state: record.state,
      ...(verification === null ? {} : { verification, files: NOT_IN_RECORD }),
      ...(contents === null ? {} : { contents }),
      ...(message === null ? {} : { message }),
    },
  } as unknown as Checkpoint);
}

/** What was adopted, and what comes next. */
export function adoptionText(record: CheckpointRecord): string {
  const { name, path, verification, contents } = record;
  const what = `Checkpoint ${name} is adopted: ${path} ${record.bucket === undefined ? 'on' : 'in'} ${describeLocation(record)}.`;
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

import { isDomainError } from '@coxswain/domain-error';
import { brokenSchemaRule } from '@coxswain/layout';
import { type ClusterFacts, type ClusterProfile, NIC_KINDS, type NicKind } from '@coxswain/planner';
import {
  ClusterMeasurement,
  fitProfile,
  type FittedProfile,
  profileOfJobs,
  PROFILE_SETTINGS,
} from '@coxswain/planner-calibration/profile';
import { gpuOf } from '@coxswain/planner/presets';
import { type Command, Option } from 'commander';
import { BITS_PER_BYTE } from '@coxswain/units';
import { measureHere } from './measure-here.ts';
import { readProfile } from './profile-file.ts';
import { enginesText, probesText } from './profile-text.ts';
import { CliError } from '../cli-error.ts';
import { positiveNumber } from '../options/quantities.ts';
import { readDocument } from '../files/read-document.ts';
import type { Session } from '../session/session.ts';
import { wholeNumber } from '../options/whole-number.ts';
import { writeNewFile } from '../files/write-file.ts';

interface CalibrateOptions {
  readonly from?: string;
  readonly jobs?: true;
  readonly ranks?: number;
  readonly ranksPerNode?: number;
  readonly python: string;
  readonly seconds: number;
  readonly gpu?: string;
  readonly nicGbps?: number;
  readonly nic?: NicKind;
  readonly name?: string;
  readonly profile?: string;
  readonly out: string;
  readonly force?: true;
}

const CPU = 'simulated';

/** `coxswain calibrate`: what the planner should know of one cluster, from probes or from jobs that ran. */
export function addCalibrateCommand(program: Command, session: Session): void {
  program
    .command('calibrate')
    .description('measure how a cluster differs from the usual speed of its GPUs, and write a profile for the planner')
    .option('--ranks <count>', 'processes to measure with on this machine, one per GPU (default: 2)', wholeNumber)
    .option('--ranks-per-node <count>', 'processes on one node (default: all)', wholeNumber)
    .option('--python <path>', 'Python interpreter with PyTorch', 'python3')
    .option('--seconds <count>', 'approximate duration of the measurement', positiveNumber, 60)
    .option('--from <file>', 'output of coxswain_calibrate.py from another machine, instead of measuring here')
    .option('--jobs', 'learn from past jobs instead of measuring (see `coxswain plans accuracy`)')
    .option('--gpu <name>', 'GPU preset (default: from the device name; a CPU counts as a GPU)')
    .option('--nic-gbps <gbps>', 'network per GPU in Gb/s (default: usual for the GPU)', positiveNumber)
    .addOption(new Option('--nic <kind>', 'kind of network').choices(NIC_KINDS))
    .option('--profile <file>', 'with --jobs: profile that the predictions used; corrections are added to it')
    .option('--name <text>', 'name of the profile in plans (default: device, ranks and date)')
    .option('--out <file>', 'output file of the profile; - is standard output', 'profile.json')
    .option('--force', 'overwrite the file if it exists')
    .addHelpText('after', EXAMPLES)
    .action((options: CalibrateOptions) =>
      options.jobs === true ? fromJobs(options, session) : fromProbes(options, session),
    );
}

const EXAMPLES = `
Probes are matrix products, steps of small models and collectives on every rank at once; no job is run. With several nodes, run
engines/calibrate/coxswain_calibrate.py under torchrun or as a job there and give what it wrote to --from.

Examples:
  coxswain calibrate --ranks 8 --seconds 300 --out profile.json
  torchrun --nnodes 4 --nproc-per-node 8 ... coxswain_calibrate.py --seconds 300 --out measured.json
  coxswain calibrate --from measured.json --gpu h100 --out profile.json
  coxswain --project research calibrate --jobs --out profile.json
  coxswain plan -f request.yaml --profile profile.json`;

async function fromProbes(options: CalibrateOptions, session: Session): Promise<void> {
  const measured = parsed(
    options.from === undefined ? await hereMeasured(options, session) : readDocument(options.from),
  );
  const fitted = inPlainWords(() => fittedTo(measured, options, session.now()));
  session.printError(probesText(fitted.probes));
  keep(fitted.profile, options, session);
}

/** Files that others wrote, and what ranks here did. */
function parsed(document: unknown): ClusterMeasurement {
  const read = ClusterMeasurement.safeParse(document, { reportInput: true });
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const problem = issue === undefined ? '' : `${issue.path.join('.') || 'the document'}: ${brokenSchemaRule(issue)}`;
  throw new CliError(`The input is not the output of coxswain_calibrate.py: ${problem}`);
}

async function hereMeasured(options: CalibrateOptions, session: Session): Promise<unknown> {
  const { ranks = 2, python, seconds } = options;
  const { ranksPerNode = ranks } = options;
  if (ranks % ranksPerNode !== 0)
    throw new CliError(
      `${ranks} ranks are not a whole number of nodes with ${ranksPerNode} ranks: change --ranks or --ranks-per-node.`,
    );
  session.printError(`Measuring ${ranks} ranks for about ${Math.round(seconds)} s; PyTorch loads first.`);
  const text = await measureHere({ python, ranks, ranksPerNode, seconds }, session.signal, session.printError);
  return JSON.parse(text) as unknown;
}

function fittedTo(measured: ClusterMeasurement, options: CalibrateOptions, now: Date): FittedProfile {
  const isCpu = measured.device === 'CPU';
  const gpu = gpuOf(options.gpu ?? (isCpu ? CPU : measured.device));
  const cluster: ClusterFacts = {
    gpu,
    gpus: measured.ranks,
    gpusPerNode: measured.ranksPerNode,
    hostMemoryGibPerNode: gpu.hostMemoryGibPerNode,
    scaleUpDomainGpus: Math.min(
      measured.ranks,
      Math.max(measured.ranksPerNode, gpu.name === CPU ? 1 : gpu.scaleUpDomainGpus),
    ),
    scaleOutGbPerS: (options.nicGbps ?? gpu.nicGbps) / BITS_PER_BYTE,
    nicKind: options.nic ?? gpu.nicKind,
  };
  const day = now.toISOString().slice(0, 10);
  const name = options.name ?? `${measured.ranks} x ${measured.device}, ${measured.backend}, ${day}`;
  const where = { cluster, precision: measured.precision, flashAttention: true };
  return fitProfile(name, measured.probes, where, isCpu ? PROFILE_SETTINGS.standIn : PROFILE_SETTINGS.gpu);
}

async function fromJobs(options: CalibrateOptions, session: Session): Promise<void> {
  const { api, project } = await session.open();
  const { items } = await api.planAccuracy(project);
  const name = options.name ?? `${items.length} jobs, ${session.now().toISOString().slice(0, 10)}`;
  const { profile, engines } = profileOfJobs(name, items);
  if (profile === undefined)
    throw new CliError(
      'No job has both a predicted and a measured step time yet: run a job, or measure without --jobs.',
    );
  session.printError(enginesText(engines));
  const before = options.profile === undefined ? [] : readProfile(options.profile).factors;
  keep({ ...profile, factors: [...before, ...profile.factors] }, options, session);
}

function keep(profile: ClusterProfile, { out, force }: CalibrateOptions, session: Session): void {
  const text = `${JSON.stringify(profile, undefined, 2)}\n`;
  if (out === '-') {
    session.print(text.trimEnd());
    return;
  }
  writeNewFile(out, text, { force: force === true });
  session.printError(`\nWrote ${out}. Use it with: coxswain plan --profile ${out} ...`);
}

function inPlainWords<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (isDomainError(error)) throw new CliError(`${error.message} Name the GPU with --gpu.`);
    throw error;
  }
}

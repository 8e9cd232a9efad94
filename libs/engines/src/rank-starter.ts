/** Renders torchrun or ft_launcher as the starter of ranks, and refuses jobs that contradict it. */
import { type EffectiveSpec, type EngineRun, referencesIn, TORCH_RANK_ENV } from '@coxswain/api-types';
import { refused, type RenderedEngine, type Rendering } from './rendering.ts';

type Starter = Exclude<EngineRun['startedBy'], 'launcher'>;

/**
 * torchrun: torch/distributed/run.py of 2.4 to 2.15. The static rendezvous gives each pod the block of ranks of its `--node-rank`. The port of the
 * store is that of rank 0's launcher, another one with each incarnation. ft_launcher: fault_tolerance/launcher.py of nvidia-resiliency-ext 0.4 to
 * 0.7. It has only the rendezvous c10d. Neither restarts ranks: the launchers restart the ranks of all pods together.
 */
const OPTIONS: Readonly<Record<Starter, readonly string[]>> = {
  torchrun: ['--master-addr=$(MASTER_ADDR)', '--master-port=$(MASTER_PORT)'],
  ft_launcher: ['--rdzv-backend=c10d', '--rdzv-endpoint=$(MASTER_ADDR):$(MASTER_PORT)'],
};

/** What ranks of one pod do not have in common. */
const OF_ONE_RANK = ['RANK', 'LOCAL_RANK'] as const satisfies readonly (keyof typeof TORCH_RANK_ENV)[];
const PROGRAMS = ['torchrun', 'ft_launcher', 'accelerate', 'deepspeed', 'dlrover-run'];
const MODULES = ['torch.distributed.run', 'torch.distributed.launch', 'accelerate.commands.launch'];

/** The rendering with the command of its starter, or the reason why the job cannot have it. */
export function withRankStarter(rendering: RenderedEngine, { engine }: Pick<EffectiveSpec, 'engine'>): Rendering {
  const startedBy = engine.startedBy ?? rendering.startedBy;
  const refusal =
    nameOfRank(rendering, startedBy) ??
    ownStarter(rendering, startedBy) ??
    ownOptions(engine, starterOf(rendering, startedBy)) ??
    ownRank(engine);
  if (refusal !== undefined) return refusal;
  if (startedBy === 'launcher') return { ...rendering, startedBy };
  const command = [
    startedBy,
    '--nnodes=$(GROUP_WORLD_SIZE)',
    '--nproc-per-node=$(LOCAL_WORLD_SIZE)',
    '--node-rank=$(GROUP_RANK)',
    ...OPTIONS[startedBy],
    '--max-restarts=0',
    '--no-python',
    ...rendering.command,
  ];
  return { ...rendering, startedBy, command };
}

/** Files are written once for a pod, and so is the command where one process starts all ranks of it. */
function nameOfRank(
  { command, resumeArgs, files }: RenderedEngine,
  startedBy: EngineRun['startedBy'],
): Rendering | undefined {
  const texts = [...files.map(({ text }) => text), ...(startedBy === 'launcher' ? [] : [...command, ...resumeArgs])];
  const name = OF_ONE_RANK.find((one) => texts.some((text) => referencesIn(text).includes(one)));
  if (name === undefined) return undefined;
  return refused({
    rule: 'ranks-of-a-pod-share-files',
    field: 'engine',
    why: `$(${name}) differs from rank to rank, and ${startedBy === 'launcher' ? 'a file is' : `files and the command of ${startedBy} are`} the same for all ranks of a pod`,
    fallback: `read ${name} from the environment of the rank`,
  });
}

function ownStarter({ command }: RenderedEngine, startedBy: EngineRun['startedBy']): Rendering | undefined {
  const starter = starterIn(command);
  if (starter === undefined) return undefined;
  const restarts = restartsIn(command);
  if (startedBy === 'launcher' && (restarts === undefined || restarts === '0')) return undefined;
  return refused({
    rule: 'ranks-have-one-starter',
    field: 'engine.command',
    why:
      startedBy === 'launcher'
        ? `${starter} would start its ranks again by itself (--max-restarts ${restarts}), in one pod and not in the others`
        : `engine.command begins with ${starter}, and engine.startedBy has ${startedBy} start the ranks`,
    fallback: 'let engine.command be the program of one rank, and name who starts it in engine.startedBy',
  });
}

/** The program that reads the options of a starter: ours, or the one that begins the user’s command. */
function starterOf({ command }: RenderedEngine, startedBy: EngineRun['startedBy']): string | undefined {
  return startedBy === 'launcher' ? starterIn(command) : startedBy;
}

function starterIn([program = '', ...args]: readonly string[]): string | undefined {
  const name = program.split('/').at(-1) ?? '';
  if (PROGRAMS.includes(name)) return name;
  const flag = args.findIndex((arg) => arg.startsWith('-m'));
  const module = name.startsWith('python') && flag !== -1 ? args[flag]?.slice(2) || args[flag + 1] : undefined;
  return module !== undefined && MODULES.includes(module) ? module : undefined;
}

function restartsIn(command: readonly string[]): string | undefined {
  // argparse completes prefixes; --max-restarts is the only option of torchrun and ft_launcher with this one.
  const at = command.findIndex((arg) => /^--max[-_]r(e(s(t(a(r(t(s)?)?)?)?)?)?)?(=|$)/.test(arg));
  return at === -1 ? undefined : (command[at]?.split('=')[1] ?? command[at + 1]);
}

/** torchrun reads each of its options from PET_ variables as well. */
function ownOptions(engine: EffectiveSpec['engine'], starter: string | undefined): Rendering | undefined {
  const given = starter === undefined ? undefined : variablesOf(engine).find((name) => name.startsWith('PET_'));
  if (given === undefined) return undefined;
  return refused({
    rule: 'options-of-the-starter-are-rendered',
    field: 'engine.env',
    why: `${given} is an option of ${starter}, whose options follow from the layout and the pods`,
    fallback: `remove ${given}; what the engine itself needs goes into engine.args`,
  });
}

/** What the launcher gives each rank would go before it, and the user would never learn. */
const OF_THE_LAUNCHER: readonly string[] = [...Object.keys(TORCH_RANK_ENV), 'TORCHELASTIC_USE_AGENT_STORE'];

function ownRank(engine: EffectiveSpec['engine']): Rendering | undefined {
  const name = variablesOf(engine).find((one) => OF_THE_LAUNCHER.includes(one));
  if (name === undefined) return undefined;
  return refused({
    rule: 'ranks-are-named-by-their-launcher',
    field: engine.env?.some((one) => one.name === name) === true ? 'engine.env' : 'engine.secretEnv',
    why: `${name} is given to each rank by its launcher, as the layout and the pods are`,
    fallback: `remove ${name}`,
  });
}

function variablesOf({ env = [], secretEnv = [] }: EffectiveSpec['engine']): readonly string[] {
  return [...env, ...secretEnv].map(({ name }) => name);
}

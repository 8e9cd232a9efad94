/** Programs other than torchrun that start the ranks of a job, and what their options say of it. */
import { accelerateVariables, type AccelerateSettings } from './accelerate.ts';
import { CLAIMS_INSTEAD } from './node-paths.ts';
import { literal, baseName, type TorchrunOptions } from './torchrun.ts';
import type { ShellWord } from './shell-words.ts';

/** What a launcher's line says. */
export interface Launched {
  readonly starter: string;
  readonly options: TorchrunOptions;
  readonly program: readonly ShellWord[];
  /** Variables that the launcher would have set for the program, or was given for it. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly image?: string;
  readonly directory?: string;
  /** What the user has to do because the launcher's own work is gone. */
  readonly todos: readonly { readonly from: string; readonly why: string; readonly todo: string }[];
}

const RENDEZVOUS = 'Coxswain sets the rendezvous address of the ranks';
const STARTS = 'Coxswain starts the ranks itself';

/** How many words follow an option of a launcher. */
type Valued = (name: string) => number;

const valued = (names: string, two = ''): Valued => {
  const [ones, twos] = [new Set(names.split(' ')), new Set(two.split(' '))];
  return (name) => (twos.has(name) ? 2 : ones.has(name) ? 1 : 0);
};

interface ReadOptions {
  readonly given: ReadonlyMap<string, string>;
  /** Every option as written, with the word that follows it. */
  readonly listed: readonly { readonly name: string; readonly value: string }[];
  readonly rest: readonly ShellWord[];
}

function optionsBefore(
  words: readonly ShellWord[],
  countOf: Valued,
  normalise = (name: string): string => name,
): ReadOptions {
  const given = new Map<string, string>();
  const listed: { name: string; value: string }[] = [];
  let at = 0;
  for (; words[at]?.text.startsWith('-') === true; at += 1) {
    const text = words[at]?.text ?? '';
    if (text === '--') {
      at += 1;
      break;
    }
    const [, written = text, inline] = /^(--?[^=]+)=([^]*)$/.exec(text) ?? [];
    const name = normalise(written);
    const count = inline === undefined ? countOf(name) : 0;
    const value =
      inline ??
      words
        .slice(at + 1, at + 1 + count)
        .map((word) => word.text)
        .join(' ');
    given.set(name, value);
    listed.push({ name: text, value });
    at += count;
  }
  return { given, listed, rest: words.slice(at) };
}

function word(text: string | undefined): ShellWord | undefined {
  return text === undefined || text === '' ? undefined : { text, raw: text, isLiteral: !/[\uE000$]/.test(text) };
}

function optionsOf(fields: {
  readonly nodes?: ShellWord | undefined;
  readonly processesPerNode?: ShellWord | undefined;
  readonly processes?: ShellWord | undefined;
  readonly maxRestarts?: ShellWord | undefined;
  readonly ignored?: TorchrunOptions['ignored'];
}): TorchrunOptions {
  const { ignored = [], ...words } = fields;
  return { ...(Object.fromEntries(Object.entries(words).filter(([, one]) => one !== undefined)) as object), ignored };
}

function ignoredOf({ listed }: ReadOptions, taken: RegExp, why: string): TorchrunOptions['ignored'] {
  return listed
    .filter(({ name }) => !taken.test(name))
    .map(({ name, value }) => ({ option: value === '' || name.includes('=') ? name : `${name} ${value}`, why }));
}

function pythonProgram(
  rest: readonly ShellWord[],
  forms: { readonly isModule: boolean; readonly isProgram?: boolean },
): readonly ShellWord[] {
  if (rest.length === 0 || forms.isProgram === true) return rest;
  return [literal('python3'), literal('-u'), ...(forms.isModule ? [literal('-m')] : []), ...rest];
}

const ACCELERATE_SWITCHES =
  /^--(?:multi_gpu|cpu|tpu|use_\w+|same_network|quiet|no_python|module|debug|enable_cpu_affinity|downcast_bf16|main_training_function|m|q)$/;

/** `accelerate launch`: it sets variables that `Accelerator()` reads, so the job sets them. */
function accelerateLaunch(words: readonly ShellWord[]): Launched {
  const underscored = (name: string): string =>
    name === '-m' ? '--module' : name.replaceAll('-', '_').replace(/^__/, '--');
  const read = optionsBefore(words, (name) => (ACCELERATE_SWITCHES.test(name) ? 0 : 1), underscored);
  const { given, rest } = read;
  const settings: AccelerateSettings = Object.fromEntries(
    [...given].map(([name, value]) => [name.slice(2), value === '' ? 'true' : value]),
  );
  const config = given.get('--config_file');
  const env = accelerateVariables(settings);
  return {
    starter: 'accelerate launch',
    options: optionsOf({
      nodes: word(given.get('--num_machines')),
      processes: word(given.get('--num_processes')),
      maxRestarts: word(given.get('--max_restarts')),
      ignored: ignoredOf(
        read,
        /num_(?:machines|processes)|config.file|max.restarts|mixed|fsdp|deepspeed|zero|dynamo|parallelism|gradient|offload/,
        RENDEZVOUS,
      ),
    }),
    program: pythonProgram(rest, { isModule: given.has('--module'), isProgram: given.has('--no_python') }),
    env,
    todos:
      config === undefined
        ? []
        : [
            {
              from: `--config_file ${config}`,
              why: 'accelerate launch turned this file into variables, and the file is not part of what was imported',
              todo: `run coxswain import ${baseName(config)} --program 'PROGRAM ARGUMENTS', with the file itself: the job then has its variables and its layout`,
            },
          ],
  };
}

const DEEPSPEED_VALUED = valued(
  '-H --hostfile -i --include -e --exclude --num_nodes --min_elastic_nodes --max_elastic_nodes --num_gpus --master_port --master_addr --node_rank --launcher --launcher_args --ssh_port --autotuning --bind_core_list --venv_script --save_pid --enable_each_rank_log',
);

/** `deepspeed`: nodes come from a hostfile where no option gives them. */
function deepspeedLaunch(words: readonly ShellWord[]): Launched {
  const read = optionsBefore(words, DEEPSPEED_VALUED);
  const { given, rest } = read;
  const hostfile = given.get('--hostfile') ?? given.get('-H');
  return {
    starter: 'deepspeed',
    options: optionsOf({
      nodes: word(given.get('--num_nodes')),
      processesPerNode: word(given.get('--num_gpus')),
      ignored: ignoredOf(read, /num_nodes|num_gpus/, RENDEZVOUS),
    }),
    program: pythonProgram(rest, { isModule: given.has('--module'), isProgram: given.has('--no_python') }),
    env: [],
    todos: [
      ...(hostfile !== undefined && !given.has('--num_nodes')
        ? [
            {
              from: `--hostfile ${hostfile}`,
              why: 'the hostfile gives the number of nodes, and it is not part of what was imported',
              todo: 'see that the degrees of layout multiply to the number of GPUs',
            },
          ]
        : []),
      ...(rest.some(({ text }) => text.includes('local_rank'))
        ? []
        : [
            {
              from: 'deepspeed',
              why: 'deepspeed appends --local_rank=N to the arguments of the program, and Coxswain does not',
              todo: 'let the program read LOCAL_RANK; DeepSpeed and Hugging Face programs do',
            },
          ]),
    ],
  };
}

const COMPOSER_VALUED = valued(
  '-n --nproc --world_size --base_rank --node_rank --master_addr --master_port --stdout --stderr -s',
);

/** `composer` of MosaicML: a program of Python, for ranks of a node and ranks in all. */
function composerLaunch(words: readonly ShellWord[]): Launched {
  const read = optionsBefore(words, COMPOSER_VALUED);
  const { given, rest } = read;
  const isModule = given.has('-m') || given.has('--module_mode');
  return {
    starter: 'composer',
    options: optionsOf({
      processes: word(given.get('--world_size')),
      processesPerNode: word(given.get('--nproc') ?? given.get('-n')),
      ignored: ignoredOf(read, /^(?:--world_size|--nproc|-n|-m|--module_mode|-c|--command_mode)/, RENDEZVOUS),
    }),
    program: pythonProgram(rest, { isModule, isProgram: given.has('-c') || given.has('--command_mode') }),
    env: [],
    todos: [],
  };
}

const MPI_VALUED = valued(
  '-np -n -c --np -H -host --host -hostfile --hostfile -f -machinefile --machinefile -x -N -npernode --npernode -ppn -perhost -bind-to --bind-to -map-by --map-by -rank-by --rank-by -wdir --wdir -p --ssh-port --output-filename --timeout --prefix --slots --launcher -genvlist',
  '-mca --mca -gmca -pmca -genv -env',
);

/** `mpirun`: ranks in all, ranks of a node, and variables. */
function mpiLaunch(words: readonly ShellWord[], starter: string): Launched {
  const read = optionsBefore(words, MPI_VALUED);
  const { given, rest, listed } = read;
  const mapped = /ppr:(\d+):node/.exec(given.get('--map-by') ?? given.get('-map-by') ?? '')?.[1];
  const perNode = given.get('-N') ?? given.get('-npernode') ?? given.get('--npernode') ?? given.get('-ppn') ?? mapped;
  const env = listed
    .filter(({ name }) => name === '-x')
    .flatMap(({ value }) => {
      const [, variable, text] = /^([A-Za-z_]\w*)=([^]*)$/.exec(value) ?? [];
      return variable === undefined ? [] : [{ name: variable, value: text ?? '' }];
    });
  return {
    starter,
    options: optionsOf({
      processes: word(given.get('-np') ?? given.get('-n') ?? given.get('--np') ?? given.get('-c')),
      processesPerNode: word(perNode),
      ignored: ignoredOf(read, /^-{1,2}(?:np|n|c|N|npernode|ppn|x|map-by)$/, STARTS),
    }),
    program: rest,
    env,
    todos: [],
  };
}

const SRUN_SWITCHES = new Set(
  '-l -u -v -K -Q -E --label --unbuffered --verbose --quiet --exclusive --overlap --overcommit --kill-on-bad-exit --no-kill --preserve-env --pty --container-mount-home --no-container-mount-home --container-remap-root --no-container-remap-root --container-writable --no-container-entrypoint --container-entrypoint --multi-prog --exact --disable-status --no-requeue'.split(
    ' ',
  ),
);

/** `srun`: tasks are ranks, or nodes if each task starts a launcher of its own. */
function srunLaunch(words: readonly ShellWord[]): Launched {
  const isAlone = (name: string): boolean => SRUN_SWITCHES.has(name) || /^-(?:[luvKQE]+|[A-Za-z]\d+)$/.test(name);
  const read = optionsBefore(words, (name) => (isAlone(name) ? 0 : 1));
  const { given, rest } = read;
  const glued = (letter: string): string | undefined =>
    [...given.keys()].map((name) => new RegExp(`^-${letter}(\\d+)$`).exec(name)?.[1]).find((one) => one !== undefined);
  const image = given.get('--container-image');
  const directory = given.get('--container-workdir') ?? given.get('--chdir') ?? given.get('-D');
  const mounts = given.get('--container-mounts');
  return {
    starter: 'srun',
    options: optionsOf({
      nodes: word(given.get('-N') ?? glued('N') ?? given.get('--nodes')),
      processes: word(given.get('-n') ?? glued('n') ?? given.get('--ntasks')),
      processesPerNode: word(given.get('--ntasks-per-node')),
      ignored: ignoredOf(read, /^(?:-N|-n|--nodes|--ntasks|--container-(?:image|mounts|workdir)|--chdir|-D$)/, STARTS),
    }),
    program: rest,
    env: [],
    ...(image === undefined ? {} : { image }),
    ...(directory === undefined ? {} : { directory }),
    todos:
      mounts === undefined
        ? []
        : [
            {
              from: `--container-mounts ${mounts}`,
              why: 'pods do not mount directories of nodes',
              todo: CLAIMS_INSTEAD,
            },
          ],
  };
}

const CONTAINER_VALUED = valued(
  '-B --bind --pwd --env -e -v --volume --mount -w --workdir --env-file --shm-size --ulimit --gpus --network --name -u --user --ipc --device --home -H --overlay --environment -m --entrypoint --cap-add --root',
);

/** `singularity exec IMAGE …`, `apptainer`, `docker run IMAGE …`, `enroot start IMAGE …`: the program inside. */
function containerLaunch(words: readonly ShellWord[], starter: string): Launched {
  const read = optionsBefore(words, CONTAINER_VALUED);
  const [image, ...program] = read.rest;
  const mounts = read.listed
    .filter(({ name }) => /^(?:-B|--bind|-v|--volume|-m|--mount)/.test(name))
    .map(({ value }) => value);
  return {
    starter,
    options: optionsOf({
      ignored: ignoredOf(read, /^(?:-B|--bind|-v|--volume|-m|--mount)/, 'the pod is the container'),
    }),
    program,
    env: [],
    ...(image === undefined ? {} : { image: image.text }),
    todos:
      mounts.length === 0
        ? []
        : [
            {
              from: `--bind ${mounts.join(',')}`,
              why: 'pods do not mount directories of nodes',
              todo: CLAIMS_INSTEAD,
            },
          ],
  };
}

const SAME_PROGRAM: Readonly<Record<string, RegExp>> = {
  numactl: /^-/,
  nice: /^-/,
  time: /^-/,
  exec: /^-/,
  nohup: /^-/,
  env: /^(?:-|[A-Za-z_]\w*=)/,
};

/** The launcher that the words begin with; undefined if they begin with none that is known. torchrun is read elsewhere. */
export function readLauncher(words: readonly ShellWord[]): Launched | undefined {
  const [first = '', second = '', third = ''] = words.map(({ text }) => text);
  const base = baseName(first);
  if (base === 'accelerate' && second === 'launch') return accelerateLaunch(words.slice(2));
  if (base === 'accelerate-launch') return accelerateLaunch(words.slice(1));
  if (/^python[0-9.]*$/.test(base) && second === '-m' && /^accelerate\.commands\.launch$/.test(third))
    return accelerateLaunch(words.slice(3));
  if (base === 'deepspeed') return deepspeedLaunch(words.slice(1));
  if (/^(?:mpirun|mpiexec|mpiexec\.hydra|orterun|horovodrun|prterun)$/.test(base))
    return mpiLaunch(words.slice(1), base);
  if (base === 'composer') return composerLaunch(words.slice(1));
  if (base === 'srun') return srunLaunch(words.slice(1));
  if (/^(?:singularity|apptainer)$/.test(base) && /^(?:exec|run)$/.test(second))
    return containerLaunch(words.slice(2), base);
  if (base === 'enroot' && second === 'start') return containerLaunch(words.slice(2), base);
  if (/^(?:docker|podman)$/.test(base) && second === 'run') return containerLaunch(words.slice(2), base);
  const same = Object.hasOwn(SAME_PROGRAM, base) ? SAME_PROGRAM[base] : undefined;
  if (same === undefined) return undefined;
  const skipped = words.slice(1).findIndex(({ text }) => !same.test(text));
  const env = words.slice(1).flatMap(({ text }) => {
    const [, name, value] = /^([A-Za-z_]\w*)=([^]*)$/.exec(text) ?? [];
    return base === 'env' && name !== undefined ? [{ name, value: value ?? '' }] : [];
  });
  return {
    starter: base,
    options: optionsOf({}),
    program: skipped < 0 ? [] : words.slice(1 + skipped),
    env: skipped < 0 ? [] : env.slice(0, skipped),
    todos: [],
  };
}

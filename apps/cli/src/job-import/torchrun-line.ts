/** A line as one types it on a node: `torchrun --nnodes 2 --nproc-per-node 8 train.py --x`. */
import { MAX_RANKS_PER_POD, ObjectName, plainSecrets } from '@coxswain/api-types';
import { isRendezvous } from './environment.ts';
import { ImportError } from './import-error.ts';
import type { ReportLine } from './import-report.ts';
import { importedEngine } from './imported-engine.ts';
import { networkLines } from './launched-job.ts';
import { lineProgram, type RankProgram } from './program.ts';
import { shownLayout } from './shown-layout.ts';
import { baseName } from './torchrun.ts';
import type { WrittenJob } from './written-job.ts';
import { problemsInJob } from './problems-in-job.ts';

/** What the line itself does not say. */
export interface LineOptions {
  readonly name?: string;
  readonly image?: string;
  /** What `--nproc-per-node gpu` is on the nodes that will be used. */
  readonly gpusPerNode?: number;
}

/** The job that a line of torchrun stands for, and what became of each option. Throws an {@link ImportError}. */
export function importTorchrunLine(
  line: string,
  options: LineOptions,
): { readonly job: WrittenJob; readonly report: readonly ReportLine[] } {
  const program = lineProgram(line);
  const { launcher: torchrun, words } = program;
  const env = program.env.filter(({ name }) => !isRendezvous(name));
  if (torchrun === undefined)
    throw new ImportError(
      'The line does not begin with torchrun, python -m torch.distributed.run, accelerate launch, deepspeed, mpirun or srun.',
    );
  if (options.image === undefined)
    throw new ImportError('A line names no image; give the one that has the program with --image.');
  refuseCredentials(words, env);
  const nodes = nodesOf(program);
  const ranksPerPod = ranksOf(program, options, nodes.count);
  const ranks = nodes.count * ranksPerPod;
  const read = importedEngine({ words, variables: env, ranks, ranksPerNode: ranksPerPod, from: 'the line' });
  const { name: engine, ...started } = read.engine;
  const restarts = restartsOf(program);
  const job: WrittenJob = {
    name: options.name ?? nameOf(words),
    spec: {
      engine: {
        name: engine,
        image: options.image,
        ...started,
        ...(env.length === 0 ? {} : { env: [...env] }),
      },
      layout: read.layout,
      resources: { gpusPerNode: ranksPerPod },
      ...(restarts === undefined ? {} : { restartPolicy: { maxRestarts: restarts } }),
    },
  };
  const problems = problemsInJob(job);
  if (problems !== undefined) throw new ImportError(`The line makes no valid job:\n${problems}`);
  return {
    job,
    report: [
      ...env.map(({ name }): ReportLine => ({ outcome: 'taken', from: `${name}=…`, to: `engine.env ${name}` })),
      {
        outcome: 'changed',
        from: torchrun.starter,
        to: 'engine.command',
        why: `the program alone: Coxswain starts it once per GPU, without ${torchrun.starter}`,
      },
      {
        outcome: 'changed',
        from: `--nnodes ${torchrun.nodes?.text ?? '1 (its default)'}`,
        to: shownLayout(read.layout),
        why: `${nodes.count} x ${ranksPerPod} ranks${nodes.why}`,
      },
      {
        outcome: 'taken',
        from: `--nproc-per-node ${torchrun.processesPerNode?.text ?? '1 (its default)'}`,
        to: `resources.gpusPerNode ${ranksPerPod}`,
      },
      ...(restarts === undefined
        ? []
        : [
            {
              outcome: 'taken',
              from: `--max-restarts ${restarts}`,
              to: `restartPolicy.maxRestarts ${restarts}`,
            } as const,
          ]),
      ...program.env
        .filter(({ name }) => isRendezvous(name))
        .map(({ name }): ReportLine => ({
          outcome: 'left',
          from: `${name}=…`,
          why: 'Coxswain sets it for each rank',
        })),
      ...read.lines,
      ...networkLines(nodes.count, env),
      ...program.notes.map((note): ReportLine => ({ outcome: 'left', ...note })),
      ...torchrun.ignored.map(({ option, why }): ReportLine => ({ outcome: 'left', from: option, why })),
    ],
  };
}

function nodesOf({ launcher: torchrun }: RankProgram): { readonly count: number; readonly why: string } {
  const text = torchrun?.nodes?.text ?? '1';
  const [, least, most = least] = /^([1-9]\d{0,5})(?::([1-9]\d{0,5}))?$/.exec(text) ?? [];
  if (most === undefined)
    throw new ImportError(`--nnodes is "${text}", and must be a number of nodes such as 2, or a range such as 1:4.`);
  return { count: Number(most), why: least === most ? '' : '; a gang has one size, the greatest of the range' };
}

function ranksOf({ launcher }: RankProgram, { gpusPerNode }: LineOptions, nodes: number): number {
  const all = Number(launcher?.processes?.text);
  const share = all > 0 && all % nodes === 0 ? String(all / nodes) : undefined;
  const text = launcher?.processesPerNode?.text ?? share ?? (gpusPerNode === undefined ? '1' : String(gpusPerNode));
  const ranks = /^[1-9]\d{0,5}$/.test(text) ? Number(text) : gpusPerNode;
  if (ranks === undefined)
    throw new ImportError(
      `--nproc-per-node is "${text}", which depends on the node; give the number with --gpus-per-node.`,
    );
  if (ranks > MAX_RANKS_PER_POD)
    throw new ImportError(`--nproc-per-node is ${ranks}; a pod has at most ${MAX_RANKS_PER_POD} ranks.`);
  return ranks;
}

function restartsOf({ launcher: torchrun }: RankProgram): number | undefined {
  const text = torchrun?.maxRestarts?.text;
  if (text === undefined) return undefined;
  if (!/^\d{1,6}$/.test(text)) throw new ImportError(`--max-restarts is "${text}", and must be a whole number.`);
  return Math.min(1000, Number(text));
}

function refuseCredentials(words: readonly string[], env: RankProgram['env']): void {
  const [found] = plainSecrets({ command: [...words], env: [...env] });
  if (found === undefined) return;
  const where =
    found.path[0] === 'env' ? `The variable ${env[Number(found.path[1])]?.name ?? ''}` : 'A word of the line';
  throw new ImportError(
    `${where} ${found.message.split(';')[0] ?? ''}, and everyone who may read the job could read it. Leave it out, and name its Secret in engine.secretEnv of the written file.`,
  );
}

/** `src/train_llm.py`: train-llm; `-m pkg.train`: pkg-train. */
function nameOf(words: readonly string[]): string {
  const [, ...rest] = words;
  const program = rest.find((word) => !word.startsWith('-')) ?? words[0] ?? '';
  const name = baseName(program)
    .replace(/\.(?:py|sh)$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');
  if (!ObjectName.safeParse(name).success) throw new ImportError('The job needs a name; give one with --name.');
  return name;
}

import { join } from 'node:path';
import {
  DEEPSPEED_CASES,
  type JudgedCase,
  TOML_CASES,
  TORCHTITAN_CASES,
  TRAINER_CASES,
} from './engine-judges/pytorch-cases.ts';
import { type Comparable, comparablesOf } from '@coxswain/engines/testing/priced-cases';
import { ask, isCurrent, type Judged, place, placed, readBack } from './engine-judges/pytorch.ts';

/** What `npm run campaign` prints beside the name of this campaign. */
export const description =
  'TorchTitan, DeepSpeed and transformers judge what is rendered for them, on CPUs (5 min; TORCHTITAN_V02: an unpacked release 0.2.2; arguments: which engine, and a piece of a title).';

const V02 = process.env['TORCHTITAN_V02'];

interface Trial {
  readonly engine: string;
  readonly title: string;
  /** What is wrong; undefined where the engine agrees. */
  readonly complaint: () => Promise<string | undefined>;
}

/** Resolves with true when every engine takes what is rendered and refuses what was broken after it was. */
export async function run([only = '', piece = '']: readonly string[]): Promise<boolean> {
  let wrong = 0;
  const trials = [...drifts(), ...prices(), ...titans(), ...tomls(), ...deepspeeds(), ...trainers()];
  const asked = trials.filter(({ engine, title }) => engine.includes(only) && title.includes(piece));
  for (const { engine, title, complaint } of asked) {
    const problem = await complaint();
    if (problem !== undefined) wrong += 1;
    process.stdout.write(
      `${problem === undefined ? 'agrees' : 'DIFFERS'}  ${engine.padEnd(14)}${title}${problem === undefined ? '' : `: ${problem}`}\n`,
    );
  }
  process.stdout.write(`${asked.length - wrong} of ${asked.length} agree\n`);
  return wrong === 0;
}

function drifts(): readonly Trial[] {
  const lists = [
    ['torchtitan', 'torchtitan/torchtitan_options.py', 'torchtitan/options-v0.3.0.json', []],
    ['hugging-face', 'hugging_face/trainer_options.py', 'hugging-face/options-v5.23.0.json', []],
    ...(V02 === undefined
      ? []
      : [['torchtitan-toml', 'torchtitan/torchtitan_options.py', 'torchtitan/options-v0.2.2.json', [V02]] as const]),
  ] as const;
  return lists.map(([engine, program, committed, paths]) => ({
    engine,
    title: `options are those of ${committed}`,
    complaint: async () =>
      (await isCurrent(program, committed, paths)) ? undefined : `print them again with engines/judges/${program}`,
  }));
}

/** What is priced is what the engine's own parser reads of the rendering: over the jobs of libs/engines/src/priced-is-rendered.spec.ts. */
function prices(): readonly Trial[] {
  return (['deepspeed', 'hugging-face', 'torchtitan'] as const).map((engine) => ({
    engine,
    title: 'its own parser reads what is priced',
    complaint: async () => {
      const all = comparablesOf(engine).filter(isReadHere);
      const jobs = all.map(({ run, priced }) => {
        const { directory, args } = placed(run);
        return { engine, directory, args: args.slice(2), data: priced.data };
      });
      const read = await readBack(jobs);
      const wrong = read.flatMap((one, index) => {
        const { what = '', priced } = all[index] ?? {};
        if (one.why !== undefined) return [`${what}: ${one.why}`];
        const differing = Object.entries(one.facts).filter(
          ([name, value]) => priced?.[name as keyof typeof priced] !== value,
        );
        return differing.map(
          ([name, value]) =>
            `${what}: ${name} is priced as ${String(priced?.[name as keyof typeof priced])} and read as ${String(value)}`,
        );
      });
      return wrong.length === 0
        ? undefined
        : `${wrong.length} facts of ${all.length} jobs differ: ${wrong.slice(0, SHOWN).join('; ')}`;
    },
  }));
}

/** TOML is of a release that is not installed; kernels in FP8 are of torchao, which needs CUDA. */
function isReadHere({ run: { command, files }, priced: { precision } }: Comparable): boolean {
  const isOfTitan = files.some(({ path }) => path === 'torchtitan.json');
  return !command.some((word) => word.endsWith('.toml')) && !(isOfTitan && precision === 'fp8');
}

const SHOWN = 5;

function came({ reached, why }: Judged, wanted: readonly string[]): string | undefined {
  if (wanted.includes(reached) && why === null) return undefined;
  return `came to "${reached}": ${why ?? 'and no further'}`;
}

function titans(): readonly Trial[] {
  const judged = async (one: JudgedCase, extra: readonly string[] = []): Promise<Judged> => {
    const { args, directory } = place(one);
    return ask('torchtitan/torchtitan_judge.py', [String(one.world), ...args.slice(2), ...extra], [directory]);
  };
  const [first] = TORCHTITAN_CASES;
  if (first === undefined) throw new Error('there is no case');
  const broken = ['tensor_parallel_degree=3', 'data_parallel_shard_degree=7', 'pipeline_parallel_degree=2'];
  return [
    ...TORCHTITAN_CASES.map((one) => ({
      engine: 'torchtitan',
      title: one.title,
      complaint: async () =>
        came(await judged(one), [(one.job.layout?.pipelineParallelDegree ?? 1) > 1 ? 'built' : 'step']),
    })),
    ...broken.map((argument) => ({
      engine: 'torchtitan',
      title: `refuses ${argument} of 64 ranks`,
      complaint: async () => {
        const { why } = await judged(first, [`--parallelism.${argument}`]);
        return why === null ? 'it was taken' : undefined;
      },
    })),
  ];
}

function tomls(): readonly Trial[] {
  if (V02 === undefined) return [];
  return TOML_CASES.map((one) => ({
    engine: 'torchtitan-toml',
    title: one.title,
    complaint: async () => {
      const { args } = place(one);
      return came(await ask('torchtitan/torchtitan_judge.py', [String(one.world), ...args.slice(3)], [V02]), [
        'dimensions',
      ]);
    },
  }));
}

function deepspeeds(): readonly Trial[] {
  return DEEPSPEED_CASES.map((one) => ({
    engine: 'deepspeed',
    title: one.title,
    complaint: async () => {
      const { directory } = place(one);
      const stages = one.job.layout?.pipelineParallelDegree ?? 1;
      const file = join(directory, 'deepspeed.json');
      const judged = await ask('deepspeed/deepspeed_judge.py', [String(one.world), String(stages), file]);
      const data = one.job.layout?.dataParallelDegree;
      if (judged.why === null && judged.read['data'] !== data)
        return `divides samples over ${String(judged.read['data'])} ranks`;
      return came(judged, ['schedule']);
    },
  }));
}

function trainers(): readonly Trial[] {
  return TRAINER_CASES.map((one) => ({
    engine: 'hugging-face',
    title: one.title,
    complaint: async () => {
      const { args } = place(one);
      const judged = await ask('hugging_face/trainer_judge.py', args.slice(2));
      const { learningRate = 0.001, steps } = one.job.training ?? {};
      if (judged.why === null && (judged.read['learning_rate'] !== learningRate || judged.read['max_steps'] !== steps))
        return `reads ${JSON.stringify(judged.read)}`;
      return came(judged, ['schedule']);
    },
  }));
}

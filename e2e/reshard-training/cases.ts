/** Engines whose training goes on at another number of ranks. */
import { findEnginePython, lookUpUpstreamPython, torchExtensionsDirectory } from '@coxswain/local-cluster';
import { join } from 'node:path';
import type { ConversionOrder } from '@coxswain/api-types';
import { runProgram, type Training } from './training.ts';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAMS = join(ROOT, 'engines/upstream/programs');
export const STEPS = 12;
export const SAVED_AT = 6;
const KILLED_AFTER = 8;
/** The reference engine saves beside training: steps that wait leave it the time. */
const REFERENCE_KILL = { step: STEPS - 1, stepDelayMs: 2_000 };

/** A run of an engine. */
export interface RunOptions {
  readonly ranks: number;
  readonly directory: string;
  /** Save of the step {@link SAVED_AT} to go on from. */
  readonly resume?: string;
  /** SIGKILL some steps after the save. */
  readonly isKilled?: boolean;
}

/** An engine, the change of ranks, and how close losses have to be. */
export interface Case {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** Largest difference of the loss of a step. Sums of other parts are rounded otherwise. */
  readonly tolerance: number;
  readonly kind: ConversionOrder['kind'];
  /** Folder of the save below the directory of the run. */
  readonly save: string;
  readonly converted: string;
  readonly training: (options: RunOptions) => Training;
  /** Compares weights and moments before and after, bit by bit. Returns how many tensors there are and which differ. */
  readonly compare: (places: {
    readonly killed: string;
    readonly resumed: string;
    readonly source: string;
    readonly target: string;
  }) => Promise<{ readonly tensors: number; readonly different: readonly string[] }>;
}

/** ZeRO divides weights and moments among ranks. */
function deepSpeed(
  stage: number,
  precision: 'fp32' | 'bf16',
  { from, to }: { readonly from: number; readonly to: number },
): Case {
  const python = lookUpUpstreamPython() ?? findEnginePython();
  return {
    name: `DeepSpeed, ZeRO-${String(stage)}, ${precision}`,
    from,
    to,
    // In bf16 each rank's part of a gradient is rounded to 8 bits.
    tolerance: precision === 'bf16' ? 2e-2 : 1e-5,
    kind: 'DeepSpeedUniversal',
    save: `global_step${String(SAVED_AT)}`,
    converted: `global_step${String(SAVED_AT)}_universal`,
    training: ({ ranks, directory, resume, isKilled }) => ({
      python,
      ranks,
      environment: { DS_ACCELERATOR: 'cpu', TORCH_EXTENSIONS_DIR: torchExtensionsDirectory() },
      program: [
        join(PROGRAMS, 'deepspeed_across_ranks.py'),
        ...['--stage', String(stage), '--precision', precision, '--steps', String(STEPS), '--directory', directory],
        ...(resume === undefined ? [] : ['--resume', resume]),
        ...(isKilled === true ? ['--save-at', String(SAVED_AT), '--kill-after', String(KILLED_AFTER)] : []),
      ],
    }),
    compare: async ({ killed, resumed }) => {
      const states = [join(killed, 'state-saved.pt'), join(resumed, 'state-loaded.pt')];
      const { output } = await runProgram([python, join(PROGRAMS, 'compare_states.py'), ...states], {});
      return JSON.parse(output.slice(output.indexOf('{'))) as { tensors: number; different: string[] };
    },
  };
}

/** It loads a save of every layout by itself; here it loads the one that was divided anew. */
function reference({ from, to }: { readonly from: number; readonly to: number }): Case {
  const python = findEnginePython();
  return {
    name: 'Reference engine, ZeRO-1',
    from,
    to,
    // Four digits are printed.
    tolerance: 1.01e-4,
    kind: 'Reshard',
    save: `step-${String(SAVED_AT).padStart(8, '0')}`,
    converted: `step-${String(SAVED_AT).padStart(8, '0')}`,
    training: ({ ranks, directory, resume, isKilled }) => ({
      python,
      ranks,
      environment: {
        PYTHONPATH: [join(ROOT, 'engines/reference'), join(ROOT, 'engines/agent')].join(':'),
        ...(isKilled === true
          ? { ENGINE_FAULT: JSON.stringify({ rank: 1, step: REFERENCE_KILL.step, kind: 'sigkill' }) }
          : {}),
      },
      program: [
        ...['-m', 'coxswain_reference.train', '--data-parallel', String(ranks), '--steps', String(STEPS)],
        ...['--layers', '2', '--hidden-size', '64', '--global-batch-size', '8', '--micro-batch-size', '2'],
        ...['--data', join(ROOT, 'examples/data/logbook.txt'), '--save-dir', directory],
        ...['--save-every', String(SAVED_AT)],
        ...(isKilled === true ? ['--step-delay-ms', String(REFERENCE_KILL.stepDelayMs)] : []),
        ...(resume === undefined ? [] : ['--resume-from', resume]),
      ],
    }),
    compare: compareDcp,
  };
}

/** FSDP over two ranks throughout, because TorchTitan restores its data loader at the same data-parallel degree alone. */
const TITAN_DATA_PARALLEL = 2;

/** It loads a save of every layout by itself; here it loads the one that was divided anew. */
function torchTitan({ from, to }: { readonly from: number; readonly to: number }): Case {
  const python = lookUpUpstreamPython() ?? findEnginePython();
  return {
    name: 'TorchTitan, FSDP2 and tensor parallelism',
    from,
    to,
    tolerance: 1e-3,
    kind: 'Reshard',
    save: `checkpoint/step-${String(SAVED_AT)}`,
    converted: `checkpoint/step-${String(SAVED_AT)}`,
    training: ({ ranks, directory, resume, isKilled }) => ({
      python,
      ranks,
      environment: {
        PYTHONPATH: join(ROOT, 'engines/torchtitan-cpu'),
        COXSWAIN_TINY_ASSETS: join(directory, 'assets'),
      },
      program: [
        ...['-m', 'coxswain_torchtitan_cpu', '--module', 'coxswain_torchtitan_cpu.tiny', '--config', 'tiny'],
        ...['--dump_folder', directory, '--training.steps', String(STEPS), '--training.global_batch_size', '8'],
        ...[
          '--training.mixed_precision_param',
          'float32',
          '--debug.seed',
          '1',
          '--metrics.log_freq',
          '1',
          '--metrics.disable_color_printing',
        ],
        ...['--parallelism.data_parallel_shard_degree', String(TITAN_DATA_PARALLEL)],
        ...['--parallelism.tensor_parallel_degree', String(ranks / TITAN_DATA_PARALLEL)],
        ...['--checkpoint.enable', '--checkpoint.interval', String(SAVED_AT), '--checkpoint.keep_latest_k', '0'],
        ...['--checkpoint.no-last_save_model_only'],
        ...(resume === undefined
          ? []
          : ['--checkpoint.initial_load_path', resume, '--checkpoint.no-initial_load_model_only']),
      ],
      ...(isKilled === true ? { killAt: new RegExp(`step: +${String(KILLED_AFTER)} `) } : {}),
    }),
    compare: compareDcp,
  };
}

async function compareDcp({
  source,
  target,
}: {
  readonly source: string;
  readonly target: string;
}): ReturnType<Case['compare']> {
  const python = findEnginePython();
  const { output } = await runProgram([python, join(ROOT, 'engines/fixtures/compare_dcp.py'), source, target], {});
  const [, same] = /the same (\d+) values/.exec(output) ?? [];
  return { tensors: Number(same ?? 0), different: same === undefined ? [output.trim().slice(-300)] : [] };
}

const SHRINK = { from: 4, to: 2 };
const GROW = { from: 2, to: 4 };

/** All cases. */
export const CASES: readonly Case[] = [
  deepSpeed(1, 'bf16', SHRINK),
  deepSpeed(2, 'fp32', SHRINK),
  deepSpeed(2, 'fp32', GROW),
  deepSpeed(3, 'fp32', SHRINK),
  deepSpeed(3, 'fp32', GROW),
  reference(SHRINK),
  reference(GROW),
  torchTitan(SHRINK),
  torchTitan(GROW),
];

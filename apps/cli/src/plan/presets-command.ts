import { parametersOf } from '@coxswain/planner';
import { CALIBRATION } from '@coxswain/planner/calibration';
import { GPU_PRESETS, MODEL_PRESETS, PRICE_BASIS, type GpuPreset, type ModelPreset } from '@coxswain/planner/presets';
import { Argument, type Command } from 'commander';
import { columns } from '../output/output.ts';
import type { Session } from '../session/session.ts';

const KINDS = ['models', 'gpus', 'stacks'] as const;

/** `coxswain presets [models|gpus|stacks]`: what can be planned by name. */
export function addPresetsCommand(program: Command, session: Session): void {
  program
    .command('presets')
    .description('list the models, GPUs and software stacks that have a name')
    .addArgument(new Argument('[kind]', 'only presets of this kind').choices(KINDS))
    .action((kind?: (typeof KINDS)[number]) => {
      const wants = (one: (typeof KINDS)[number]): boolean => kind === undefined || kind === one;
      const shown = {
        ...(wants('models') ? { models: MODEL_PRESETS } : {}),
        ...(wants('gpus') ? { gpus: GPU_PRESETS } : {}),
        ...(wants('stacks') ? { stacks: calibratedStacks() } : {}),
      };
      session.show(shown, ({ models, gpus, stacks }) =>
        [
          ...(models === undefined ? [] : [modelTable(models)]),
          ...(gpus === undefined ? [] : [gpuTable(gpus)]),
          ...(stacks === undefined ? [] : [stackTable(stacks)]),
        ].join('\n\n'),
      );
    });
}

function modelTable(models: readonly ModelPreset[]): string {
  const rows = models.map(({ name, model, source }) => {
    const { total, active } = parametersOf(model);
    return [
      name,
      billions(total),
      active === total ? '-' : billions(active),
      String(model.layers),
      String(model.hiddenSize),
      source,
    ];
  });
  return columns([['MODEL', 'PARAMETERS', 'ACTIVE', 'LAYERS', 'HIDDEN', 'SOURCE'], ...rows]);
}

function billions(parameters: number): string {
  return `${(parameters / 1e9).toPrecision(4)} B`;
}

function gpuTable(gpus: readonly GpuPreset[]): string {
  const rows = gpus.map((gpu) => [
    gpu.name,
    String(gpu.bf16Tflops),
    gpu.memoryGib.toFixed(1),
    String(gpu.memoryTbPerS),
    String(gpu.scaleUpGbPerS),
    String(gpu.scaleUpDomainGpus),
    String(gpu.gpusPerNode),
    `${gpu.nicGbps} ${gpu.nicKind}`,
    `$${gpu.usdPerHour.toFixed(2)}`,
  ]);
  const title = ['GPU', 'BF16 TFLOP/S', 'GIB', 'TB/S', 'SCALE-UP GB/S', 'DOMAIN', 'PER NODE', 'NIC GBIT/S', 'PER HOUR'];
  return `${columns([title, ...rows])}\nPrices: ${PRICE_BASIS}.`;
}

/** Engines, and releases of them, that constants were fitted for. */
function calibratedStacks(): readonly string[] {
  return [...new Set([...Object.keys(CALIBRATION.families), ...Object.keys(CALIBRATION.stacks)])].sort();
}

function stackTable(stacks: readonly string[]): string {
  const rows = stacks.map((stack) => [stack]);
  return `${columns([['STACK'], ...rows])}\nAnother release takes the constants of its engine, another engine the average.`;
}

import { parametersOf } from '@coxswain/planner';
import { GPU_PRESETS, MODEL_PRESETS, PRICE_BASIS, type GpuPreset, type ModelPreset } from '@coxswain/planner/presets';
import { Argument, type Command } from 'commander';
import { columns } from './output.ts';
import type { Session } from './session.ts';

const KINDS = ['models', 'gpus'] as const;

/** `coxswain presets [models|gpus]`: what can be planned by name. */
export function addPresetsCommand(program: Command, session: Session): void {
  program
    .command('presets')
    .description('models and GPUs that can be planned by name')
    .addArgument(new Argument('[kind]', 'only these').choices(KINDS))
    .action((kind?: (typeof KINDS)[number]) => {
      const shown = {
        ...(kind === 'gpus' ? {} : { models: MODEL_PRESETS }),
        ...(kind === 'models' ? {} : { gpus: GPU_PRESETS }),
      };
      session.show(shown, ({ models, gpus }) =>
        [...(models === undefined ? [] : [modelTable(models)]), ...(gpus === undefined ? [] : [gpuTable(gpus)])].join(
          '\n\n',
        ),
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

/** Lines about states and activations that a program keeps in the memory of its host: only the user knows how much memory the pods need for that. */
import type { ReportLine } from './import-report.ts';
import { type WrittenSetting, writtenSettings } from './written-settings.ts';

const OFFLOADS =
  /(?:^|[._-])(?:cpu_offload|offload_params|offload_activations|activation_offloading|optimizer_cpu_offload|offload_(?:optimizer|param)(?:_device|\.device)|cpu_offloading|enable_cpu_offload)$/;

/** The settings about offloading among the words of a program. */
export function offloadOptions(words: readonly string[]): readonly WrittenSetting[] {
  return writtenSettings(words, isOffload);
}

/** A line for each setting that is on. */
export function offloadLines(settings: readonly WrittenSetting[]): readonly ReportLine[] {
  return settings
    .filter(({ name, value }) => isOffload(name) && !/^(?:false|none|no|0|0\.0|)$/i.test(value))
    .map(({ written }) => ({
      outcome: 'changed',
      from: written,
      to: 'layout',
      why: 'the program keeps a part of its memory on the host; layout leaves that out, because the file does not say how much memory a pod needs for it',
      todo: 'add layout.memory.offload with layout.memory.hostMemoryGibPerGpu, or give the pods enough by resources.memoryPerGpu',
    }));
}

function isOffload(name: string): boolean {
  return OFFLOADS.test(name.replaceAll('-', '_').toLowerCase());
}

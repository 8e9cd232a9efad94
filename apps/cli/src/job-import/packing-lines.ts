/** Lines about programs that pack documents into samples: an imported program keeps its settings, and predictions learn of packing from the job alone. */
import type { ReportLine } from './import-report.ts';
import { type WrittenSetting, writtenSettings } from './written-settings.ts';

/**
 * axolotl: `sample_packing`; TRL: `packing`; NeMo and Megatron-Bridge: `packed_sequence_size`; LLM Foundry: `packing_ratio`; TorchTune: `packed`; Megatron-LM:
 * `reset_attention_mask`.
 */
const PACKS = /(?:^|[._-])(?:sample_packing|packing|packed|packed_sequence_size|packing_ratio|reset_attention_mask)$/;

/** Settings that mean no packing: switches that are off, a size below 1 and a ratio of 1. */
const IS_OFF = /^(?:false|none|no|off|null|-\d+|0|0\.0|1|1\.0|)$/i;

/** The settings about packing among the words of a program. */
export function packingOptions(words: readonly string[]): readonly WrittenSetting[] {
  return writtenSettings(words, isOfPacking);
}

/** A line for each setting that is on. */
export function packingLines(settings: readonly WrittenSetting[]): readonly ReportLine[] {
  return settings.filter(({ name, value }) => isOfPacking(name) && !IS_OFF.test(value)).map(lineOf);
}

function lineOf({ name, written }: WrittenSetting): ReportLine {
  if (isMask(name))
    return {
      outcome: 'changed',
      from: written,
      to: 'engine.command',
      why: 'the causal attention kernels of Transformer Engine ignore this mask, so attention is priced over whole samples',
    };
  return {
    outcome: 'changed',
    from: written,
    to: 'engine.command',
    why: 'the program packs documents by itself; without training.packing, attention is priced over whole samples',
    todo: 'for predictions, set training.packing.meanTokens to the mean length of your documents, beside model and training',
  };
}

function isOfPacking(name: string): boolean {
  return PACKS.test(plain(name));
}

function isMask(name: string): boolean {
  return plain(name).endsWith('reset_attention_mask');
}

function plain(name: string): string {
  return name.replaceAll('-', '_').toLowerCase();
}

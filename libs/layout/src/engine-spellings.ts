/** Reads names of engines as people write them. */
import { LAYOUT_ENGINES, type LayoutEngine } from './layout-facts.ts';

/** Names of the programs of an engine, and names that its users give it. `megatron` is none: it may be Megatron-LM or Megatron-Bridge. */
const OTHER_NAMES: Readonly<Record<string, LayoutEngine>> = {
  accelerate: 'hugging-face',
  hf: 'hugging-face',
  huggingface: 'hugging-face',
  transformers: 'hugging-face',
  trl: 'hugging-face',
  'colossal-ai': 'colossalai',
  mcore: 'megatron-lm',
  'nemo-megatron-bridge': 'megatron-bridge',
  'torch-titan': 'torchtitan',
};

/** The engine that a name means: its own name in any case, with underscores or with hyphens, or another name of its programs. */
export function engineNamed(name: string): LayoutEngine | undefined {
  const spelled = name.trim().toLowerCase().replaceAll(/[_ ]/g, '-');
  const own = LAYOUT_ENGINES.find((engine) => engine === spelled);
  return own ?? (Object.hasOwn(OTHER_NAMES, spelled) ? OTHER_NAMES[spelled] : undefined);
}

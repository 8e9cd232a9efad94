/**
 * What converters of engines convert, how they are started, and which saves they get wrong. Read in Megatron-Bridge v0.3.1 and v0.5.1
 * (models/conversion/auto_bridge.py) and in Megatron-LM core_v0.15.0 to core_v0.19.0 (tools/checkpoint/checkpoint_inspector.py).
 */
import type { StoredFile } from '../read/save-files.ts';
import type { SavedState } from '../read/saved-state.ts';
import type { SaveLook } from '../verify/verify-save.ts';

/** Engines whose converters Coxswain starts. */
export const ENGINE_CONVERTERS = ['megatron-bridge', 'megatron-lm'] as const;

/** One entry of {@link ENGINE_CONVERTERS}. */
export type EngineConverter = (typeof ENGINE_CONVERTERS)[number];

/** A conversion that an engine's own converter does. */
export interface EngineConversion {
  readonly converter: EngineConverter;
  /** Format of the new save. */
  readonly to: string;
  /** Of Megatron-LM: the MLPs have a gate (SwiGLU). The converter cannot tell. */
  readonly isGated: boolean;
}

/** Directories that the converter sees. */
export interface ConverterPlaces {
  readonly source: string;
  /** It is deleted first, with what an earlier run left. */
  readonly draft: string;
  /** Directory with `config.json` and tokenizer of the model, as Hugging Face publishes it. */
  readonly reference?: string;
}

/** Formats that each converter reads, by the format that it writes. */
const READ_FOR: Readonly<Record<EngineConverter, Readonly<Record<string, readonly string[]>>>> = {
  'megatron-bridge': { 'hugging-face': ['torch_dist'], torch_dist: ['hugging-face', 'safetensors'] },
  'megatron-lm': { fsdp_dtensor: ['torch_dist'] },
};

/** Megatron-Bridge writes it beside the tensors of each save. Its export reads the model from it. */
const BRIDGE_CONFIG = 'run_config.yaml';

/** Why the converter does not convert to that format, as a sentence; undefined: it does. */
export function describeUnknownConversion({ converter, to, isGated }: EngineConversion): string | undefined {
  const pairs = READ_FOR[converter];
  if (!Object.hasOwn(pairs, to)) {
    const known = Object.entries(pairs).map(([target, sources]) => `${sources.join(' or ')} to ${target}`);
    return `The converter of ${converter} does not write ${to}. It converts ${known.join(', and ')}.`;
  }
  return isGated && converter !== 'megatron-lm'
    ? '--swiglu is an option of megatron-lm. Megatron-Bridge reads the model from its configuration.'
    : undefined;
}

/** Why the converter does not get this save right, as sentences; none: nothing that its files show. */
export function describeUnfitSource(
  { converter, to, isGated }: EngineConversion,
  { look, files }: { readonly look: SaveLook; readonly files: readonly StoredFile[] },
): readonly string[] {
  const { format = 'unknown', state, verdict, findings } = look;
  if (verdict !== 'sound' && verdict !== 'unverifiable')
    return [`It is ${verdict}: ${findings[0]?.sentence ?? ''} Use another save.`];
  const readable = READ_FOR[converter][to] ?? [];
  if (state === undefined || !readable.includes(format))
    return [`Its format is ${format}, and the converter of ${converter} makes ${to} of ${readable.join(' or ')}.`];
  if (converter === 'megatron-lm') return [...unfitOptimizer(state), ...unfitGate(state, isGated)];
  return to === 'hugging-face' && !files.some(({ path }) => path === BRIDGE_CONFIG)
    ? [
        `It has no ${BRIDGE_CONFIG}, which Megatron-Bridge writes and its export reads. Convert a save of Megatron-LM without --converter.`,
      ]
    : [];
}

/** The converter takes a bucket for a weight, and writes it under a name that nothing loads. */
function unfitOptimizer({ facts }: SavedState): readonly string[] {
  return facts?.optimizerSharding === 'dp_reshardable'
    ? [
        'Its optimizer is dp_reshardable, and the converter writes its buckets as if they were weights. Convert it with --to torch_dist --optimizer fully_reshardable first.',
      ]
    : [];
}

const GATED = /(?:^|\.)mlp\.linear_fc1\.weight$/;

/** Megatron-FSDP names the gate and what it multiplies. A wrong option gives a save that has the one or the other name, and does not load. */
function unfitGate({ tensors }: SavedState, isGated: boolean): readonly string[] {
  const shapes = new Map(tensors.map(({ key, shape }) => [key, shape]));
  for (const [key, shape] of shapes) {
    const [rows, columns] = [shape.at(-2), shapes.get(key.replace('linear_fc1', 'linear_fc2'))?.at(-1)];
    if (!GATED.test(key) || key.startsWith('optimizer.') || rows === undefined || columns === undefined) continue;
    const hasGate = rows === 2 * columns;
    if (hasGate === isGated) continue;
    return [
      `${key} has ${String(rows)} rows, and linear_fc2 has ${String(columns)} columns: its MLPs have ${hasGate ? 'a gate. Add --swiglu' : 'no gate. Leave out --swiglu'}.`,
    ];
  }
  return [];
}

/** On CPUs. Up to v0.5.1 an import starts NCCL unless there is a process group; an export makes one of gloo by itself. */
const BRIDGE_PROGRAM = `import shutil, sys
from megatron.bridge import AutoBridge
to, source, draft, *reference = sys.argv[1:]
shutil.rmtree(draft, ignore_errors=True)
if to == 'torch_dist':
    from megatron.bridge.training.model_load_save import temporary_distributed_context
    with temporary_distributed_context(backend='gloo'):
        AutoBridge.import_ckpt(source, draft)
else:
    # Releases before 0.5 take the configuration from the reference alone.
    make = getattr(AutoBridge, 'from_auto_config', None)
    bridge = AutoBridge.from_hf_pretrained(reference[0]) if make is None else make(source, reference[0])
    bridge.export_ckpt(source, draft, show_progress=False, strict=True)
`;

/**
 * From core_v0.16.0 to core_v0.17.1 the default of this option is the text {}, which the converter then opens as a file. Releases before do not know the option.
 */
const MEGATRON_PROGRAM = `rm -rf "$2"
tool=tools/checkpoint/checkpoint_inspector.py
groups=
if grep -q param-to-param-group-map-json "$tool"; then
  [ -n "$4" ] || { groups=/tmp/groups.json; echo '{}' > "$groups"; }
  groups="--param-to-param-group-map-json \${4:-$groups}"
fi
exec torchrun --standalone --nproc-per-node "$3" "$tool" convert-torch-dist-to-fsdp-dtensor "$1" "$2" $groups $5`;

/** The command of the container that converts. It runs in the directory of the engine's image. */
export function converterCommand(
  { converter, to, isGated }: EngineConversion,
  { source, draft, reference }: ConverterPlaces,
  { gpus, groups = '' }: { readonly gpus: number; readonly groups?: string | undefined },
): readonly string[] {
  if (converter === 'megatron-lm')
    return ['sh', '-ec', MEGATRON_PROGRAM, 'sh', source, draft, String(gpus), groups, isGated ? '--swiglu' : ''];
  return ['python3', '-c', BRIDGE_PROGRAM, to, source, draft, ...(reference === undefined ? [] : [reference])];
}

/** Where the save is below what the converter wrote. Megatron-Bridge writes it as that of iteration 0, beside the file that names it. */
export function convertedSaveIn({ converter, to }: EngineConversion, directory: string): string {
  return converter === 'megatron-bridge' && to === 'torch_dist' ? `${directory}/iter_0000000` : directory;
}

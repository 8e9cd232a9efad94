/** The file of `--deepspeed` or `--deepspeed_config`, if it lies beside the script: its ZeRO stage is a part of the layout. */
import { offloadLines } from './offload-lines.ts';
import type { ReportLine } from './import-report.ts';

const OPTION = /^--(?:deepspeed(?:_config)?|ds_config)(?:=|$)/;

/** What the file says of the layout. */
export interface DeepSpeedFile {
  /** As the program names it. */
  readonly path: string;
  /** As a variable would say it. */
  readonly degrees: readonly { readonly name: string; readonly value: string }[];
  readonly lines: readonly ReportLine[];
}

/** Undefined: no word names such a file, or it cannot be read. */
export function deepSpeedFile(
  words: readonly string[],
  readBeside: ((path: string) => unknown) | undefined,
): DeepSpeedFile | undefined {
  const at = words.findIndex((word) => OPTION.test(word));
  const option = words[at] ?? '';
  const path = /=([^]*)$/.exec(option)?.[1] ?? words[at + 1] ?? '';
  const zero = at < 0 || !path.endsWith('.json') ? undefined : valueAt(readBeside?.(path), 'zero_optimization');
  const stage = valueAt(zero, 'stage');
  if (typeof stage !== 'number' || ![0, 1, 2, 3].includes(stage)) return undefined;
  const offloaded = ['offload_optimizer', 'offload_param'].flatMap((name) => {
    const device = valueAt(valueAt(zero, name), 'device');
    return typeof device === 'string'
      ? [{ name: `${name}.device`, value: device, written: `${path}: ${name}.device ${device}` }]
      : [];
  });
  return {
    path,
    degrees: stage === 0 ? [] : [{ name: 'ACCELERATE_DEEPSPEED_ZERO_STAGE', value: String(stage) }],
    lines: [
      {
        outcome: 'changed',
        from: `${path}: zero_optimization.stage ${stage}`,
        to: `layout.states.zeroStage ${stage}`,
        why: 'the program reads the file itself, so it has to be in the image, or in the directory that coxswain submit --workdir ships',
      },
      ...offloadLines(offloaded),
    ],
  };
}

function valueAt(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

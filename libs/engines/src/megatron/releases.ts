/** Which releases of Megatron-LM are known, and which options does each have? */
import { type OptionTable, optionTable, type WrittenOptions } from './option-table.ts';
import core15 from './options/core_v0.15.3.generated.json' with { type: 'json' };
import core16 from './options/core_v0.16.1.generated.json' with { type: 'json' };
import core17 from './options/core_v0.17.1.generated.json' with { type: 'json' };
import core18 from './options/core_v0.18.2.generated.json' with { type: 'json' };
import core19 from './options/core_v0.19.0.generated.json' with { type: 'json' };

export interface MegatronRelease {
  /** Its tag, `core_v0.16.1`. */
  readonly tag: string;
  /** 16 of core_v0.16.1: what releases differ in besides their options is told by it. */
  readonly minor: number;
  readonly options: OptionTable;
}

/** Oldest first. */
export const MEGATRON_RELEASES: readonly MegatronRelease[] = [core15, core16, core17, core18, core19].map(releaseOf);

function releaseOf(written: WrittenOptions): MegatronRelease {
  return { tag: written.release, minor: Number(written.release.split('.')[1]), options: optionTable(written) };
}

/**
 * The release that is meant; undefined where it is not known. A patch release has the options of the one of its minor that is known: patches mend, and what
 * one lacks is told by the engine at its start.
 */
export function megatronRelease(name: string | undefined): MegatronRelease | undefined {
  if (name === undefined) return MEGATRON_RELEASES.at(-1);
  const minor = /^(?:core_)?v?0\.(\d+)(?:\.\d+)?$/.exec(name)?.[1];
  return MEGATRON_RELEASES.find((release) => String(release.minor) === minor);
}

/** Releases that have the option, oldest first. */
export function releasesWith(flag: string): readonly string[] {
  return MEGATRON_RELEASES.filter(({ options }) => options.has(flag)).map(({ tag }) => tag);
}

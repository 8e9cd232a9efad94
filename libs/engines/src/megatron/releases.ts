/** The known releases of Megatron-LM, with the options of each. */
import { type OptionTable, optionTable, type WrittenOptions } from './option-table.ts';
import core15 from './options/core_v0.15.3.generated.json' with { type: 'json' };
import core16 from './options/core_v0.16.1.generated.json' with { type: 'json' };
import core17 from './options/core_v0.17.1.generated.json' with { type: 'json' };
import core18 from './options/core_v0.18.2.generated.json' with { type: 'json' };
import core19 from './options/core_v0.19.0.generated.json' with { type: 'json' };

/** A release and its options. */
export interface MegatronRelease {
  /** Its tag, `core_v0.16.1`. */
  readonly tag: string;
  /** 16 for core_v0.16.1. Differences beyond options depend on it. */
  readonly minor: number;
  readonly options: OptionTable;
}

/** Oldest first. */
export const MEGATRON_RELEASES: readonly MegatronRelease[] = [core15, core16, core17, core18, core19].map(releaseOf);

function releaseOf(written: WrittenOptions): MegatronRelease {
  return { tag: written.release, minor: Number(written.release.split('.')[1]), options: optionTable(written) };
}

/**
 * Finds a release by name; undefined if it is not known. A patch release has the options of the known release of the same minor.
 * If it lacks one, the engine reports that at its start.
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

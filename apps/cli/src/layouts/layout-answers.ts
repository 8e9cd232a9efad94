/** Results of the layout commands; `--json` prints them unchanged. */
import type { EngineRendering } from '@coxswain/api-types';
import type { DocumentFinding, EngineOutcome, LayoutEngine, RankTable } from '@coxswain/layout';

/** The result of `layout check`. */
export interface LayoutCheck {
  readonly file: string;
  /** Whether no rule is broken; warnings do not count. */
  readonly legal: boolean;
  readonly roles: readonly CheckedRole[];
  readonly findings: readonly DocumentFinding[];
}

/** One role of the file. The role of a file with one role has no name. */
export interface CheckedRole {
  readonly name?: string;
  readonly layout: string;
  readonly gpus: number;
  readonly engine?: LayoutEngine;
  /** Whether its engine supports the whole layout; absent if the file names no engine. */
  readonly outcome?: EngineOutcome;
  /** Why its engine does not render the layout, as `coxswain render` answers; absent if it does, or if jobs cannot name it. */
  readonly refusal?: NonNullable<EngineRendering['refusal']>;
  /** Options of the file that are passed through to the engine and not priced. */
  readonly notPriced?: readonly string[];
}

/** The result of `layout ranks`: the rank map of each role. The role of a file with one role has no name. */
export interface LayoutRanks {
  readonly roles: readonly { readonly name?: string; readonly table: RankTable }[];
}

/** What the layout commands answer; `--json` prints it as it is. */
import type { DocumentFinding, EngineOutcome, LayoutEngine, RankTable } from '@coxswain/layout';

/** What `layout check` answers. */
export interface LayoutCheck {
  readonly file: string;
  /** Whether no rule is broken; warnings do not count. */
  readonly legal: boolean;
  readonly roles: readonly CheckedRole[];
  readonly findings: readonly DocumentFinding[];
}

/** One role of the file; a file of one has no name for it. */
export interface CheckedRole {
  readonly name?: string;
  readonly layout: string;
  readonly gpus: number;
  readonly engine?: LayoutEngine;
  /** Whether its engine can be told all of it; absent where the file names none. */
  readonly outcome?: EngineOutcome;
}

/** What `layout ranks` answers: the rank map of each role; a file of one role has no name for it. */
export interface LayoutRanks {
  readonly roles: readonly { readonly name?: string; readonly table: RankTable }[];
}

import type { PreflightReport } from '@coxswain/api-types';
import type { Draft, PendingReports } from './pending-reports.ts';
import type { OrderReceiver } from './order-receiver.ts';
import type { PreflightBoard } from './preflight-board.ts';
import type { RepeatedReports } from './repeated-reports.ts';

interface PreflightReporterParts {
  readonly orders: OrderReceiver;
  readonly pending: PendingReports;
  readonly repeated: RepeatedReports;
  readonly report: (draft: Draft) => void;
}

/** Exchanges preflight messages with the operator before the first ranks start. */
export class PreflightReporter {
  readonly #parts: PreflightReporterParts;

  constructor(parts: PreflightReporterParts) {
    this.#parts = parts;
  }

  /** The board of the gang, as the operator distributes it. */
  board(): Promise<PreflightBoard> {
    return this.#parts.orders.board();
  }

  /** Reports that this pod hosts the board. */
  announceBoard(board: PreflightBoard): void {
    this.#reportUntilDone({ kind: 'preflightBoard', ...board });
  }

  /** Reports what this pod measured, and settles when ranks may start. */
  async report(report: PreflightReport): Promise<void> {
    this.#reportUntilDone({ kind: 'preflight', report });
    await this.done();
  }

  /** Settles when the operator ends the preflight: it blames no pod of the gang, or a pod cannot take part. */
  done(): Promise<void> {
    return this.#parts.orders.preflightDone();
  }

  /** The ranks start, whatever the operator answered: drops preflight reports that were not sent yet. */
  finish(): void {
    this.#parts.repeated.forget('preflightBoard', 'preflight');
    this.#parts.pending.forgetPreflight();
  }

  #reportUntilDone(draft: Draft): void {
    this.#parts.repeated.keep(draft);
    this.#parts.report(draft);
  }
}

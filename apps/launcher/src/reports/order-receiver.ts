import type { RankAssignment } from '@coxswain/api-types';
import type { IncarnationTracker } from './incarnation-tracker.ts';
import type { PreflightBoard } from './preflight-board.ts';
import type { Order } from './report-connection.ts';

/** Which orders are for this launcher, and whom they notify. */
export interface OrderReceiverOptions {
  /** Orders for another attempt are ignored. */
  readonly epoch: number;
  readonly incarnations: IncarnationTracker;
  /** The operator ends the ranks that run. */
  readonly onEndRanks: (message: string) => void;
  /** The operator ended an incarnation that this launcher never started, and now never starts. */
  readonly onSkipped: () => void;
  /** The operator asks the running ranks to save now. The operator repeats this order until a checkpoint is reported. */
  readonly onSaveWanted: (wanted: Extract<Order, { kind: 'saveWanted' }>) => void;
}

/** Receives orders of the operator, and lets others wait for what an order brings. */
export class OrderReceiver {
  readonly #options: OrderReceiverOptions;
  /** Resolved and replaced whenever an order has changed something that is waited for. */
  #changed = Promise.withResolvers<void>();
  /** The latest assignment received. */
  #assignment: RankAssignment | undefined;
  #rendezvous: { readonly incarnation: number; readonly address: string } | undefined;
  #verifyWanted: Extract<Order, { kind: 'verifyWanted' }> | undefined;
  #board: PreflightBoard | undefined;
  #isPreflightDone = false;

  constructor(options: OrderReceiverOptions) {
    this.#options = options;
  }

  /** The next assignment of ranks that this launcher has not run yet. */
  nextAssignment(): Promise<RankAssignment> {
    const { incarnations } = this.#options;
    return this.#until(() =>
      (this.#assignment?.incarnation ?? 0) > incarnations.latestIncarnation ? this.#assignment : undefined,
    );
  }

  /** `host:port` of rank 0 of that incarnation. */
  addressOf(incarnation: number): Promise<string> {
    return this.#until(() => (this.#rendezvous?.incarnation === incarnation ? this.#rendezvous.address : undefined));
  }

  /** Suspect checkpoints to verify before the ranks of that incarnation start, newest first. The operator sends them before the assignment. */
  suspectsOf(incarnation: number): Extract<Order, { kind: 'verifyWanted' }>['checkpoints'] {
    return this.#verifyWanted?.incarnation === incarnation ? this.#verifyWanted.checkpoints : [];
  }

  /** Address and key of the board on which the gang's pods exchange preflight measurements. */
  board(): Promise<PreflightBoard> {
    return this.#until(() => this.#board);
  }

  /** Settles when the operator ends the preflight of the gang. */
  async preflightDone(): Promise<void> {
    await this.#until(() => (this.#isPreflightDone ? true : undefined));
  }

  receive(order: Order): void {
    const { epoch, incarnations, onSaveWanted } = this.#options;
    if ('epoch' in order && order.epoch !== epoch) return;
    switch (order.kind) {
      case 'rendezvous':
        this.#rendezvous = { incarnation: order.incarnation ?? 1, address: order.address };
        break;
      case 'verifyWanted':
        this.#verifyWanted = order;
        return;
      case 'preflightBoard':
        this.#board = { address: order.address, key: order.key };
        break;
      case 'preflightDone':
        this.#isPreflightDone = true;
        break;
      case 'endRanks':
        return this.#endRanks(order);
      case 'saveWanted':
        if (order.incarnation === incarnations.running) onSaveWanted(order);
        return;
      case 'assignment':
        if (!this.#assign(order.assignment)) return;
        break;
    }
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }

  /** Whether the assignment is of this attempt and later than the latest one received. */
  #assign(assignment: RankAssignment): boolean {
    const { epoch, incarnations, onEndRanks } = this.#options;
    if (assignment.epoch !== epoch) return false;
    if (assignment.incarnation <= (this.#assignment?.incarnation ?? 0)) return false;
    this.#assignment = assignment;
    if (incarnations.running !== undefined) onEndRanks(`incarnation ${assignment.incarnation} begins`);
    return true;
  }

  #endRanks({ incarnation, message }: Extract<Order, { kind: 'endRanks' }>): void {
    const { incarnations, onEndRanks, onSkipped } = this.#options;
    if (incarnation === incarnations.running) onEndRanks(message);
    if (incarnation <= incarnations.latestIncarnation || incarnations.status.state === 'running') return;
    incarnations.skip(incarnation);
    onSkipped();
  }

  async #until<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      await this.#changed.promise;
    }
  }
}

import { MAX_STEPS_PER_FRAME, type LauncherMessage, type SavedCheckpoint, type StepReport } from '@coxswain/api-types';

type WithoutEnvelope<M> = M extends unknown ? Omit<M, 'podUid' | 'epoch' | 'sequence' | 'rendezvous'> : never;
/** A message without what every message repeats; the incarnation, and the state, are those of the moment at which it was made. */
export type Draft = WithoutEnvelope<LauncherMessage>;

/** Steps that wait for an operator that is away: 15 s of them at the highest rate (STEPS_PER_SECOND of step-throttle.ts). */
export const MAX_WAITING_STEPS = 300;
const MAX_IMPORTANT = 256;

interface Item {
  readonly draft: Draft;
  /** Told until it is acknowledged; the others are sent once or not at all. */
  readonly isImportant: boolean;
  /** Sequence of the latest sending on the present connection. */
  sentAs: number | undefined;
}

/**
 * What is still to be told to the operator, in order; only that the ranks are gone comes before all else. Saved checkpoints, resumes and
 * the end are kept until they are acknowledged and told again on every new connection; of heartbeats only the newest waits; of steps the
 * oldest are shed when too many wait.
 *
 * A sequence number is given when a message is sent, so numbers never go back on a connection. What was told twice because an
 * acknowledgement was lost is recognised by what it says (a checkpoint's directory), not by its number.
 */
export class PendingReports {
  #items: Item[] = [];
  #shedSteps = 0;

  /** Steps that were never told, since the start. */
  get shedSteps(): number {
    return this.#shedSteps;
  }

  /** Whether everything important was acknowledged. */
  get isSettled(): boolean {
    return !this.#items.some((item) => item.isImportant);
  }

  /** Checkpoints that the ranks of that incarnation saved and whose report was not acknowledged, oldest first. */
  unreportedCheckpointsOf(incarnation: number): readonly SavedCheckpoint[] {
    return this.#items.flatMap(({ draft }) =>
      draft.kind === 'checkpointSaved' && (draft.incarnation ?? 1) === incarnation ? [draft.checkpoint] : [],
    );
  }

  /** Another incarnation begins: that the one before was reaped is known to whoever began it. */
  forgetReaped(): void {
    this.#items = this.#items.filter(({ draft }) => draft.kind !== 'reaped');
  }

  /** Ranks start: heard after that, it would end a gang that trains. */
  forgetPreflight(): void {
    this.#items = this.#items.filter(({ draft: { kind } }) => kind !== 'preflight' && kind !== 'preflightBoard');
  }

  add(draft: Draft): void {
    switch (draft.kind) {
      case 'hello':
      case 'steps':
      case 'stacks':
        throw new Error(`${draft.kind} belongs to a connection, not to the pending reports`);
      case 'heartbeat':
        this.#items = this.#items.filter((item) => item.draft.kind !== 'heartbeat');
        this.#append(draft, false);
        return;
      case 'step':
        this.#append(draft, false);
        this.#shed('step', MAX_WAITING_STEPS);
        return;
      case 'trained':
        this.#items = this.#items.filter((item) => item.draft.kind !== 'trained');
        this.#append(draft, true);
        return;
      case 'reaped':
        // Behind a checkpoint that cannot be recorded it would never be heard; its cause names the checkpoints that were not.
        this.#items = this.#items.filter(({ draft: { kind } }) => kind !== 'reaped' && kind !== 'heartbeat');
        this.#items.unshift({ draft, isImportant: true, sentAs: undefined });
        return;
      case 'resumed':
      case 'preflightBoard':
      case 'preflight':
      case 'checkpointSaved':
      case 'ended':
        this.#append(draft, true);
        // An engine that claims a checkpoint a millisecond must not fill the memory; the newest matter most.
        this.#shed('checkpointSaved', MAX_IMPORTANT);
        return;
    }
  }

  /** A new connection is there: everything important is to be told again. */
  reconnected(): void {
    for (const item of this.#items) item.sentAs = undefined;
  }

  /** The next message to send as `sequence`, or undefined when nothing waits. `steps`: whether one may be told now, several in one message, or none. */
  take(sequence: number, steps: 'each' | 'gathered' | 'later' = 'each'): Draft | undefined {
    const item = this.#items.find(
      ({ sentAs, draft }) => sentAs === undefined && (steps !== 'later' || draft.kind !== 'step'),
    );
    if (item === undefined) return undefined;
    if (item.draft.kind === 'step' && steps === 'gathered') return this.#takeSteps(item.draft);
    item.sentAs = sequence;
    if (!item.isImportant) this.#items = this.#items.filter((other) => other !== item);
    return item.draft;
  }

  /** The oldest of the steps that wait and were made by the same ranks, as one message. What is skipped is known to whoever sends it. */
  #takeSteps({ incarnation, state }: Draft): Draft {
    const reports: StepReport[] = [];
    this.#items = this.#items.filter(({ draft }) => {
      if (draft.kind !== 'step' || draft.incarnation !== incarnation) return true;
      if (reports.length === MAX_STEPS_PER_FRAME) return true;
      reports.push(draft.report);
      return false;
    });
    const madeBy = { ...(incarnation === undefined ? {} : { incarnation }), ...(state === undefined ? {} : { state }) };
    return { kind: 'steps', reports, skipped: 0, ...madeBy };
  }

  acknowledge(sequence: number): void {
    this.#items = this.#items.filter((item) => item.sentAs !== sequence);
  }

  #append(draft: Draft, isImportant: boolean): void {
    this.#items.push({ draft, isImportant, sentAs: undefined });
  }

  #shed(kind: Draft['kind'], most: number): void {
    if (this.#items.filter((item) => item.draft.kind === kind).length <= most) return;
    this.#items.splice(
      this.#items.findIndex((item) => item.draft.kind === kind),
      1,
    );
    if (kind === 'step') this.#shedSteps += 1;
  }
}

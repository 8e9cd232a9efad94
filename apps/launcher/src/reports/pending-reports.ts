import { MAX_STEPS_PER_FRAME, type LauncherMessage, type SavedCheckpoint, type StepReport } from '@coxswain/api-types';

type WithoutEnvelope<M> = M extends unknown ? Omit<M, 'podUid' | 'epoch' | 'sequence' | 'rendezvous'> : never;
/** A message without the common fields. Incarnation and state are those of the time when it was made. */
export type Draft = WithoutEnvelope<LauncherMessage>;

/** Steps that wait while no operator is connected: 15 s of them at the highest rate (STEPS_PER_SECOND of step-throttle.ts). */
export const MAX_WAITING_STEPS = 300;
const MAX_IMPORTANT = 256;

/** The report as an operator of the release before reads it, and as short as a termination message needs it. */
export function withoutInspection({
  verification: _1,
  contents: _2,
  progress: _3,
  ...saved
}: SavedCheckpoint): SavedCheckpoint {
  return saved;
}

interface Item {
  readonly draft: Draft;
  /** Sent again until it is acknowledged; other reports are sent once or not at all. */
  readonly isImportant: boolean;
  /** Sequence of the latest sending on the present connection. */
  sentAs: number | undefined;
}

/**
 * The reports that wait for the operator, in order; `reaped` comes first. Saved checkpoints, resumes and the end are kept until they are
 * acknowledged, and sent again on every new connection. Only the newest heartbeat waits. If too many steps wait, the oldest are
 * dropped.
 *
 * A sequence number is given when a message is sent, so numbers never go back on a connection. A report that is sent twice because an
 * acknowledgement was lost is recognised by its content (a checkpoint's directory), not by its number.
 */
export class PendingReports {
  #items: Item[] = [];
  #shedSteps = 0;

  /** Steps that were dropped before they were sent, since the start. */
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
      draft.kind === 'checkpointSaved' && (draft.incarnation ?? 1) === incarnation
        ? [withoutInspection(draft.checkpoint)]
        : [],
    );
  }

  /** Another incarnation starts: the operator that started it knows that the one before was reaped. */
  forgetReaped(): void {
    this.#items = this.#items.filter(({ draft }) => draft.kind !== 'reaped');
  }

  /** Ranks start: a preflight report that arrives later would end a training gang. */
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
        // Behind a checkpoint that cannot be recorded it would never be sent; its cause names the unreported checkpoints.
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

  /** On a new connection everything important is sent again. */
  reconnected(): void {
    for (const item of this.#items) item.sentAs = undefined;
  }

  /** The next message to send as `sequence`, or undefined when nothing waits. `steps`: whether steps are sent one by one, several in a message, or not now. */
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

  /** The oldest waiting steps of one incarnation as one message. The sender fills in `skipped`. */
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

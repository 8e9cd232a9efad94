/** What this launcher did not report of a job's ranks. */
export interface DroppedCounts {
  /** Steps that came faster than the operator accepts them. */
  readonly skippedSteps: number;
  /** Steps that were dropped while no operator was connected. */
  readonly shedSteps: number;
  /** Facts that hooks dropped because their queues were full. */
  readonly droppedFacts: number;
  /** Checkpoints that were saved while too many others waited for verification. */
  readonly droppedSaves: number;
}

/** A sentence for each kind of report that is missing; none if everything was reported. */
export function describeDropped({
  skippedSteps,
  shedSteps,
  droppedFacts,
  droppedSaves,
}: DroppedCounts): readonly string[] {
  const steps = skippedSteps + shedSteps;
  return [
    ...(steps === 0
      ? []
      : [
          `The series lacks ${steps} steps: ${skippedSteps} came faster than the operator accepts them, ${shedSteps} while no operator was connected.`,
        ]),
    ...(droppedFacts === 0 ? [] : [`Hooks dropped ${droppedFacts} facts because their queues were full.`]),
    ...(droppedSaves === 0
      ? []
      : [`${droppedSaves} checkpoints were saved faster than they could be verified, and are not reported.`]),
  ];
}

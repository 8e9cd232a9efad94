/** What of a job's ranks was not told, in sentences? */
export interface Missing {
  /** Steps that came faster than the operator takes them, and those of which the operator was away. */
  readonly skippedSteps: number;
  readonly shedSteps: number;
  /** By hooks, whose queues were full. */
  readonly droppedFacts: number;
  /** Checkpoints that were told while too many waited to be looked at. */
  readonly untakenSaves: number;
}

export function whatIsMissing({ skippedSteps, shedSteps, droppedFacts, untakenSaves }: Missing): readonly string[] {
  const steps = skippedSteps + shedSteps;
  return [
    ...(steps === 0
      ? []
      : [
          `The series lacks ${steps} steps: ${skippedSteps} came faster than the operator takes them, ${shedSteps} while the operator was away.`,
        ]),
    ...(droppedFacts === 0 ? [] : [`Hooks could not report ${droppedFacts} facts in time.`]),
    ...(untakenSaves === 0
      ? []
      : [`${untakenSaves} checkpoints were told faster than they could be looked at, and are not reported.`]),
  ];
}

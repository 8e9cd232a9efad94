/** Compares two states of a job: which incidents and restarts are new? Metrics count them. */
import { type Attempt, type Incident, nameOfRun, type TrainingJob } from '@coxswain/api-types';

/** Incidents and restarts that the later state has and the earlier one has not. */
export interface NewTroubles {
  /** Kind of each incident. */
  readonly incidents: readonly Incident['kind'][];
  /** Cause of each restart: the reason of the attempt or incarnation that ended, else its outcome. */
  readonly restarts: readonly string[];
}

type Job = Pick<TrainingJob, 'status'>;

/** Outcomes after which the job goes on by itself. A failure goes on if it was answered so. */
const GOES_ON: readonly Attempt['outcome'][] = ['Resized', 'Moved'];

/** Compares two states of one job. Each trouble appears in one pair of successive states. */
export function newTroubles(before: Job, after: Job): NewTroubles {
  const knownIncidents = new Set(before.status?.incidents?.map(({ id }) => id));
  const knownEnds = endsOf(before);
  return {
    incidents: (after.status?.incidents ?? []).filter(({ id }) => !knownIncidents.has(id)).map(({ kind }) => kind),
    restarts: [...endsOf(after)].filter(([run]) => !knownEnds.has(run)).map(([, cause]) => cause),
  };
}

/** Cause of each end that another run follows, by the name of the run that ended. */
function endsOf({ status }: Job): ReadonlyMap<string, string> {
  return new Map(
    (status?.attempts ?? []).flatMap(({ epoch, incarnation, incarnations = [], outcome, reason, answer }) => {
      const inPods = incarnations.map((ended) => [nameOfRun(epoch, ended.incarnation), ended.reason] as const);
      const goesOn = answer === 'Restart' || GOES_ON.includes(outcome);
      return goesOn
        ? [...inPods, [nameOfRun(epoch, incarnation ?? 1), reason ?? outcome ?? 'Unknown'] as const]
        : inPods;
    }),
  );
}

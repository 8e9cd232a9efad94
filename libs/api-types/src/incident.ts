/** Incidents of a job: what went wrong, the evidence, the action and the outcome. */
import { z } from 'zod';
import { CRASH_BLAMES, CRASH_CLASSES, type CrashClass } from './crash-class.ts';
import { RANK_PHASES } from './rank-watermarks.ts';
import { counter, milliseconds, timestamp } from './status-fields.ts';

/** Kinds of incidents, each with its meaning. */
export const INCIDENT_KINDS = {
  Crash: 'A rank, or the launcher of a pod, ended unexpectedly.',
  NodeLost: 'A node or a pod of the gang went away.',
  NodeLeaving: 'A node of the gang is about to go away.',
  Evicted: 'The cluster removed a pod: eviction, preemption, drain.',
  StartFailed:
    'The gang did not come up: pods refused or not started, a Secret missing, a preflight that names a node.',
  CheckpointTrouble:
    'The checkpoint to resume from could not be read, or it was found damaged or incomplete and training resumed from the one before; the message names both. Or a save was broken, so that no checkpoint was made of it.',
  Hang: 'Other ranks wait for a rank that makes no progress.',
  NetworkHang: 'All ranks of a group wait in one operation: the network between them is the cause.',
  Desync: 'Ranks of a group called different operations: the program is the cause.',
  NotTraining:
    'The ranks run and train nothing: no step, no collective, no CPU time and no output for a time, or a rank finished before its peers, or every rank ended with 0 and no work.',
  SlowRank: 'A rank computes longer than its peers, or than before.',
  SlowLink: 'Transfers of a group take longer than those of its peers.',
  SlowJob: 'All steps became slower at once; no rank is to blame.',
  Imbalance: 'The work is divided unevenly among stages, experts or sequences; no rank is slow.',
  CollectionPauses: 'Ranks pause one after the other, as garbage collection makes them.',
  DataStall: 'Ranks wait for data.',
  BadLoss: 'Loss or gradients are not finite, or jump.',
} as const satisfies Record<string, string>;
/** Kind of an incident. */
export type IncidentKind = keyof typeof INCIDENT_KINDS;

/** Actions on an incident, each with its meaning. */
export const INCIDENT_ACTIONS = {
  None: 'No action is needed.',
  Advised: 'The message names what a person should check; the gang keeps running.',
  RestartedInPods: 'The ranks restart in their pods.',
  RestartedInNewPods: 'The gang restarts in new pods.',
  RestartedElsewhere: 'The gang restarts in new pods, away from the nodes that are to blame.',
  Moved: 'The gang saved and stopped, and continues on other nodes.',
  GaveUp: 'The job has ended; the message names what a person must check.',
} as const satisfies Record<string, string>;
/** Action on an incident. */
export type IncidentAction = keyof typeof INCIDENT_ACTIONS;

/** Outcomes of an incident, each with its meaning. */
export const INCIDENT_OUTCOMES = {
  Recovered: 'The job trained again after the action, or finished.',
  Passed: 'It went away by itself.',
  FailedAgain: 'The restarted ranks failed before their first step; the next incident continues this one.',
  RunEnded: 'The run ended for another reason.',
  Stopped: 'A suspend, a cancel or a delete came before the job trained again.',
  GivenUp: 'The job ended with it.',
} as const satisfies Record<string, string>;
/** Outcome of an incident. */
export type IncidentOutcome = keyof typeof INCIDENT_OUTCOMES;

/** Most ranks per incident. */
export const MAX_INCIDENT_RANKS = 16;
/** Most pieces of evidence per incident. */
export const MAX_INCIDENT_EVIDENCE = 16;
/** Most last operations per incident. */
export const MAX_INCIDENT_OPERATIONS = 8;
const MAX_NAME = 64;

/** What a rank reported last of itself. */
export const RankOperation = z
  .object({
    rank: counter.describe('Global rank.'),
    phase: z.enum(RANK_PHASES).describe('What the rank does.'),
    step: counter.optional().describe('Last that was complete. Absent: none.'),
    operation: z.string().max(32).optional().describe('In which it waits. Absent: it waits in no group.'),
    group: z.string().max(MAX_NAME).optional().describe('Group of ranks in which it waits.'),
    sequence: counter.optional().describe('Number of that operation in its group.'),
    forMs: milliseconds.describe('For how long, by the clock of the rank.'),
  })
  .meta({ id: 'RankOperation' });
export type RankOperation = z.infer<typeof RankOperation>;

/** One piece of evidence for an incident. */
export const IncidentEvidence = z
  .object({
    name: z.string().max(MAX_NAME).describe('What was measured or observed.'),
    value: z.string().max(256).describe('Its value, with its unit.'),
  })
  .meta({ id: 'IncidentEvidence' });
export type IncidentEvidence = z.infer<typeof IncidentEvidence>;

const keysOf = <T extends object>(of: T): [keyof T & string, ...(keyof T & string)[]] =>
  Object.keys(of) as [keyof T & string, ...(keyof T & string)[]];

/** One failure of a job is one incident, and so is what was noticed and left alone. Decided in libs/lifecycle, once, in the write that records it. */
export const Incident = z
  .object({
    id: z
      .string()
      .max(96)
      .regex(/^[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*$/)
      .describe('Of this job: the run and what was noticed of it, such as `2.1` or `2.1-slowRank-r3`.'),
    kind: z.enum(keysOf(INCIDENT_KINDS)).describe('What kind of trouble it is.'),
    epoch: counter.describe('Attempt in which it was observed.'),
    incarnation: counter.min(1).describe('Incarnation of the ranks in that attempt.'),
    noticedAt: timestamp.describe('When it was noticed.'),
    since: timestamp
      .optional()
      .describe('When the newest step before it was recorded, or the wait began. Absent: unknown.'),
    message: z.string().max(1024).describe('What was observed.'),
    rank: counter.optional().describe('Rank that is to blame, or that failed first.'),
    ranks: z.array(counter).max(MAX_INCIDENT_RANKS).optional().describe('Ranks, if there are several.'),
    node: z
      .string()
      .max(253)
      .optional()
      .describe('Node on which it was observed; `blame` tells whether the node is to blame.'),
    gpu: counter
      .optional()
      .describe('Index of that rank in its pod, which is the index of its GPU where the pod has all GPUs of its node.'),
    class: z
      .enum(Object.keys(CRASH_CLASSES) as [CrashClass, ...CrashClass[]])
      .optional()
      .describe('Crash class, for a crash.'),
    blame: z.enum(CRASH_BLAMES).optional().describe('What caused it. Absent: not judged.'),
    evidence: z.array(IncidentEvidence).max(MAX_INCIDENT_EVIDENCE).optional().describe('Evidence for the incident.'),
    operations: z
      .array(RankOperation)
      .max(MAX_INCIDENT_OPERATIONS)
      .optional()
      .describe('Last activity of the named ranks and of some ranks that wait for them.'),
    gpus: counter.describe('GPUs of the gang.'),
    step: counter.optional().describe('Last known step of the incarnation. Absent: it completed none.'),
    stepMs: milliseconds.optional().describe('Mean time of its steps, if at least two were reported.'),
    costMsPerStep: milliseconds.optional().describe('Time that it adds to each step, if the detector estimates it.'),
    action: z.enum(keysOf(INCIDENT_ACTIONS)).describe('What Coxswain did.'),
    outcome: z.enum(keysOf(INCIDENT_OUTCOMES)).optional().describe('Absent: the incident is still open.'),
    closedAt: timestamp.optional().describe('When it was over. Absent: it is still open.'),
    redoneSteps: counter.optional().describe('Steps that had to be trained again.'),
    lostMs: counter
      .optional()
      .describe(
        'Wall time in which the job got no further, and of the steps that were trained again. Absent: unknown.',
      ),
  })
  .meta({ id: 'Incident' });
export type Incident = z.infer<typeof Incident>;

/** An incident as the API returns it; the API keeps incidents longer than the status of the job. */
export const JobIncident = Incident.extend({
  jobId: z.string(),
  job: z.string().describe('Its name.'),
  project: z.string().nullable().describe('null: its namespace is of no project.'),
}).meta({ id: 'JobIncident' });
export type JobIncident = z.infer<typeof JobIncident>;

/** A page of incidents. */
export const IncidentList = z
  .object({
    items: z.array(JobIncident),
    nextPageToken: z
      .string()
      .optional()
      .describe('Absent on the last page. A page ends at 1 MiB too, so it can have fewer items than were asked for.'),
  })
  .meta({ id: 'IncidentList' });
export type IncidentList = z.infer<typeof IncidentList>;

/** Incidents kept in status, newest last; the database has older ones. */
export const MAX_INCIDENTS_IN_STATUS = 20;

/** `slow rank`, `restarted in new pods` */
export function incidentWords(word: IncidentKind | IncidentAction | IncidentOutcome): string {
  return word.replace(/(?!^)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}

/** `Hang of rank 3 (GPU 1 of its pod) on node gpu-b` */
export function incidentSubject({
  kind,
  rank,
  ranks = [],
  gpu,
  node,
}: Pick<Incident, 'kind' | 'rank' | 'ranks' | 'gpu' | 'node'>): string {
  const what = incidentWords(kind);
  const which = gpu === undefined ? '' : ` (GPU ${gpu} of its pod)`;
  const one = rank === undefined ? '' : ` of rank ${rank}${which}`;
  const who = ranks.length > 1 ? ` of ranks ${ranks.join(', ')}` : one;
  const where = node === undefined ? '' : ` on node ${node}`;
  return `${what.charAt(0).toUpperCase()}${what.slice(1)}${who}${where}`;
}

/** `Rank 0 waits in all_reduce 7 of group 3 (training, after step 12)` */
export function operationWords({ rank, phase, step, operation, group, sequence }: RankOperation): string {
  const after = step === undefined ? '' : `, after step ${step}`;
  if (operation === undefined) return `Rank ${rank} waits in no group (${phase}${after})`;
  return `Rank ${rank} waits in ${operation} ${sequence ?? ''} of group ${group ?? '?'} (${phase}${after})`;
}

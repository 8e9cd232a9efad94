/** What went wrong with a job, what shows it, what was done about it, and what came of it? */
import { z } from 'zod';
import { CRASH_BLAMES, CRASH_CLASSES, type CrashClass } from './crash-class.ts';
import { RANK_PHASES } from './rank-watermarks.ts';
import { counter, milliseconds, timestamp } from './status-fields.ts';

/** Of which kind is an incident. */
export const INCIDENT_KINDS = {
  Crash: 'A rank, or the launcher of a pod, ended although it was to go on.',
  NodeLost: 'A node or a pod of the gang went away.',
  NodeLeaving: 'A node of the gang was announced to go away.',
  Evicted: 'The cluster took a pod away: eviction, preemption, drain.',
  StartFailed:
    'The gang did not come up: pods refused or not started, a Secret missing, a preflight that names a node.',
  CheckpointTrouble: 'The checkpoint to resume from could not be read.',
  Hang: 'Others wait for a rank that does not go on.',
  NetworkHang: 'All of a group wait in one operation: the network between them.',
  Desync: 'Ranks of a group called different operations: the program.',
  SlowRank: 'A rank computes longer than its peers, or than before.',
  SlowLink: 'Transfers of a group take longer than those of its peers.',
  SlowJob: 'All steps became slower at once; nobody is to blame.',
  Imbalance: 'The work is divided unevenly among stages, experts or sequences; no rank is slow.',
  CollectionPauses: 'Ranks pause one after the other, as garbage collection makes them.',
  DataStall: 'Ranks wait for data.',
  BadLoss: 'Loss or gradients are no number, or jump.',
} as const satisfies Record<string, string>;
export type IncidentKind = keyof typeof INCIDENT_KINDS;

/** What was done about it. */
export const INCIDENT_ACTIONS = {
  None: 'Nothing is to be done.',
  Advised: 'People are told what to look at; the gang was left alone.',
  RestartedInPods: 'The ranks are started again in their pods.',
  RestartedInNewPods: 'The gang is made anew.',
  RestartedElsewhere: 'The gang is made anew, and kept away from the nodes that are to blame.',
  Moved: 'The gang saved and stopped, and goes on on other nodes.',
  GaveUp: 'The job is ended: the message says what a person must look at.',
} as const satisfies Record<string, string>;
export type IncidentAction = keyof typeof INCIDENT_ACTIONS;

/** What came of it. */
export const INCIDENT_OUTCOMES = {
  Recovered: 'The job trained again after what was done, or finished.',
  Passed: 'It went away by itself.',
  FailedAgain: 'The run that answered it failed before its first step: the next incident goes on with it.',
  RunEnded: 'The run ended for another reason.',
  Stopped: 'A suspend, a cancel or a delete came before the job trained again.',
  GivenUp: 'The job ended with it.',
} as const satisfies Record<string, string>;
export type IncidentOutcome = keyof typeof INCIDENT_OUTCOMES;

export const MAX_INCIDENT_RANKS = 16;
export const MAX_INCIDENT_EVIDENCE = 16;
export const MAX_INCIDENT_OPERATIONS = 8;
const MAX_NAME = 64;

/** What a rank was doing last, by its own word. */
export const RankOperation = z
  .object({
    rank: counter,
    phase: z.enum(RANK_PHASES),
    step: counter.optional().describe('Last that was complete. Absent: none.'),
    operation: z.string().max(32).optional().describe('In which it waits. Absent: it waits in no group.'),
    group: z.string().max(MAX_NAME).optional(),
    sequence: counter.optional().describe('Number of that operation in its group.'),
    forMs: milliseconds.describe('For how long, by the clock of the rank.'),
  })
  .meta({ id: 'RankOperation' });
export type RankOperation = z.infer<typeof RankOperation>;

export const IncidentEvidence = z
  .object({ name: z.string().max(MAX_NAME), value: z.string().max(256) })
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
    kind: z.enum(keysOf(INCIDENT_KINDS)),
    epoch: counter,
    incarnation: counter.min(1),
    noticedAt: timestamp,
    since: timestamp
      .optional()
      .describe('When the newest step before it was written down, or the wait began. Absent: nothing tells.'),
    message: z.string().max(1024).describe('What was seen.'),
    rank: counter.optional().describe('That is to blame, or that failed first.'),
    ranks: z.array(counter).max(MAX_INCIDENT_RANKS).optional().describe('Where they are several.'),
    node: z.string().max(253).optional().describe('On which it was seen; whether the node is to blame says `blame`.'),
    gpu: counter
      .optional()
      .describe('Index of that rank in its pod, which is the index of its GPU where the pod has all GPUs of its node.'),
    class: z.enum(Object.keys(CRASH_CLASSES) as [CrashClass, ...CrashClass[]]).optional(),
    blame: z.enum(CRASH_BLAMES).optional(),
    evidence: z.array(IncidentEvidence).max(MAX_INCIDENT_EVIDENCE).optional().describe('What it stands on.'),
    operations: z
      .array(RankOperation)
      .max(MAX_INCIDENT_OPERATIONS)
      .optional()
      .describe('What the ranks that are named, and some that wait for them, did last.'),
    gpus: counter.describe('Of the gang.'),
    step: counter.optional().describe('Last that was known of the run. Absent: it took none.'),
    stepMs: milliseconds.optional().describe('Mean time of its steps, where at least two were heard of.'),
    costMsPerStep: milliseconds
      .optional()
      .describe('By how much it makes each step longer, where the detector says so.'),
    action: z.enum(keysOf(INCIDENT_ACTIONS)),
    outcome: z.enum(keysOf(INCIDENT_OUTCOMES)).optional().describe('Absent: it is not over.'),
    closedAt: timestamp.optional(),
    redoneSteps: counter.optional().describe('Steps that had to be trained again.'),
    lostMs: counter
      .optional()
      .describe(
        'Wall time in which the job got no further, and of the steps that were trained again. Absent: unknown.',
      ),
  })
  .meta({ id: 'Incident' });
export type Incident = z.infer<typeof Incident>;

/** An incident as it is answered: also longer than status keeps it. */
export const JobIncident = Incident.extend({
  jobId: z.string(),
  job: z.string().describe('Its name.'),
  project: z.string().nullable().describe('null: its namespace is of no project.'),
}).meta({ id: 'JobIncident' });
export type JobIncident = z.infer<typeof JobIncident>;

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

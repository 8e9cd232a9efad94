/** What people read of jobs that make room for others. */
import type { Attempt, JobClaim } from '@coxswain/api-types';
import { minuteOf } from '../epoch/expected-start.ts';
import { describeOther } from '../observation/claim-on.ts';
import { standingClaim } from '../observation/claims.ts';
import type { JobRecord } from '../record/job-record.ts';
import type { DerivedJobEvent } from './derived-job-event.ts';

/** `2 running jobs of lower priority make room for this job: they save and stop. It starts by 2026-01-01T12:30Z, or its nodes are chosen again.` */
export function describeClaim({ victims, recordedAt, expiresAfterSeconds }: JobClaim): string {
  const many = victims.length > 1;
  const who = many ? `${victims.length} running jobs of lower priority make` : 'A running job of lower priority makes';
  const does = many ? 'they save and stop' : 'it saves and stops';
  const latestMs = Date.parse(recordedAt) + expiresAfterSeconds * 1000;
  const latest = Number.isNaN(latestMs)
    ? ''
    : ` It starts by ${minuteOf(new Date(latestMs).toISOString())}, or nodes are chosen again.`;
  return `${who} room for this job: ${does}.${latest}`;
}

/** Why the job waits, with the jobs that make room for it. */
export function withClaim(message: string, record: JobRecord): string {
  const claim = standingClaim(record);
  return claim === undefined ? message : `${describeClaim(claim)} ${message}`;
}

/** Events of the claim of a waiting job, and of attempts that made room for another one. */
export function roomEvents({ claim, attempts }: JobRecord): readonly DerivedJobEvent[] {
  return [...attempts.flatMap(makesRoom), ...(claim === undefined ? [] : claimEvents(claim))];
}

function makesRoom({ epoch, stoppingAt, forClaim }: Attempt): readonly DerivedJobEvent[] {
  if (forClaim === undefined || stoppingAt === undefined) return [];
  const { priority, deadline } = forClaim;
  const message = `Attempt ${epoch} makes room for ${describeOther(forClaim)} of priority ${priority}. It saves and stops until ${minuteOf(deadline)}.`;
  return [{ key: `e${epoch}/MakesRoom`, type: 'MakesRoom', severity: 'info', epoch, message, at: stoppingAt }];
}

function claimEvents(claim: JobClaim): readonly DerivedJobEvent[] {
  const { epoch, recordedAt, askedAt, end } = claim;
  if (askedAt === undefined) return [];
  const about = { severity: 'info', epoch } as const;
  const key = `claim/${recordedAt}`;
  const asked = { ...about, key, type: 'RoomAsked', at: askedAt, message: describeClaim(claim) } as const;
  if (end === undefined) return [asked];
  const message = `The job did not start on the nodes that others left for it. ${end.message}`;
  return [asked, { ...about, key: `${key}/end`, type: 'RoomNotMade', at: end.at, message }];
}

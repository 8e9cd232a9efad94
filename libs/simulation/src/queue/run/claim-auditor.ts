import type { QueueClaim } from '../load/preemption.ts';
import type { QueueJob, StartedJob } from '../load/queue-job.ts';

/** Kinds of broken invariants of jobs that make room. */
export const CLAIM_VIOLATIONS = [
  'stoppedWithoutClaim',
  'claimedNodeToThird',
  'claimNeverEnded',
  'madeRoomInCircle',
  'lostTooMuch',
] as const;
type ClaimViolation = (typeof CLAIM_VIOLATIONS)[number];

/**
 * Watches by itself how jobs make room: each stop was recorded before with its job, no third job gets the nodes meanwhile, each record ends by its
 * time, no two jobs make room for each other, and none loses more training than one interval between saves.
 */
export class ClaimAuditor {
  readonly #add: (kind: ClaimViolation, sentence: string) => void;
  /** By the job that waits. */
  readonly #standing = new Map<string, QueueClaim>();
  readonly #madeRoom = new Map<string, Set<string>>();

  constructor(add: (kind: ClaimViolation, sentence: string) => void) {
    this.#add = add;
  }

  claimed(claim: QueueClaim): void {
    this.#standing.set(claim.jobUid, claim);
  }

  claimEnded(jobUid: string, nowMs: number): void {
    const claim = this.#standing.get(jobUid);
    if (claim !== undefined) this.#checkTime(claim, nowMs);
    this.#standing.delete(jobUid);
  }

  /** The job was asked to stop. */
  stopped(job: QueueJob, forUid: string): void {
    const claim = this.#standing.get(forUid);
    if (claim?.victims.includes(job.uid) !== true)
      this.#add('stoppedWithoutClaim', `${job.uid} stops for ${forUid}, and no record names it`);
    if (this.#madeRoom.get(forUid)?.has(job.uid) === true)
      this.#add('madeRoomInCircle', `${job.uid} makes room for ${forUid}, which made room for it`);
    this.#madeRoom.set(job.uid, new Set(this.#madeRoom.get(job.uid)).add(forUid));
  }

  /** It left after that loss of training. */
  left({ uid }: QueueJob, lostMs: number, saveEveryMs: number): void {
    if (lostMs > saveEveryMs) this.#add('lostTooMuch', `${uid} lost ${lostMs} ms, more than between two saves`);
  }

  started({ job, nodes }: StartedJob, nowMs: number): void {
    for (const claim of this.#standing.values()) {
      const shared = claim.jobUid === job.uid ? undefined : claim.nodes.find((node) => nodes.includes(node));
      if (shared !== undefined)
        this.#add('claimedNodeToThird', `${job.uid} starts on node ${shared}, which jobs leave for ${claim.jobUid}`);
    }
    this.claimEnded(job.uid, nowMs);
  }

  /** After the run. */
  finish(): void {
    for (const { jobUid } of this.#standing.values())
      this.#add('claimNeverEnded', `jobs made room for ${jobUid} until the end of the run`);
  }

  #checkTime({ jobUid, expiresMs }: QueueClaim, nowMs: number): void {
    if (nowMs > expiresMs)
      this.#add('claimNeverEnded', `jobs made room for ${jobUid} until ${nowMs} ms, longer than until ${expiresMs} ms`);
  }
}

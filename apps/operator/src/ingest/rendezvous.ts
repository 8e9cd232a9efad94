import type { OperatorMessage } from '@coxswain/api-types';

/** One attempt of one job. */
export interface Gang {
  readonly jobUid: string;
  readonly epoch: number;
}

type OrderKind =
  | 'rendezvous'
  | 'assignment'
  | 'verifyWanted'
  | 'endRanks'
  | 'saveWanted'
  | 'preflightBoard'
  | 'preflightDone'
  | 'stacksWanted';
type BoardMessage = Extract<OperatorMessage, { kind: 'preflightBoard' }>;

/** The connected launcher of a pod. */
export interface RendezvousMember {
  readonly podIndex: number;
  readonly podUid: string;
  send(message: Extract<OperatorMessage, { kind: OrderKind }>): void;
  /** Ends the connection because the attempt is over. */
  refuse(why: string): void;
  /** Ends the connection because a newer one of the same pod exists, so that each pod has at most one. */
  replace(): void;
}

interface Meeting {
  /** Address of rank 0 of the newest incarnation that announced one. */
  place: { readonly incarnation: number; readonly address: string } | undefined;
  /** Where the pods meet for preflight. */
  board: BoardMessage | undefined;
  readonly members: Set<RendezvousMember>;
}

/**
 * Sends the address of rank 0 to the launchers of its epoch, with its incarnation; launchers of another incarnation ignore it. Every message of rank 0's
 * pod repeats the address, so a new leader learns it from the next heartbeat and no state needs to survive.
 */
export class Rendezvous {
  readonly #gangs = new Map<string, Meeting>();

  /** Adds a connected pod and sends it the known addresses. Returns a function that removes it. */
  join(gang: Gang, member: RendezvousMember): () => void {
    for (const earlier of [...(this.#gangs.get(keyOf(gang))?.members ?? [])]) {
      if (earlier.podIndex === member.podIndex) earlier.replace();
    }
    const entry = this.#entry(gang);
    entry.members.add(member);
    if (entry.board !== undefined) member.send(entry.board);
    if (entry.place !== undefined) member.send(toMessage(entry.place));
    return () => {
      entry.members.delete(member);
      // The address is dropped with the last member: members that reconnect send or await it again.
      if (entry.members.size === 0) this.#gangs.delete(keyOf(gang));
    };
  }

  /** Records the address of rank 0 and sends it to all members if it is new. Addresses of earlier incarnations are ignored. */
  announce(gang: Gang & { readonly incarnation: number }, address: string): void {
    const entry = this.#entry(gang);
    const { place } = entry;
    const { incarnation } = gang;
    if (place !== undefined && place.incarnation > incarnation) return;
    if (place?.incarnation === incarnation && place.address === address) return;
    entry.place = { incarnation, address };
    for (const member of entry.members) member.send(toMessage(entry.place));
  }

  /** Records where the pods of the gang meet for preflight and sends it to all members. */
  announceBoard(gang: Gang, { address, key }: Pick<BoardMessage, 'address' | 'key'>): void {
    const entry = this.#entry(gang);
    entry.board = { kind: 'preflightBoard', epoch: gang.epoch, address, key };
    for (const member of entry.members) member.send(entry.board);
  }

  /** Sends a message to the launcher of that pod, if it is connected. */
  send(pod: Gang & { readonly podUid: string }, message: Parameters<RendezvousMember['send']>[0]): void {
    for (const member of this.#gangs.get(keyOf(pod))?.members ?? []) {
      if (member.podUid === pod.podUid) member.send(message);
    }
  }

  /** The connected launchers of the gang, one for each pod. */
  membersOf(gang: Gang): readonly RendezvousMember[] {
    return [...(this.#gangs.get(keyOf(gang))?.members ?? [])];
  }

  /** Disconnects all launchers of an attempt that is over, with the reason. */
  refuse(gang: Gang, why: string): void {
    // A copy, because refused members remove themselves.
    for (const member of [...(this.#gangs.get(keyOf(gang))?.members ?? [])]) member.refuse(why);
  }

  /** Gangs with a connected member; for tests of memory. */
  get size(): number {
    return this.#gangs.size;
  }

  #entry(gang: Gang): Meeting {
    const key = keyOf(gang);
    const known = this.#gangs.get(key);
    if (known !== undefined) return known;
    const entry: Meeting = { place: undefined, board: undefined, members: new Set() };
    this.#gangs.set(key, entry);
    return entry;
  }
}

/** Launchers of the previous release have no incarnations and run only the first. */
function toMessage({
  incarnation,
  address,
}: NonNullable<Meeting['place']>): Extract<OperatorMessage, { kind: 'rendezvous' }> {
  return { kind: 'rendezvous', address, ...(incarnation === 1 ? {} : { incarnation }) };
}

function keyOf({ jobUid, epoch }: Gang): string {
  return `${jobUid}/${epoch}`;
}

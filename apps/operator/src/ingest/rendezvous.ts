import type { OperatorMessage } from '@coxswain/api-types';

/** One attempt of one job. */
export interface Gang {
  readonly jobUid: string;
  readonly epoch: number;
}

type OrderKind =
  'rendezvous' | 'assignment' | 'endRanks' | 'saveWanted' | 'preflightBoard' | 'preflightDone' | 'stacksWanted';
type BoardMessage = Extract<OperatorMessage, { kind: 'preflightBoard' }>;

/** A pod's launcher that is connected. */
export interface RendezvousMember {
  readonly podIndex: number;
  readonly podUid: string;
  send(message: Extract<OperatorMessage, { kind: OrderKind }>): void;
  /** The epoch is over: says why and parts. */
  refuse(why: string): void;
  /** A newer connection of the same pod took its place: parts, so that no pod holds more than one. */
  replace(): void;
}

interface Meeting {
  /** Where rank 0 of the newest incarnation that has one listens. */
  place: { readonly incarnation: number; readonly address: string } | undefined;
  /** Where its pods meet before their ranks do. */
  board: BoardMessage | undefined;
  readonly members: Set<RendezvousMember>;
}

/**
 * Hands the address of rank 0 to the launchers of its epoch, with the incarnation that meets there; whoever runs another one ignores it. Every
 * message of rank 0's pod repeats the address, so a new leader learns it again from the next heartbeat; nothing here needs to survive.
 */
export class Rendezvous {
  readonly #gangs = new Map<string, Meeting>();

  /** A pod of the gang connected: it is told the address at once when it is known. Returns how to leave. */
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
      // The address goes with the last member: each of them that comes back brings or awaits it anew.
      if (entry.members.size === 0) this.#gangs.delete(keyOf(gang));
    };
  }

  /** Rank 0's launcher named its address; everybody is told when it is a new one. That of an earlier incarnation is of no use any more. */
  announce(gang: Gang & { readonly incarnation: number }, address: string): void {
    const entry = this.#entry(gang);
    const { place } = entry;
    const { incarnation } = gang;
    if (place !== undefined && place.incarnation > incarnation) return;
    if (place?.incarnation === incarnation && place.address === address) return;
    entry.place = { incarnation, address };
    for (const member of entry.members) member.send(toMessage(entry.place));
  }

  /** Rank 0's pod named where the pods of the gang meet before their ranks do; everybody is told. */
  announceBoard(gang: Gang, { address, key }: Pick<BoardMessage, 'address' | 'key'>): void {
    const entry = this.#entry(gang);
    entry.board = { kind: 'preflightBoard', epoch: gang.epoch, address, key };
    for (const member of entry.members) member.send(entry.board);
  }

  /** Tells the launcher of that pod; nobody where it is not connected. */
  send(pod: Gang & { readonly podUid: string }, message: Parameters<RendezvousMember['send']>[0]): void {
    for (const member of this.#gangs.get(keyOf(pod))?.members ?? []) {
      if (member.podUid === pod.podUid) member.send(message);
    }
  }

  /** Launchers of the gang that are connected now, one of each pod. */
  membersOf(gang: Gang): readonly RendezvousMember[] {
    return [...(this.#gangs.get(keyOf(gang))?.members ?? [])];
  }

  /** The gang's epoch is over: everybody of it is told so and sent away. */
  refuse(gang: Gang, why: string): void {
    // A copy: whoever is refused leaves.
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

/** Launchers of the release before know no incarnations, and run none but the first. */
function toMessage({
  incarnation,
  address,
}: NonNullable<Meeting['place']>): Extract<OperatorMessage, { kind: 'rendezvous' }> {
  return { kind: 'rendezvous', address, ...(incarnation === 1 ? {} : { incarnation }) };
}

function keyOf({ jobUid, epoch }: Gang): string {
  return `${jobUid}/${epoch}`;
}

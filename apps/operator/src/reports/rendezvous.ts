/** One attempt of one job. */
export interface Gang {
  readonly jobUid: string;
  readonly epoch: number;
}

/** Someone who waits for rank 0's address. */
export interface RendezvousMember {
  readonly podIndex: number;
  send(address: string): void;
  /** The epoch is over: says why and parts. */
  refuse(why: string): void;
  /** A newer connection of the same pod took its place: parts, so that no pod holds more than one. */
  replace(): void;
}

/**
 * Hands the address of rank 0 to the others of its epoch. Every message of rank 0's pod repeats the address, so a new leader
 * learns it again from the next heartbeat; nothing here needs to survive.
 */
export class Rendezvous {
  readonly #gangs = new Map<string, { address: string | undefined; readonly members: Set<RendezvousMember> }>();

  /** A pod of the gang connected: it is told the address at once when it is known. Returns how to leave. */
  join(gang: Gang, member: RendezvousMember): () => void {
    for (const earlier of [...(this.#gangs.get(keyOf(gang))?.members ?? [])]) {
      if (earlier.podIndex === member.podIndex) earlier.replace();
    }
    const entry = this.#entry(gang);
    entry.members.add(member);
    if (entry.address !== undefined && member.podIndex !== 0) member.send(entry.address);
    return () => {
      entry.members.delete(member);
      // The address goes with the last member: each of them that comes back brings or awaits it anew.
      if (entry.members.size === 0) this.#gangs.delete(keyOf(gang));
    };
  }

  /** Rank 0's pod named its address; the others are told when it is a new one. */
  announce(gang: Gang, address: string): void {
    const entry = this.#entry(gang);
    if (entry.address === address) return;
    entry.address = address;
    for (const member of entry.members) if (member.podIndex !== 0) member.send(address);
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

  #entry(gang: Gang): { address: string | undefined; readonly members: Set<RendezvousMember> } {
    const key = keyOf(gang);
    const known = this.#gangs.get(key);
    if (known !== undefined) return known;
    const entry = { address: undefined, members: new Set<RendezvousMember>() };
    this.#gangs.set(key, entry);
    return entry;
  }
}

function keyOf({ jobUid, epoch }: Gang): string {
  return `${jobUid}/${epoch}`;
}

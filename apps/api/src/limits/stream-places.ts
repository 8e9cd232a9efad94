import { HeldPlaces } from './held-places.ts';
import { type NoRoom, SharedRoom } from './shared-room.ts';

/** Streams go when somebody stops watching. */
const RETRY_SECONDS = 10;

/** Bounds of what is open at a time; 0: no bound. */
export interface StreamBounds {
  /** Streams and logs of one principal. */
  readonly ofPrincipal: number;
  /** Event streams of one project, and of all together. */
  readonly streams: number;
  readonly streamsInAll: number;
  /** The same of logs. */
  readonly logs: number;
  readonly logsInAll: number;
}

/** The error of a stream that may not be opened. */
type RefuseStream = (limit: 'streams' | 'logStreams', message: string, retryAfterSeconds: number) => Error;

/**
 * Answers that go on for as long as somebody reads: event streams and logs. Where all of a kind are open, the project with the most loses the one that it opened
 * first. The reader of an event stream reconnects and goes on where it was.
 */
export class StreamPlaces {
  readonly #bounds: StreamBounds;
  readonly #refuse: RefuseStream;
  readonly #ofPrincipals = new HeldPlaces();
  readonly #streams: SharedRoom;
  readonly #logs: SharedRoom;

  constructor(bounds: StreamBounds, refuse: RefuseStream) {
    this.#bounds = bounds;
    this.#refuse = refuse;
    this.#streams = new SharedRoom({ most: bounds.streamsInAll, mostOfOwner: bounds.streams });
    this.#logs = new SharedRoom({ most: bounds.logsInAll, mostOfOwner: bounds.logs });
  }

  /** Event streams and logs of a project. */
  heldBy(projectId: string): { readonly streams: number; readonly logStreams: number } {
    return { streams: this.#streams.held(projectId), logStreams: this.#logs.held(projectId) };
  }

  /** Opens an event stream, and gives what is to be called when it has ended. No project: an administrator watches, whom the sum does not bound. */
  openStream(principalId: string, projectId: string | undefined, cut: () => void): () => void {
    this.#requireOfPrincipal(principalId);
    const given = projectId === undefined ? () => undefined : this.#streams.take(projectId, 1, cut);
    if (typeof given === 'string') throw this.#refuse('streams', this.#messageOfStream(given), RETRY_SECONDS);
    return this.#hold(principalId, given);
  }

  /** Opens a log. Each holds a connection to the cluster. No project: an administrator reads. */
  openLog(principalId: string, projectId: string | undefined, cut: () => void): () => void {
    this.#requireOfPrincipal(principalId);
    const given = this.#logs.take(projectId ?? principalId, 1, cut);
    if (typeof given === 'string') throw this.#refuse('logStreams', this.#messageOfLog(given), RETRY_SECONDS);
    return this.#hold(principalId, given);
  }

  #requireOfPrincipal(principalId: string): void {
    const { ofPrincipal } = this.#bounds;
    if (ofPrincipal === 0 || this.#ofPrincipals.held(principalId) < ofPrincipal) return;
    const message = `you have ${ofPrincipal} streams open, which is the most; close one first`;
    throw this.#refuse('streams', message, RETRY_SECONDS);
  }

  #hold(principalId: string, given: () => void): () => void {
    const leave = this.#ofPrincipals.hold(principalId);
    return () => {
      given();
      leave();
    };
  }

  #messageOfStream(why: NoRoom): string {
    const { streams, streamsInAll } = this.#bounds;
    if (why === 'ofAll')
      return `this replica has ${streamsInAll} streams open, which is the most, and no project has more of them than this one; try again in ${RETRY_SECONDS} s`;
    return `this project has ${streams} streams open in this replica, which is the most; try again when one has been closed`;
  }

  #messageOfLog(why: NoRoom): string {
    const { logs, logsInAll } = this.#bounds;
    if (why === 'ofAll')
      return `this replica has ${logsInAll} logs open, which is the most, and no project has more of them than this one; close one, or try again in ${RETRY_SECONDS} s`;
    return `this project has ${logs} logs open in this replica, which is the most; close one first`;
  }
}

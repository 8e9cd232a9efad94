import { invalidRequest } from '../http/validation.ts';

/** How far a stream of a job has got: what a reader shows as Last-Event-ID to go on from there. */
export interface StreamPlace {
  /** Id of the last event; 0 before any. */
  readonly event: number;
  /** Number of the last change of a step; undefined if no earlier steps are sent. */
  readonly change: number | undefined;
}

/** A place as it is shown. */
export const PLACE = /^([0-9]{1,15})(?:-([0-9]{1,15}))?$/;

/** As an SSE id: `EVENT` or `EVENT-CHANGE`. */
export function placeText({ event, change }: StreamPlace): string {
  return change === undefined ? String(event) : `${event}-${change}`;
}

/** What a reader showed; undefined when it showed nothing. */
export function placeOf(header: unknown): StreamPlace | undefined {
  if (typeof header !== 'string' || header === '') return undefined;
  const parts = PLACE.exec(header);
  if (parts === null) {
    throw invalidRequest([{ message: 'Last-Event-ID must be the id of an event of this stream', path: [] }]);
  }
  return { event: Number(parts[1]), change: parts[2] === undefined ? undefined : Number(parts[2]) };
}

/** Names of the files of a kept log. Their list is the index: no other file says what is kept. */

/** Piece of the log of one writer: a rank, or all ranks of a pod that one program starts. */
export interface Segment {
  readonly epoch: number;
  readonly firstRank: number;
  readonly lastRank: number;
  readonly incarnation: number;
  readonly number: number;
  /** When its first line was written. */
  readonly startMs: number;
}

/** Where a writer's segments are: attempt and ranks. */
export type SegmentFolder = Pick<Segment, 'epoch' | 'firstRank' | 'lastRank'>;

const SEGMENT = /^attempt-(\d{1,10})\/rank-(\d{1,6})(?:-(\d{1,6}))?\/(\d{4,10})-(\d{6,12})-(\d{13})\.log$/;

/** Folder of an attempt, below the folder of the job's logs. */
export function attemptFolder(epoch: number): string {
  return `attempt-${epoch}`;
}

/** The attempt whose folder has this name; undefined: the folder is not of an attempt. */
export function parseAttemptFolder(name: string): number | undefined {
  const [, epoch] = /^attempt-(0|[1-9]\d{0,9})$/.exec(name) ?? [];
  return epoch === undefined ? undefined : Number(epoch);
}

/** Folder of a writer's segments, below the folder of the job's logs. */
export function segmentFolder({ epoch, firstRank, lastRank }: SegmentFolder): string {
  return `${attemptFolder(epoch)}/rank-${firstRank}${lastRank === firstRank ? '' : `-${lastRank}`}`;
}

/** Path of a segment below the folder of the job's logs. By name, segments of a writer are in the order in which they were written. */
export function segmentPath(segment: Segment): string {
  const { incarnation, number, startMs } = segment;
  const name = `${String(incarnation).padStart(4, '0')}-${String(number).padStart(6, '0')}-${String(startMs).padStart(13, '0')}.log`;
  return `${segmentFolder(segment)}/${name}`;
}

/** The segment that the path names; undefined: the file is none. */
export function parseSegmentPath(path: string): Segment | undefined {
  const match = SEGMENT.exec(path);
  if (match === null) return undefined;
  const [epoch = 0, firstRank = 0, lastRank = NaN, incarnation = 0, number = 0, startMs = 0] = match
    .slice(1)
    .map((text: string | undefined) => Number(text ?? NaN));
  return { epoch, firstRank, lastRank: Number.isNaN(lastRank) ? firstRank : lastRank, incarnation, number, startMs };
}

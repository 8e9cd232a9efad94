/** Tells somebody who waits what goes on. */
export type Progress = (what: string) => void;

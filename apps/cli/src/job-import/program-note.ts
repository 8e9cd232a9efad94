/** Something that a launcher or a script did and a job does not, or does otherwise. */
export interface ProgramNote {
  readonly from: string;
  readonly why: string;
  readonly todo?: string;
}

/**
 * What the names of everything that belongs to a job begin with: `<job, at most 40>-<8 of the UID>`. Labels, not names, say whose an
 * object is; the UID keeps two jobs of the same name apart. Dots of a job's name become dashes, because a pod's name is its host name.
 */
export function jobPrefix(job: { readonly name: string; readonly uid: string }): string {
  return `${job.name.slice(0, 40).replaceAll('.', '-')}-${job.uid.slice(0, 8)}`;
}

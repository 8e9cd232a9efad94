/**
 * The prefix of the names of all objects that belong to a job: `<job, at most 40>-<8 of the UID>`. Labels, not names, identify the
 * owner of an object; the UID distinguishes two jobs of the same name. Dots of a job's name become dashes, because a pod's name is its host name.
 */
export function jobPrefix(job: { readonly name: string; readonly uid: string }): string {
  return `${job.name.slice(0, 40).replaceAll('.', '-')}-${job.uid.slice(0, 8)}`;
}

/** Profiles of clusters in files: `coxswain calibrate` writes them, `plan`, `predict` and `why-not` read them. */
import { brokenSchemaRule } from '@coxswain/layout';
import { ClusterProfile } from '@coxswain/planner';
import { CliError } from '../cli-error.ts';
import { readDocument } from '../files/read-document.ts';

/** Reads a profile from a YAML or JSON file. Throws a {@link CliError} that lists what is wrong with each field. */
export function readProfile(path: string): ClusterProfile {
  const parsed = ClusterProfile.safeParse(readDocument(path), { reportInput: true });
  if (parsed.success) return parsed.data;
  const reasons = parsed.error.issues.map(
    (issue) => `  ${issue.path.join('.') || 'profile'}: ${brokenSchemaRule(issue)}`,
  );
  throw new CliError(`${path} is not a profile that coxswain calibrate wrote:\n${reasons.join('\n')}`);
}

/** Where the job of a draft keeps checkpoints, and how the form changes that. */
import type { Location } from './form-inputs.ts';
import { valueIn, withField } from './job-draft.ts';

const CHECKPOINT = 'spec.checkpoint';

export function locationOf(request: unknown): Location {
  if (valueIn(request, `${CHECKPOINT}.bucket`) !== undefined) return 'bucket';
  return valueIn(request, CHECKPOINT) === undefined ? 'none' : 'claim';
}

/** The text with the other location, whose name is still empty. How often the job saves stays. */
export function withLocation(text: string, location: Location): string {
  if (location === 'none') return withField(text, CHECKPOINT, undefined);
  if (location === 'claim')
    return withField(withField(text, `${CHECKPOINT}.claimName`, ''), `${CHECKPOINT}.bucket`, undefined);
  return withField(withField(text, `${CHECKPOINT}.bucket.uri`, ''), `${CHECKPOINT}.claimName`, undefined);
}

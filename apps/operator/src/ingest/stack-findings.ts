/** What do the stack traces of a gang show about an incident? */
import type { Outliers } from '@coxswain/health';

/** Evidence by name, and the ranks whose stacks differ from that of most. */
export interface StackFindings {
  readonly evidence: Readonly<Record<string, string>>;
  readonly odd: Outliers | undefined;
}

/** No launcher sent stack traces. */
export const NO_STACKS: StackFindings = { evidence: {}, odd: undefined };

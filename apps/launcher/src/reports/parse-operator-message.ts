/** The message in a frame of the operator. */
import { OperatorMessage } from '@coxswain/api-types';

/** Ignores a frame that does not fit the protocol: a newer operator may send messages that this launcher does not know. */
export function parseOperatorMessage(frame: string): OperatorMessage | undefined {
  try {
    const parsed = OperatorMessage.safeParse(JSON.parse(frame));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

import { DomainError, type DomainErrorCode } from '@coxswain/domain-error';

/** The code of the DomainError that `act` throws; undefined when it throws none. */
export function codeOf(act: () => unknown): DomainErrorCode | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
}

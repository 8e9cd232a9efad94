/** What keeps a store from an answer. */
export type StoreErrorKind =
  | 'InvalidLocation'
  | 'NotFound'
  | 'NoCredentials'
  | 'AccessDenied'
  | 'Unreachable'
  | 'Changed'
  | 'TooManyFiles'
  | 'Other';

/** An error of a store that a user can fix. The message has what happened, to what, and what to do next. */
export class StoreError extends Error {
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreError';
    this.kind = kind;
  }
}

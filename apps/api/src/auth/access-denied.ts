import { DomainError, type DomainErrorCode } from '@coxswain/domain-error';

/** A project that somebody asked about. */
export interface AskedProject {
  readonly name: string;
  readonly id?: string;
}

/** The caller lacks the right to what it asked for. Answered like every DomainError, and recorded in the audit. */
export class AccessDenied extends DomainError {
  /** The right that was missing. */
  readonly action: string;
  /** The project that was asked about, by the name that was given; its id where the caller belongs to it. */
  readonly project: AskedProject | undefined;

  constructor(
    code: DomainErrorCode,
    message: string,
    asked: { readonly action: string; readonly project?: AskedProject | undefined },
  ) {
    super(code, message);
    this.action = asked.action;
    this.project = asked.project;
  }
}

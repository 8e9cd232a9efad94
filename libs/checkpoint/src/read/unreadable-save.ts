/** Metadata or a file of a save that is cut, hostile, or written in a way that nothing here reads. The message is a whole sentence without its full stop. */
export class UnreadableSave extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'UnreadableSave';
  }
}

/**
 * Metadata in a form that nothing here reads: a newer protocol, or another class of PyTorch. An engine that is newer than these readers may write it, so it
 * shows no damage.
 */
export class UnknownForm extends UnreadableSave {
  constructor(reason: string) {
    super(reason);
    this.name = 'UnknownForm';
  }
}

/** A file that cannot be read. */
export interface UnreadableFile {
  readonly path: string;
  readonly error: UnreadableSave;
}

/** The error with words before its reason; a form that is not known stays one. */
export function withContext(error: UnreadableSave, context: string): UnreadableSave {
  const message = `${context}${error.message}`;
  return error instanceof UnknownForm ? new UnknownForm(message) : new UnreadableSave(message);
}

/** Metadata or a file of a save that is cut, hostile, or written in a way that nothing here reads. The message is a whole sentence without its full stop. */
export class UnreadableSave extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'UnreadableSave';
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether the text can be an id of ours. What cannot does not exist: it is looked up as null, never sent to the database. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/**
 * Functions with more rights than their caller (SECURITY DEFINER, with a fixed search_path), and the roles that may call them. A test compares this
 * list with the database.
 */
export const DATABASE_FUNCTIONS = {
  /** Make and drop partitions, which only the owner of a table can. */
  ensure_series_month: { caller: 'system' },
  remove_series_month: { caller: 'system' },
  /** Answer before it is known who asks. */
  touch_token: { caller: 'runtime' },
  find_credentials: { caller: 'runtime' },
  touch_session: { caller: 'runtime' },
  find_service_account: { caller: 'runtime' },
  record_service_account: { caller: 'runtime' },
  /** Queues what a request has written, for a sender that the request does not know. */
  queue_audit_entries: { caller: 'trigger' },
  /** Marks what retention removed before it was sent. */
  drop_audit_entries: { caller: 'trigger' },
} as const satisfies Readonly<Record<string, { readonly caller: 'runtime' | 'system' | 'trigger' }>>;
/** Name of a function in the database with the rights of its owner. */
export type DatabaseFunction = keyof typeof DATABASE_FUNCTIONS;

export { tryAdvisoryLock, withAdvisoryLock } from './advisory-lock.ts';
export type { LockAddress } from './advisory-lock.ts';
export { Database, firstOf } from './database.ts';
export type { DatabaseOptions, Sql, SqlResult } from './database.ts';
export { DatabaseError, isUnavailable, isUniqueViolation, toDatabaseError } from './errors.ts';
export { Listener } from './listener.ts';
export type { ListenerOptions, Notification } from './listener.ts';

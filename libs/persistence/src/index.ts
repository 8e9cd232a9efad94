export { tryAdvisoryLock, withAdvisoryLock } from './advisory-lock.ts';
export type { LockAddress } from './advisory-lock.ts';
export { Database, firstOf } from './database.ts';
export type { DatabaseOptions, Sql, SqlResult } from './database.ts';
export { DatabaseError, isUnavailable, isUniqueViolation, isUnstorableText, toDatabaseError } from './errors.ts';
export { Listener } from './listener.ts';
export { storableJson, storableText } from './storable-json.ts';
export type { ListenerOptions, Notification } from './listener.ts';

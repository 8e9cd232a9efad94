export { tryAdvisoryLock } from './advisory-lock.ts';
export { Database, firstOf } from './database.ts';
export type { Sql } from './database.ts';
export { DatabaseError, isUnavailable, isUniqueViolation, isUnstorableText } from './errors.ts';
export { Listener } from './listener.ts';
export { storableJson, storableText } from './storable-json.ts';

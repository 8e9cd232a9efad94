export { type AccessRoles, QUEUE_SCHEMA } from './access/apply-access.ts';
export { type LoginRole, makeRoles, type RolesMade } from './access/make-roles.ts';
export { namesOfRoles, roleFacts, roleProblem } from './access/role-problem.ts';
export { tryAdvisoryLock } from './advisory-lock.ts';
export type { NamedStatement, Sql } from './connection-pool.ts';
export { Database, firstOf } from './database.ts';
export {
  DatabaseError,
  isOverTime,
  isUnavailable,
  isUniqueViolation,
  isUnstorableText,
  PoolBusyError,
} from './errors.ts';
export { Listener } from './listener.ts';
export { migrateDatabase } from './migrate.ts';
export type { Work } from './pool-gate.ts';
export { storableJson, storableText } from './storable-json.ts';
export { NO_PRINCIPAL, type Scope } from './scope.ts';
export { ofJob, type ScopedSql, TenantDatabase } from './tenant-database.ts';

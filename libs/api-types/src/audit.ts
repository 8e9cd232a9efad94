import { z } from 'zod';
import { PRINCIPAL_KINDS } from './who-am-i.ts';

const timestamp = z.string().meta({ format: 'date-time' });

/** One thing that was done, or that was not allowed. Never a secret, and nothing of a body. */
export const AuditEntry = z
  .object({
    id: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
    at: timestamp,
    principalKind: z
      .enum(PRINCIPAL_KINDS)
      .nullable()
      .describe('null: the principal is unknown, or the entry is of an earlier release.'),
    principalId: z.string().nullable().describe('null: the principal is unknown because the token was invalid.'),
    principal: z.string().nullable().describe('The name of the principal, as it was then.'),
    project: z.string().nullable().describe('null: it was about no project.'),
    verb: z
      .string()
      .describe('What was done, such as job.create; of a denial the right that was missing, or authenticate.'),
    object: z
      .string()
      .describe(
        'What it was done to, such as research/tiny-gpt; of a denial what was asked: a path, or a field of GraphQL.',
      ),
    outcome: z.enum(['allowed', 'denied']),
    reason: z.string().nullable().describe('Of a denial: the code that was answered.'),
    requests: z
      .int()
      .min(1)
      .max(Number.MAX_SAFE_INTEGER)
      .describe(
        'How many requests this stands for: denials of one principal or address and verb are counted together.',
      ),
    sourceAddress: z.string().nullable().describe('null: it was no request, or many addresses.'),
    userAgent: z.string().nullable(),
    requestId: z.string().nullable().describe('The X-Request-Id of the answer; of the first where there were many.'),
    detail: z.record(z.string(), z.unknown()).describe('What else is worth knowing, such as the role of a new token.'),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;

/** A page of audit entries. */
export const AuditList = z
  .object({ items: z.array(AuditEntry), nextPageToken: z.string().optional() })
  .meta({ id: 'AuditList' });
export type AuditList = z.infer<typeof AuditList>;

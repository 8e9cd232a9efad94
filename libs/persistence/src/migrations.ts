import { CreateTheFirstTables1795269900000 } from '../../../migrations/20261121140500-create-the-first-tables.ts';
import { RecordPlans1795281300000 } from '../../../migrations/20261121171500-record-plans.ts';
import { CountGenerations1795315500000 } from '../../../migrations/20261122024500-count-generations.ts';
import { RecordResumeFrom1795331400000 } from '../../../migrations/20261122071000-record-resume-from.ts';
import { RecordRotatedTokens1795375800000 } from '../../../migrations/20261122193000-record-rotated-tokens.ts';
import { IndexJobsThatHaveNotEnded1795378200000 } from '../../../migrations/20261122201000-index-jobs-that-have-not-ended.ts';

/** Every migration, oldest first. A list instead of a glob: what runs is what can be read here. */
export const MIGRATIONS = [
  CreateTheFirstTables1795269900000,
  RecordPlans1795281300000,
  CountGenerations1795315500000,
  RecordResumeFrom1795331400000,
  RecordRotatedTokens1795375800000,
  IndexJobsThatHaveNotEnded1795378200000,
] as const;

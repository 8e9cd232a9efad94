import { CreateTheFirstTables1795269900000 } from '../../../migrations/20261121140500-create-the-first-tables.ts';
import { RecordPlans1795281300000 } from '../../../migrations/20261121171500-record-plans.ts';
import { CountGenerations1795315500000 } from '../../../migrations/20261122024500-count-generations.ts';
import { RecordResumeFrom1795331400000 } from '../../../migrations/20261122071000-record-resume-from.ts';
import { RecordRotatedTokens1795375800000 } from '../../../migrations/20261122193000-record-rotated-tokens.ts';
import { IndexJobsThatHaveNotEnded1795378200000 } from '../../../migrations/20261122201000-index-jobs-that-have-not-ended.ts';
import { NamePrincipals1795388400000 } from '../../../migrations/20261122230000-name-principals.ts';
import { CountVersionsOfSpecs1795389000000 } from '../../../migrations/20261122231000-count-versions-of-specs.ts';
import { KnowTheScope1795390200000 } from '../../../migrations/20261122233000-know-the-scope.ts';
import { RecordWhereRequestsCameFrom1795390800000 } from '../../../migrations/20261122234000-record-where-requests-came-from.ts';
import { FindJobs1795391400000 } from '../../../migrations/20261122235000-find-jobs.ts';
import { LetPeopleSignIn1795391700000 } from '../../../migrations/20261122235500-let-people-sign-in.ts';
import { LevelSeries1795391940000 } from '../../../migrations/20261122235900-level-series.ts';
import { AskForCredentialsAlone1795398000000 } from '../../../migrations/20261123014000-ask-for-credentials-alone.ts';
import { LetServiceAccountsIn1795410000000 } from '../../../migrations/20261123050000-let-service-accounts-in.ts';
import { KeepKeysByCluster1795411200000 } from '../../../migrations/20261123052000-keep-keys-by-cluster.ts';
import { IndexTheAuditByVerb1795411800000 } from '../../../migrations/20261123053000-index-the-audit-by-verb.ts';
import { IndexWhatJobsLeaveBehind1795420800000 } from '../../../migrations/20261123080000-index-what-jobs-leave-behind.ts';
import { RecordIncidents1795644000000 } from '../../../migrations/20261125220000-record-incidents.ts';
import { RecordFabrics1795660200000 } from '../../../migrations/20261126023000-record-fabrics.ts';
import { TellEndpoints1795662000000 } from '../../../migrations/20261126030000-tell-endpoints.ts';
import { ServeJobsInTurns1795854600000 } from '../../../migrations/20261128083000-serve-jobs-in-turns.ts';
import { NameTheClusterOfAnEntry1795867800000 } from '../../../migrations/20261128121000-name-the-cluster-of-an-entry.ts';
import { RecordSinceWhenJobsWait1795881000000 } from '../../../migrations/20261128155000-record-since-when-jobs-wait.ts';
import { RecordWhatCheckpointsHold1795884000000 } from '../../../migrations/20261128164000-record-what-checkpoints-hold.ts';
import { KeepTensorGroups1795896300000 } from '../../../migrations/20261128200500-keep-tensor-groups.ts';
import { RecordWhatRetentionDecided1795898700000 } from '../../../migrations/20261128204500-record-what-retention-decided.ts';
import { FindCheckpointsOfACluster1795900200000 } from '../../../migrations/20261128211000-find-checkpoints-of-a-cluster.ts';
import { FindAttemptsByTheirCheckpoint1795910700000 } from '../../../migrations/20261129000500-find-attempts-by-their-checkpoint.ts';
import { LetWebhooksWriteForSlack1795971600000 } from '../../../migrations/20261129170000-let-webhooks-write-for-slack.ts';
import { RecordArchivesOfCode1795982400000 } from '../../../migrations/20261129200000-record-archives-of-code.ts';
import { LetProjectsUsePriorityClasses1795919400000 } from '../../../migrations/20261129023000-let-projects-use-priority-classes.ts';
import { RecordFirstExpectedStarts1795919700000 } from '../../../migrations/20261129023500-record-first-expected-starts.ts';
import { RecordProgressOfCheckpoints1795906800000 } from '../../../migrations/20261128230000-record-progress-of-checkpoints.ts';
import { LevelLearningRates1796004000000 } from '../../../migrations/20261130020000-level-learning-rates.ts';
import { PushTheAudit1796017620000 } from '../../../migrations/20261130054700-push-the-audit.ts';

/** Every migration, oldest first. A list instead of a glob: what runs is what can be read here. */
export const MIGRATIONS = [
  CreateTheFirstTables1795269900000,
  RecordPlans1795281300000,
  CountGenerations1795315500000,
  RecordResumeFrom1795331400000,
  RecordRotatedTokens1795375800000,
  IndexJobsThatHaveNotEnded1795378200000,
  NamePrincipals1795388400000,
  CountVersionsOfSpecs1795389000000,
  KnowTheScope1795390200000,
  RecordWhereRequestsCameFrom1795390800000,
  FindJobs1795391400000,
  LetPeopleSignIn1795391700000,
  LevelSeries1795391940000,
  AskForCredentialsAlone1795398000000,
  LetServiceAccountsIn1795410000000,
  KeepKeysByCluster1795411200000,
  IndexTheAuditByVerb1795411800000,
  IndexWhatJobsLeaveBehind1795420800000,
  RecordIncidents1795644000000,
  RecordFabrics1795660200000,
  TellEndpoints1795662000000,
  ServeJobsInTurns1795854600000,
  NameTheClusterOfAnEntry1795867800000,
  RecordSinceWhenJobsWait1795881000000,
  RecordWhatCheckpointsHold1795884000000,
  KeepTensorGroups1795896300000,
  RecordWhatRetentionDecided1795898700000,
  FindCheckpointsOfACluster1795900200000,
  RecordProgressOfCheckpoints1795906800000,
  FindAttemptsByTheirCheckpoint1795910700000,
  LetProjectsUsePriorityClasses1795919400000,
  RecordFirstExpectedStarts1795919700000,
  LetWebhooksWriteForSlack1795971600000,
  RecordArchivesOfCode1795982400000,
  LevelLearningRates1796004000000,
  PushTheAudit1796017620000,
] as const;

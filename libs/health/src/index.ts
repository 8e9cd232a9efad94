/** Names the cause of failures: why ranks ended, which rank the others wait for, which rank or link is slow, and the evidence for it. */
export { LOG_PATTERNS } from './crash/log-patterns.ts';
export { classifyCrash, type CrashFacts, type CrashJudgement, isOwnException } from './crash/classify-crash.ts';
export { classifyText, Corpus, type CorpusLine, type CorpusScore, scoreCorpus } from './crash/corpus.ts';
export { firstMatch } from './crash/line-pattern.ts';
export type { NodeCondition } from './crash/node-conditions.ts';
export { signsOfFailure } from './crash/suspect-node.ts';
export { fingerprintOf, lastErrorOf } from './crash/traceback.ts';
export { HEALTH_SETTINGS } from './settings.ts';
export { describeFinishedRanks } from './standing/format-standing.ts';
export { GangStanding, type Standing, type StandingReason } from './standing/gang-standing.ts';
export { type GroupedStacks, type StackBounds, StackGathering } from './stacks/gather-stacks.ts';
export { mostAndOdd, stackEvidence } from './stacks/odd-stacks.ts';
export { readHeader, readRecord, unknownRank } from './trace/read-line.ts';
export { MAX_TRACE_LINE_CHARACTERS, type TraceHeader, type TraceRecord } from './trace/records.ts';
export { type Grounds, placeOfRank, refutationOf, type RunProgress, STEPS_OF_RECOVERY } from './verdict/grounds.ts';
export { areMany, type Naming, namingOf } from './verdict/named-together.ts';
export { capitalize, describeRanks, type Verdict, type Verdict as HealthVerdict } from './verdict/verdict.ts';
export { watchHealth } from './watch/watch-health.ts';

import { codeOf } from '../testing/code-of.ts';
import { etagOf, outcomeOfReading, versionsOfIfMatch } from './etag.ts';

describe('If-Match of a change', () => {
  it.each<[string | undefined, readonly number[] | undefined]>([
    [undefined, undefined],
    ['*', undefined],
    [' * ', undefined],
    ['"3"', [3]],
    [' "12" ', [12]],
    [etagOf('{"state":"Queued"}', 7), [7]],
    [etagOf('{"state":"Running"}', 7), [7]],
    [`"3", ${etagOf('', 4)}`, [3, 4]],
    ['W/"3"', []],
    ['W/"3", "4"', [4]],
    ['"three"', []],
    ['""', []],
    ['"1234567890123456"', []],
    [etagOf('no version'), []],
  ])('%j allows the versions %j', (header, want) => {
    expect(versionsOfIfMatch(header)).toEqual(want);
  });

  it.each(['3', '', '"3', '"3" "4"', '"3",', '*, "3"', Array<string>(33).fill('"3"').join(',')])(
    '%j is refused',
    (header) => {
      expect(codeOf(() => versionsOfIfMatch(header))).toBe('INVALID_REQUEST');
    },
  );
});

describe('a request that reads', () => {
  const tag = etagOf('{"state":"Queued"}', 7);
  const later = etagOf('{"state":"Running"}', 7);
  it.each<[string, Parameters<typeof outcomeOfReading>[0], ReturnType<typeof outcomeOfReading>]>([
    ['without conditions is answered', {}, 'send'],
    ['is answered when it has another state of the same spec', { ifNoneMatch: later }, 'send'],
    ['is not answered again', { ifNoneMatch: tag }, 'not modified'],
    [
      'is not answered again when one of its tags is the present one',
      { ifNoneMatch: `${later}, ${tag}` },
      'not modified',
    ],
    ['is not answered again when its tag was made weak on the way', { ifNoneMatch: `W/${tag}` }, 'not modified'],
    ['is not answered when it has anything', { ifNoneMatch: '*' }, 'not modified'],
    ['is answered when its condition makes no sense', { ifNoneMatch: '7' }, 'send'],
    ['is answered when it wants this very answer', { ifMatch: tag }, 'send'],
    ['is refused when it wants another', { ifMatch: later }, 'precondition failed'],
    ['is refused when it wants what is only much alike', { ifMatch: `W/${tag}` }, 'precondition failed'],
    [
      'that wants another is not told that nothing has changed',
      { ifMatch: later, ifNoneMatch: tag },
      'precondition failed',
    ],
  ])('%s', (_sentence, conditions, want) => {
    expect(outcomeOfReading(conditions, tag)).toBe(want);
  });
});

import { type LabelRequirement, LabelSelectorError, parseLabelSelector } from './label-selector.ts';

const isIn = (key: string, ...values: string[]): LabelRequirement => ({ operator: 'in', key, values });
const isNotIn = (key: string, ...values: string[]): LabelRequirement => ({ operator: 'notIn', key, values });

describe('a label selector', () => {
  // As k8s.io/apimachinery/pkg/labels reads them (selector_test.go).
  it.each<[string, readonly LabelRequirement[]]>([
    ['', []],
    ['  ', []],
    ['x=a', [isIn('x', 'a')]],
    ['x==a', [isIn('x', 'a')]],
    [' x = a ', [isIn('x', 'a')]],
    ['x=', [isIn('x', '')]],
    ['x=,z=c', [isIn('x', ''), isIn('z', 'c')]],
    ['x!=a', [isNotIn('x', 'a')]],
    ['x', [{ operator: 'exists', key: 'x' }]],
    ['!x', [{ operator: 'doesNotExist', key: 'x' }]],
    [
      '! x , y',
      [
        { operator: 'doesNotExist', key: 'x' },
        { operator: 'exists', key: 'y' },
      ],
    ],
    ['x in (a)', [isIn('x', 'a')]],
    ['x in(a, b,a)', [isIn('x', 'a', 'b')]],
    ['x notin (a,b)', [isNotIn('x', 'a', 'b')]],
    ['x in (,a)', [isIn('x', '', 'a')]],
    ['x in (a,,b)', [isIn('x', 'a', '', 'b')]],
    ['in=a', [isIn('in', 'a')]],
    ['x=in', [isIn('x', 'in')]],
    [
      'example.com/team=x,app.kubernetes.io/name in (y)',
      [isIn('example.com/team', 'x'), isIn('app.kubernetes.io/name', 'y')],
    ],
  ])('%j is read', (text, want) => {
    expect(parseLabelSelector(text)).toEqual(want);
  });

  it.each<[string, RegExp]>([
    ['=a', /expected a label key at its beginning/],
    ['x=a,', /expected a label key after "x = a ,"/],
    [',x', /expected a label key/],
    ['x=a b', /expected "," or the end after "x = a"/],
    ['x y', /expected "," or the end/],
    ['x in a', /expected "\("/],
    ['x in ()', /a set is not empty/],
    ['x in (a', /expected "," or "\)"/],
    ['x in (a))', /expected "," or the end/],
    ['!x=a', /expected "," or the end/],
    ['!!x', /expected a label key/],
    ['x>1', /name of a label key/],
    ['-x=a', /name of a label key/],
    ['/x=a', /prefix of a label key/],
    ['EXAMPLE.com/x=a', /prefix of a label key/],
    ['x=-a', /a label value/],
    [`x=${'a'.repeat(64)}`, /a label value/],
    ["x='; DROP TABLE jobs", /a label value/],
    [`x=${'a'.repeat(1_100)}`, /at most 1024/],
    [Array.from({ length: 17 }, (_, index) => `x${index}`).join(','), /more than 16 requirements/],
    [`x in (${Array.from({ length: 65 }, (_, index) => `a${index}`).join(',')})`, /more than 64 values/],
  ])('%j is refused', (text, want) => {
    expect(() => parseLabelSelector(text)).toThrow(LabelSelectorError);
    expect(() => parseLabelSelector(text)).toThrow(want);
  });
});

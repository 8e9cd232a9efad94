import { expand } from './engine-run.ts';

describe('a text that an adapter rendered', () => {
  it.each<[string, string, string]>([
    ['holds the variable in place of its name', '--save=$(DIR)/x', '--save=/a/x'],
    ['keeps a name that is no variable', '$(NOBODY)', '$(NOBODY)'],
    ['holds one dollar sign in place of two', 'echo $$RANK $$(DIR)', 'echo $RANK $(DIR)'],
    ['keeps a dollar sign before anything else', '$5 $', '$5 $'],
    ['is not read twice', '$(NESTED)', '$(DIR)'],
  ])('%s', (_sentence, text, want) => {
    expect(expand(text, { DIR: '/a', NESTED: '$(DIR)' })).toBe(want);
  });
});

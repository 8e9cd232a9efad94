import { type Drag, type Meaning, meaningOf, type PointerStep } from './pointing.ts';

const VIEW = { x: 10, y: 20, scale: 2 };

/** Each step as `down 0 at 5,5`; what the last one does. */
function after(...steps: readonly string[]): Meaning['does'] {
  let drag: Drag | undefined;
  let does: Meaning['does'] = 'nothing';
  for (const text of steps) {
    const [type = '', button = '', x = '', y = '', other] = text.split(/ at |[ ,]/);
    const step: PointerStep = {
      type: `pointer${type}`,
      button: Number(button),
      isPrimary: other === undefined,
      at: { x: Number(x), y: Number(y) },
    };
    ({ drag, does } = meaningOf(step, drag, VIEW));
  }
  return does;
}

describe('the pointer on the map', () => {
  it.each<[string, readonly string[], Meaning['does']]>([
    ['points while no button is down', ['move -1 at 5,5'], 'point'],
    ['leaves', ['move -1 at 5,5', 'leave -1 at 5,5'], 'leave'],
    ['moves the drawing with the first button', ['down 0 at 5,5', 'move -1 at 25,5'], { moveTo: { ...VIEW, x: 0 } }],
    ['chooses where it hardly moved', ['down 0 at 5,5', 'move -1 at 6,6', 'up 0 at 6,6'], 'choose'],
    ['chooses nothing after a drag', ['down 0 at 5,5', 'move -1 at 25,5', 'up 0 at 25,5'], 'nothing'],
    ['points again after a drag', ['down 0 at 5,5', 'up 0 at 25,5', 'move -1 at 30,5'], 'point'],
    ['moves nothing with the middle button', ['down 1 at 5,5', 'move -1 at 25,5'], 'point'],
    ['chooses nothing with the right button', ['down 2 at 5,5', 'up 2 at 5,5'], 'nothing'],
    [
      'goes on dragging when another button comes up',
      ['down 0 at 5,5', 'up 2 at 5,5', 'move -1 at 25,5'],
      { moveTo: { ...VIEW, x: 0 } },
    ],
    ['moves nothing with a second finger', ['down 0 at 5,5 other', 'move -1 at 25,5'], 'point'],
    ['ends a drag that the browser took over', ['down 0 at 5,5', 'cancel 0 at 5,5'], 'leave'],
    ['moves nothing after that', ['down 0 at 5,5', 'cancel 0 at 5,5', 'move -1 at 25,5'], 'point'],
    ['keeps what it shows where a drag leaves the map', ['down 0 at 5,5', 'leave -1 at 25,5'], 'nothing'],
  ])('%s', (_sentence, steps, want) => {
    expect(after(...steps)).toEqual(want);
  });
});

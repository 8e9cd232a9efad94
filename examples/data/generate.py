"""Writes logbook.txt: the invented log of a rowing crew, made of phrases by a seeded generator.

`python3 generate.py` writes the file beside this script, the same bytes every time. It exists so that the repository
ships a text to train on that nobody else wrote.
"""

from __future__ import annotations

import random
from pathlib import Path

TARGET_BYTES = 180_000
SEED = 1887

CREW = ['Ada', 'Bram', 'Corin', 'Dilys', 'Edda', 'Finn', 'Greta', 'Hollis', 'Ines', 'Jonas', 'Kirsa', 'Lowell']
SEATS = ['bow', 'two', 'three', 'four', 'five', 'six', 'seven', 'stroke']
WATER = ['the lower reach', 'the mill pond', 'the long canal', 'the estuary', 'the lake', 'the bend below the lock']
WIND = [
    'a light wind from the west',
    'no wind at all',
    'a hard wind on the bow',
    'gusts from the north',
    'a following wind',
]
SKY = ['under a low sky', 'in clear cold air', 'with fog on the banks', 'in the last of the light', 'in thin rain']
BOATS = ['the Heron', 'the old eight', 'the Marigold', 'the new boat', 'the Patience']
FAULTS = [
    ('caught a crab', 'the boat stopped dead'),
    ('rushed the slide', 'the run went out of the hull'),
    ('lost the grip of an oar', 'the whole side had to hold water'),
    ('looked out of the boat', 'the blades went in one after another'),
    ('broke a foot strap', 'we drifted until it was tied again'),
]
LESSONS = [
    'a crew is as fast as its slowest catch',
    'no one hears a shout, but everyone feels the rhythm',
    'power that comes late only lifts the stern',
    'it is better to begin again together than to go on apart',
    'a good start is slow, and then it is not',
    'the water remembers every stroke for a while',
    'what is not counted is soon forgotten',
]
CALLS = [
    'Sit ready',
    'Easy all',
    'Hold water',
    'Ten strong strokes',
    'Lengthen out',
    'Together at the catch',
    'Let it run',
]
NUMBERS = {18: 'eighteen', 20: 'twenty', 22: 'twenty-two', 24: 'twenty-four', 28: 'twenty-eight', 32: 'thirty-two'}


class Logbook:
    """Makes sentences; every choice comes from one seeded source."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def entry(self, day: int) -> str:
        """One day: how it began, what happened, how it ended."""
        middle = [self._one(self._piece, self._mishap, self._talk, self._measure)() for _ in range(self._between(3, 7))]
        return f'Day {day}. {self._opening()} {" ".join(middle)} {self._ending()}\n\n'

    def _opening(self) -> str:
        return (
            f'We took {self._one(*BOATS)} out on {self._one(*WATER)} {self._one(*SKY)}, with {self._one(*WIND)}. '
            f'{self._one(*CREW)} steered, and {self._one(*CREW)} sat at {self._one(*SEATS)}.'
        )

    def _piece(self) -> str:
        count = self._between(2, 9)
        rate = self._one(*NUMBERS)
        minutes = self._between(2, 12)
        which = self._one('the last', 'the first', 'every second one')
        verdict = self._one('the best', 'ragged', 'clean', 'too hurried')
        return f'We rowed {count} pieces of {minutes} minutes at rate {NUMBERS[rate]}, and {which} was {verdict}.'

    def _mishap(self) -> str:
        fault, effect = self._one(*FAULTS)
        piece = self._one('second', 'third', 'fourth', 'fifth')
        who = self._one(*CREW)
        then = self._one(
            'We began again from the last mark', 'We went back to the bridge and began again', 'Nobody spoke'
        )
        return f'In the {piece} piece {who} {fault}, and {effect}. {then}.'

    def _talk(self) -> str:
        call, who = self._one(*CALLS), self._one(*CREW)
        effect = self._one('the blades went in as one', 'we did', 'for once we did', 'the boat lifted')
        return f'"{call}," said {who}, and {effect}.'

    def _measure(self) -> str:
        seconds = self._between(80, 119)
        return (
            f'From the lock to the bridge it took {seconds} seconds, '
            f'{self._one("two better than", "one worse than", "the same as", "five better than")} '
            f'{self._one("yesterday", "the week before", "our best", "the other crew")}.'
        )

    def _ending(self) -> str:
        return (
            f'{self._one("On the way home", "At the landing", "While we washed the oars", "By the fire")} '
            f'{self._one(*CREW)} said that {self._one(*LESSONS)}.'
        )

    def _one(self, *choices):  # noqa: ANN002, ANN202 - gives back whatever kind it is given
        return choices[int(self._random.random() * len(choices))]

    def _between(self, low: int, high: int) -> int:
        return low + int(self._random.random() * (high - low + 1))


def text() -> str:
    """The whole log, of TARGET_BYTES or a little less, ending with a whole entry."""
    logbook = Logbook(SEED)
    entries: list[str] = []
    size = 0
    while size + len(entry := logbook.entry(len(entries) + 1)) <= TARGET_BYTES:
        entries.append(entry)
        size += len(entry)
    return ''.join(entries)


if __name__ == '__main__':
    Path(__file__).with_name('logbook.txt').write_text(text(), encoding='ascii', newline='')

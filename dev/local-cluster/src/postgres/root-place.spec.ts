import { whyUnsafe, type FolderFacts } from './root-place.ts';

const PLACE: FolderFacts = { isDirectory: true, uid: 0, mode: 0o755 };
const VAR_LIB: FolderFacts = { isDirectory: true, uid: 0, mode: 0o755 };
const TMP: FolderFacts = { isDirectory: true, uid: 0, mode: 0o1777 };

describe('a place of root’s for programs', () => {
  it.each<[string, FolderFacts, FolderFacts, string | undefined]>([
    ['is safe in a folder that only root may change', PLACE, VAR_LIB, undefined],
    ['is safe in a temporary folder, where nobody may rename what belongs to others', PLACE, TMP, undefined],
    ['is safe when the umask closed it to others', { ...PLACE, mode: 0o700 }, TMP, undefined],
    [
      'is unsafe when somebody else made it first',
      { ...PLACE, uid: 1000 },
      TMP,
      'it belongs to user 1000, not to root',
    ],
    ['is unsafe as a link or a file', { ...PLACE, isDirectory: false, mode: 0o777 }, TMP, 'it is not a folder'],
    ['is unsafe when its group may write', { ...PLACE, mode: 0o775 }, VAR_LIB, 'users other than root may write to it'],
    ['is unsafe when everybody may write', { ...PLACE, mode: 0o1777 }, TMP, 'users other than root may write to it'],
    [
      'is unsafe where everybody may rename it',
      PLACE,
      { ...TMP, mode: 0o777 },
      'users other than root may rename what is in the folder above it',
    ],
    [
      'is unsafe below a folder of somebody else',
      PLACE,
      { ...VAR_LIB, uid: 1000 },
      'the folder above it belongs to user 1000, not to root',
    ],
    [
      'is of no use below a private folder',
      PLACE,
      { ...VAR_LIB, mode: 0o700 },
      'only root may enter the folder above it',
    ],
  ])('%s', (_, place, parent, why) => {
    expect(whyUnsafe(place, parent)).toBe(why);
  });
});
